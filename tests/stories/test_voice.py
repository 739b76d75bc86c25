"""Content with a voice, and an edit of one's own: typed into a shell, in an environment that holds nothing else."""

import json
import re
from pathlib import Path

import pytest

from onepen.testing.program import Program

LETTER = """\
# Newsletter

Sehr geehrte Damen und Herren,

der neue Ofen brennt seit November bei 1220 Grad.
"""
SCRIPT = [
    {"agent": "writer", "turn": 1, "reply": [{"tool": "read_input", "input": {"name": "n.md"}}]},
    {
        "agent": "writer",
        "turn": 2,
        "reply": [
            {
                "tool": "write_draft",
                "input": {
                    "name": "newsletter.md",
                    "target": "projects/ofen/newsletter.md",
                    "text": LETTER,
                    "index": [
                        {"section_id": "newsletter", "summary": "Newsletter über den Ofen.", "keywords": ["brief"]}
                    ],
                    "sources": ["inputs/n.md:1"],
                },
            }
        ],
    },
    {"agent": "writer", "turn": 3, "reply": [{"tool": "report", "input": {"summary": "Newsletter geschrieben."}}]},
]


@pytest.fixture
def shell(tmp_path: Path) -> Program:
    shell = Program(tmp_path)
    (tmp_path / "n.md").write_text("Der neue Ofen brennt seit November bei 1220 Grad.\n")
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    begun = shell.shell(
        """
        set -e
        onepen init ws && cd ws
        onepen add client "Müller" --id mueller
        onepen add project Ofen --id ofen --client mueller
        echo "German, formal Sie, never prices." > clients/mueller/BRIEF.md
        """
    )
    assert begun.code == 0, begun
    return shell


def test_without_a_model_the_writer_says_what_it_needs(shell: Program, tmp_path: Path) -> None:
    ran = shell.shell(
        "onepen -C ws delegate Newsletter --agent writer --client mueller --project ofen --input n.md --json"
    )
    assert ran.code == 2
    assert "writer needs a model" in ran.err
    assert "writer needs a model" in ran.json["error"]["message"]
    assert list((tmp_path / "ws/clients/mueller").glob("staging/*")) == []


def test_the_edited_draft_is_what_gets_committed(shell: Program, tmp_path: Path) -> None:
    client = tmp_path / "ws/clients/mueller"
    ran = shell.shell(
        "onepen -C ws delegate Newsletter --agent writer --client mueller --project ofen --input n.md"
        " --model scripted:script.json --json"
    )
    assert ran.code == 0, ran
    (task,) = ran.json["tasks"]
    assert (task["status"], task["agent"], task["attempts"]) == ("in_review", "writer", 1)
    (draft,) = task["drafts"]
    assert draft["id"] == f"{task['task']}-1"
    assert (draft["target"], draft["status"]) == ("projects/ofen/newsletter.md", "waiting")

    shown = shell.ok("show", draft["id"], "-C", "ws")
    assert "+der neue Ofen brennt" in shown.out and draft["sha256"] in shown.out

    names = {"T": task["task"], "D": draft["id"]}
    edited = shell.shell(
        "cd ws; sed -i s/Ofen/Brennofen/ clients/mueller/staging/$T/1/drafts/newsletter.md;"
        ' onepen approve "$D" </dev/null',
        env=names,
    )
    assert edited.code == 3
    assert "+der neue Brennofen brennt" in edited.out
    assert "--sha256" in edited.out + edited.err
    assert not (client / "projects/ofen/newsletter.md").exists()

    approved = shell.shell(
        """
        cd ws
        F=clients/mueller/staging/$T/1/drafts/newsletter.md
        onepen approve $D --sha256 $(sha256sum $F | cut -d' ' -f1) && onepen doctor
        """,
        env=names,
    )
    assert approved.code == 0, approved

    file = client / f"staging/{task['task']}/1/drafts/newsletter.md"
    body = file.read_text().split("\n---\n", 1)[1]
    assert (client / "projects/ofen/newsletter.md").read_text() == body
    index = (client / "projects/_index.md").read_text()
    assert re.search(
        r"^- \[newsletter\.md\]\(ofen/newsletter\.md\) — Newsletter über den Brennofen\.", index, re.MULTILINE
    )
    (day,) = (client / "memory").glob("2*.md")
    lines = [line for line in day.read_text().splitlines() if "newsletter.md" in line]
    assert len(lines) == 1

    commits = shell.json("history", "--client", "mueller", "-C", "ws")["commits"]
    assert (commits[0]["draft"], commits[0]["agent"], commits[0]["task"]) == (draft["id"], "writer", task["task"])


def test_a_second_approval_commits_nothing(shell: Program, tmp_path: Path) -> None:
    ran = shell.shell(
        """
        set -e
        cd ws
        onepen delegate Newsletter --agent writer --client mueller --project ofen --input ../n.md \
            --model scripted:../script.json >&2
        D=$(ls clients/mueller/staging)-1
        onepen show $D >&2
        onepen approve $D >&2
        onepen approve $D --json
        """
    )
    assert ran.code == 0, ran
    assert ran.json["decisions"][0]["outcome"] == "already"
    log = next((tmp_path / "ws/clients/mueller/memory").glob("2*.md")).read_text()
    assert log.count("projects/ofen/newsletter.md") == 1
