#!/usr/bin/env bash
# The main job, once, from the question to the committed card: `make demo`, or with your own question over your own texts
#
#     make demo Q="When did the kiln reach cone 6?" INPUT=~/notes
#
# Nothing here is canned: the offline model reads the files named by INPUT (this repository's own docs by default) and
# quotes what answers Q. The workspace is made anew in .demo/ and left there for you to look through.
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
question=${Q:-Why is writing each file atomically not enough? What is a verdict bound to?}
input=${INPUT:-$repository/docs}
[ -e "$input" ] || { echo "INPUT=$input: no such file or folder" >&2; exit 2; }
input=$(realpath -- "$input")
place=${DEMO:-$repository/.demo}

# Only a workspace that an earlier demo left is taken away.
if [ -e "$place" ]; then
    [ -f "$place/.demo" ] || { echo "$place exists and is no workspace of an earlier demo; move it away" >&2; exit 1; }
    rm -rf "$place"
fi

step() { printf '\n\033[1m# %s\033[0m\n' "$1"; }
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] || step() { printf '\n# %s\n' "$1"; }
# Shows a command as a person would type it, then runs it.
run() {
    printf '$'
    for word in "$@"; do
        case $word in *[!A-Za-z0-9_./:=*-]*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$@"
}
# Fields of the one draft in a JSON document on stdin, a line each.
draft_fields() { python -c 'import json, sys
(draft,) = json.load(sys.stdin)["drafts"]
for field in sys.argv[1:]: print(draft[field])' "$@"; }

step "A workspace: plain files, fit for git"
run onepen init "$place"
touch "$place/.demo"
cd "$place"
trap 'onepen down --now >/dev/null' EXIT

step "A sub-agent, in a process of its own, reads, drafts and reports"
run onepen delegate "$question" --agent researcher --input "$input"

{ read -r draft; read -r target; } < <(onepen drafts --json | draft_fields id target)
step "The draft waits for you: its quotes, each with file:line, as a change to memory"
run onepen show "$draft"

step "You approve; the orchestrator commits card, index line and day-log line, all or nothing"
run onepen approve "$draft"

step "What memory holds now"
run cat "$target"
run cat "$(dirname "$target")/_index.md"
run cat memory/*-*.md
run onepen doctor

printf '\nLook around in %s, then try: make demo Q="your question" INPUT=your/folder\n' "$place"
