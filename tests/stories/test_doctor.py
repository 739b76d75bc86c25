"""`onepen doctor --fix` as a person types it: it shows what it would do, asks, and does only what is certain."""

import json
from pathlib import Path

import pytest

from onepen.testing.story import Line, Story

MESS = (
    "onepen init ws",
    "onepen -C ws add project Kiln --id kiln",
    "onepen -C ws add project Loom --id loom",
    "printf '\\n## Glaze\\n\\nCeladon since May.\\n' >> ws/projects/kiln.md",  # a section by hand
    "printf '# Dyes\\n\\n## Indigo\\n\\nBlue.\\n' > ws/projects/dyes.md",  # a card by hand
    "printf -- '---\\nname: poet\\ndescription: Rhymes.\\n---\\nRhyme.\\n' > ws/agents/poet.md",
    "rm ws/projects/loom.md",  # for the person to decide
    "printf 'half' > ws/research/.clay.md.new.tmp",
    "git init -q ws; printf '*.png binary\\n' > ws/.gitattributes",
)
AFTER = (
    Line("onepen -C ws doctor", code=1, says="onepen doctor --fix"),
    Line("onepen -C ws doctor --fix </dev/null", code=3, says="onepen doctor --fix --yes"),
    Line("onepen -C ws doctor --fix --dry-run", code=1, says="Would put right"),
    Line("onepen -C ws doctor --fix --yes", code=1, says="block for loom.md"),
    Line("grep -c 'kiln.md#glaze' ws/projects/_index.md", says="1"),
    Line("grep -c '(dyes.md#indigo)' ws/projects/_index.md", says="1"),
    Line("grep -c '(poet.md)' ws/agents/_index.md", says="2"),
    Line("cat ws/.onepen/aside/research/.clay.md.new.tmp*", says="half"),
    Line("cat ws/.gitattributes", says="*.png binary\n"),
    Line("cd ws && git check-attr merge memory/2026-11-29.md", says="merge: union"),
    Line("cd ws && git check-attr merge clients/acme/logs/usage-2026-11.jsonl", says="merge: union"),
    "sed -i '/^## \\[Loom\\]/,/^$/d' ws/projects/_index.md",  # what the person decides about the card that is gone
    Line("onepen -C ws doctor", says="projects/loom.md: warning"),
    Line("onepen -C ws doctor --fix --yes", says="Nothing can be put right without you"),
)


@pytest.mark.parametrize("killed", [False, True], ids=["in peace", "killed before each line"])
def test_what_is_certain_is_put_right_and_the_rest_is_left_to_the_person(tmp_path: Path, killed: bool) -> None:
    with Story(tmp_path) as story:
        if killed:
            story.tell(*MESS, "onepen -C ws up")
            story.tell(*AFTER, kill=range(100))
        else:
            story.tell(*MESS, *AFTER)


def test_a_running_orchestrator_does_it_and_a_rehearsal_changes_nothing(tmp_path: Path) -> None:
    with Story(tmp_path) as story:
        story.tell(*MESS, "onepen -C ws up --idle 60")
        pid = story.orchestrator()
        before = tree(story.workspace)
        told = story.run("onepen -C ws doctor --fix --dry-run --json")
        assert tree(story.workspace) == before
        plan = json.loads(told.out)
        assert told.code == 1 and plan["dry_run"]
        assert {one["outcome"] for one in plan["fixes"]} == {"possible"}
        done = story.run("onepen -C ws doctor --fix --yes --json")
        fixed = json.loads(done.out)
        assert [(one["kind"], one["path"]) for one in fixed["fixes"]] == [
            (one["kind"], one["path"]) for one in plan["fixes"]
        ]
        assert {one["outcome"] for one in fixed["fixes"]} == {"done"}
        assert {problem["kind"] for problem in fixed["problems"]} == {"card_missing"}
        assert story.orchestrator() == pid
        again = json.loads(story.run("onepen -C ws doctor --fix --yes --json").out)
        assert again["fixes"] == [] and again["problems"] == fixed["problems"]


def tree(root: Path) -> dict[str, bytes]:
    """All but the orchestrator's own log."""
    found = (path for path in root.rglob("*") if path.is_file() and path.name != "orchestrator.log")
    return {str(path): path.read_bytes() for path in found}


@pytest.mark.parametrize("seconds", [0.35, pytest.param(0.5, marks=pytest.mark.long), 0.7, 1.0, 1.5])
def test_a_fix_that_is_killed_can_be_run_again(tmp_path: Path, seconds: float) -> None:
    """Whenever it ends, nothing is half done, and the second run finishes the first."""
    with Story(tmp_path) as story:
        story.tell(*MESS)
        story.run(f"timeout -s KILL {seconds} onepen -C ws doctor --fix --yes")
        story.tell(*AFTER[3:10])
        found = json.loads(story.run("onepen -C ws doctor --json").out)
        assert {problem["kind"] for problem in found["problems"]} == {"card_missing"} and found["fixes"] == []
        aside = [path for path in (story.workspace / ".onepen/aside").rglob("*") if path.is_file()]
        assert [path.read_text() for path in aside] == ["half"]
        days = "".join(path.read_text() for path in (story.workspace / "memory").glob("2*.md"))
        assert days.count("[fixed] agents/poet.md: listed") == 1
