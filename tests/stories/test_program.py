"""A program that an agent writes and runs, and its way into the project: typed into a shell, a model by script."""

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onepen.subagents.sandbox.level import probe
from onepen.testing.story import Line, Story, wait_until

CONES = "cone,degrees\n04,1060\n6,1222\n10,1285\n"
PROGRAM = """\
import csv, os, sys

rows = list(csv.DictReader(open(os.environ["INPUTS"] + "/cones.csv")))
print("hottest:", max(rows, key=lambda row: int(row["degrees"]))["cone"])
with open("fahrenheit.csv", "w") as out:
    for row in rows:
        out.write(f"{row['cone']},{int(row['degrees']) * 9 // 5 + 32}\\n")
"""
AGENT = """\
---
name: builder
description: Writes small programs and runs them.
tools: Read, Write, Edit, Bash
---
Build.
"""


def calls(*turns: list[tuple[str, dict[str, Any]]]) -> str:
    rules = [
        {"turn": k, "reply": [{"tool": tool, "input": given} for tool, given in turn]}
        for k, turn in enumerate(turns, 1)
    ]
    return json.dumps(rules)


WRITES: dict[str, Any] = {"command": f"cat > hot.py <<'END'\n{PROGRAM}END\npython3 hot.py"}
KEEPS: list[dict[str, Any]] = [
    {"file": "hot.py", "text": "Reads the cones, says which is the hottest, and writes them in Fahrenheit."},
    {"file": "fahrenheit.csv", "text": "What hot.py makes of the cones.", "sources": ["inputs/cones.csv:2"]},
]
REPORT: list[tuple[str, dict[str, Any]]] = [("report", {"summary": "Cone 10 is the hottest."})]


@pytest.fixture
def story(tmp_path: Path) -> Iterator[Story]:
    (tmp_path / "cones.csv").write_text(CONES)
    (tmp_path / "builder.md").write_text(AGENT)
    (tmp_path / "script.json").write_text(
        calls([("run_command", WRITES)], [("write_draft", given) for given in KEEPS], REPORT)
    )
    with Story(tmp_path) as story:
        story.tell(
            "onepen init ws && cd ws && onepen add project Kiln && onepen add agent Builder --from ../builder.md",
        )
        yield story


DELEGATE = (
    "cd ws && onepen delegate 'Which cone is the hottest?' --agent builder --project kiln --input ../cones.csv "
    "--model scripted:../script.json"
)


def test_a_program_is_run_by_consent_and_comes_into_the_project(story: Story) -> None:
    """The whole way: asked in vain, allowed as it stands, run, drafted, read by a person, committed, taken back."""
    told = "agents/builder.md asks for run_command: you have not allowed it as it stands now"
    ran, *_ = story.tell(
        Line(f"{DELEGATE} --json", 1, told),
        Line("cd ws && onepen trust </dev/null", 3, "run programs in the sandbox of its worker, without network"),
        Line("cd ws && onepen trust --yes", 0, "agents/builder.md: allowed"),
    )
    assert "run_command: not allowed" in transcript(story, json.loads(ran.out)["tasks"][0]["task"])
    (done,) = story.tell(f"{DELEGATE} --json")
    (task,) = json.loads(done.out)["tasks"]
    first, second = sorted(task["drafts"], key=lambda draft: str(draft["target"]))
    assert [(d["target"], d["status"]) for d in (first, second)] == [
        ("projects/kiln/fahrenheit.csv", "waiting"),
        ("projects/kiln/hot.py", "waiting"),
    ]
    assert not [finding for finding in first["findings"] + second["findings"] if finding["level"] == "block"]
    said = transcript(story, task["task"])
    assert "stdout:\\nhottest: 10\\nwork folder: fahrenheit.csv (new, " in said
    *_, last = story.tell(
        Line(f"cd ws && onepen show {second['id']}", 0, "+print("),
        Line(f"cd ws && onepen approve {second['id']} --sha256 {second['sha256']}", 0, "projects/kiln/hot.py"),
        Line(f"cd ws && onepen approve {first['id']} --sha256 {first['sha256']}", 0, "committed as"),
        "cd ws && onepen doctor",
        Line("cd ws && cat projects/_index.md", 0, "[hot.py](kiln/hot.py)"),
        Line("cd ws && onepen undo --yes && ls projects/kiln", 0, "hot.py"),
    )
    assert (story.workspace / "projects/kiln/hot.py").read_text() == PROGRAM
    assert not (story.workspace / "projects/kiln/fahrenheit.csv").exists() and "hot.py" in last.out


def transcript(story: Story, task: str) -> str:
    return (story.workspace / f"staging/{task}/1/transcript.jsonl").read_text()


STAMP = "od -An -N8 -tx8 /dev/urandom | tee stamp.txt"
"""Prints something else each time it is run."""


