"""A program that an agent writes and runs, and its way into the project: typed into a shell, a model by script."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from onepen.testing.story import Line, Story

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


def calls(*turns: list[tuple[str, dict[str, object]]]) -> str:
    rules = [
        {"turn": k, "reply": [{"tool": tool, "input": given} for tool, given in turn]}
        for k, turn in enumerate(turns, 1)
    ]
    return json.dumps(rules)


WRITES = {"command": f"cat > hot.py <<'END'\n{PROGRAM}END\npython3 hot.py"}
KEEPS = [
    {"file": "hot.py", "text": "Reads the cones, says which is the hottest, and writes them in Fahrenheit."},
    {"file": "fahrenheit.csv", "text": "What hot.py makes of the cones.", "sources": ["inputs/cones.csv:2"]},
]
REPORT = [("report", {"summary": "Cone 10 is the hottest."})]


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
