#!/bin/sh
# A sub-agent in sh that asks no model: it counts lines and words of its inputs and leaves them as a draft.
read -r hello
field() { printf %s "$hello" | sed -n 's/.*"'"$1"'":"\{0,1\}\([^",}]*\).*/\1/p'; }
say() { printf '{"v":1,"task":"%s","attempt":%s,"type":%s}\n' "$(field task)" "$(field attempt)" "$1"; }
say '"hello","version":"1","pid":'$$
cd "$(field inputs)" || exit 1
{
    printf -- '---\ntarget: research/counts-%s.md\nedit: create\nprovenance: external\n---\n# Counts\n\n## Inputs\n\n' "$(field task)"
    find . -type f | sort | while read -r name; do
        printf -- '- %s: %s lines, %s words\n' "${name#./}" "$(wc -l <"$name" | tr -d ' ')" "$(wc -w <"$name" | tr -d ' ')"
    done
} >"$(field drafts)/counts.md"
say '"report","summary":"Counted.","complete":true'