@pytest.mark.parametrize("changes", [False, True], ids=["nothing begun", "files begun"])
def test_no_answered_command_is_run_again_after_a_crash(story: Story, tmp_path: Path, changes: bool) -> None:
    """F23: the orchestrator is killed while a second command runs: the first's files are there, or all begins anew."""
    slow = f"{'echo half > half.txt;' if changes else ''} test -e $INPUTS/go || sleep 30; cat stamp.txt"
    draft = {"file": "stamp.txt", "text": "A stamp.", "target": "projects/kiln/stamp.txt"}
    commands = ([("run_command", {"command": command})] for command in (STAMP, slow))
    (tmp_path / "script.json").write_text(calls(*commands, [("write_draft", draft)], REPORT))
    story.tell("cd ws && onepen trust --yes", f"{DELEGATE} --detach")
    [folder] = (story.workspace / "staging").iterdir()
    work = folder / "1/work"
    assert wait_until(lambda: "sleep\0" in "".join(standing_in(work)) and (work / "half.txt").exists() == changes)
    assert story.kill() and wait_until(lambda: not standing_in(work), 5)
    (folder / "inputs/go").touch()
    [stamp] = re.findall(r"stdout:\\n ([0-9a-f]{16})", transcript(story, folder.name))
    (done,) = story.tell(f"cd ws && onepen resume {folder.name} --json")
    [after] = json.loads(done.out)["tasks"]
    assert (after["status"], after["attempts"]) == ("in_review", 2)
    assert ((folder / "2/drafts/stamp.txt").read_text().strip() == stamp) is not changes


ATTACKS = """\
try() { if eval "$2" >/dev/null 2>&1; then echo "WORKED: $1"; else echo "held: $1"; fi; }
ws=$SPACE; deep=$(cd "$INPUTS/.." && pwd)
try 'a card is changed' 'echo planted >> "$ws/projects/kiln.md"'
try 'a card is made' 'echo planted > "$ws/projects/planted.md"'
try 'a card is removed' 'rm -f "$ws/projects/kiln.md" && ! test -e "$ws/projects/kiln.md"'
try 'a card is renamed' 'mv "$ws/projects/kiln.md" "$ws/projects/gone.md"'
try 'a card is linked' 'ln "$ws/projects/kiln.md" hard'
try 'a card is cut short' 'truncate -s 0 "$ws/projects/kiln.md" && ! test -s "$ws/projects/kiln.md"'
try 'rules are changed' 'echo planted >> "$ws/RULES.md"'
try 'what the agent has learned is read' 'cat "$ws/MEMORY.md"'
try 'another client is read' 'cat "$ws/clients/other/projects/secret.md"'
try 'another task is read' 'ls "$ws/staging"'
try 'the task is changed' 'echo planted >> "$deep/task.md"'
try 'the transcript is read' 'cat ../transcript.jsonl'
try 'an input is changed' 'echo planted >> "$INPUTS/cones.csv"'
try 'the pen is taken' 'cat "$ws/.onepen/pen.lock"'
try 'a key of the person is read' 'cat /root/.ssh/id_rsa /root/.netrc /etc/shadow'
try 'the home is read' "ls $HOME_OF_PERSON"
try 'a file is left in /tmp' 'echo planted > /tmp/planted-by-a-command'
try 'a process is looked at' 'cat /proc/self/environ /proc/1/cmdline'
try 'its worker is ended' 'kill -9 $PPID && sleep 0.2 && ! kill -0 $PPID'
try 'the orchestrator is ended' 'kill -9 $ORCHESTRATOR'
try 'an address is reached' 'python3 -c "import socket; socket.create_connection((\\"127.0.0.1\\", $PORT), 2)"'
try 'a name is asked for' 'python3 -c "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"'
try 'the orchestrator is spoken to' 'python3 -c "import socket; socket.socket(socket.AF_UNIX)"'
try 'a session of its own' 'setsid true'
python3 - <<'END'
import os, time
for leave in (os.setsid, lambda: os.setpgid(0, 0), lambda: None):
    if os.fork() == 0:
        if os.fork() == 0:
            try:
                leave()
            except OSError:
                pass
            time.sleep(60)
        os._exit(0)
END
(nohup sleep 60 >/dev/null 2>&1 &)
sleep 60 &
"""


def test_what_a_command_tries_beyond_its_folder_is_held_and_nothing_of_it_stays(story: Story, tmp_path: Path) -> None:
    """FR-47, F22: files of memory, of others and of the person; the network; processes that would stay."""
    if probe().kind != "landlock+seccomp":
        pytest.skip("no kernel sandbox here")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        story.tell(
            "cd ws && onepen add client Other --id other && onepen add project Secret --id secret --client other",
            "cd ws && onepen trust --yes && onepen up",
        )
        pid = story.orchestrator()
        lines = f"PORT={port}\nORCHESTRATOR={pid}\nHOME_OF_PERSON={story.home}\n{ATTACKS}"
        answer = ("report", {"summary": "Done.", "answer": "Nothing came of it."})
        (tmp_path / "script.json").write_text(calls([("run_command", {"command": lines})], [answer]))
        before = {path: path.read_bytes() for path in (story.workspace / "projects").rglob("*") if path.is_file()}
        (done,) = story.tell(f"{DELEGATE} --json")
        said = json.loads(transcript(story, json.loads(done.out)["tasks"][0]["task"]).splitlines()[-2])
    result = json.dumps(said, ensure_ascii=False)
    tried = re.findall(r"(WORKED|held): ([a-z ',/]+)", result)
    assert len(tried) == ATTACKS.count("\ntry '") and not [what for how, what in tried if how == "WORKED"], tried
    assert {path: path.read_bytes() for path in before} == before
    assert story.orchestrator() == pid and not Path("/tmp/planted-by-a-command").exists()
    assert wait_until(lambda: not standing_in(story.workspace), 2), standing_in(story.workspace)


def standing_in(folder: Path) -> list[str]:
    """The command lines of processes that stand below a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink().is_relative_to(folder):
                found.append((entry / "cmdline").read_text())
        except OSError:
            continue
    return found
