"""The history, where a sentence comes from, and commits taken back: typed line by line, and killed between lines."""

import json
import random
from collections.abc import Container
from pathlib import Path

import pytest

from onepen.testing.story import Line, Story

BEGIN = (
    "onepen init ws",
    "mkdir notes; printf 'Cone 6 was reached at 1222 degrees.\\n' > notes/cones.md",
    "printf '# Kiln\\n\\nOurs.\\n\\n## Firing\\n\\n- cold\\n' | onepen -C ws add project Kiln --id kiln --from -",
    "STORY_D=$(onepen -C ws delegate 'At what was cone 6 reached?' --input notes --target projects/kiln.md --json "
    "| field tasks.0.drafts.0.id)",
)
APPROVED = (
    "onepen -C ws show $STORY_D",
    "STORY_C=$(onepen -C ws approve $STORY_D --json | field commit)",
)
SAID = "Cone 6 was reached at 1222 degrees"


def test_why_names_the_other_machines_draft_agent_source_and_reviewer(tmp_path: Path) -> None:
    git = "git -c user.name=Ana -c user.email=ana@example.org"
    with Story(tmp_path) as story, Story(tmp_path, workspace="ws2") as second:
        story.tell(*BEGIN, *APPROVED, f"{git} -C ws init -q; {git} -C ws add -A; {git} -C ws commit -qm all")
        second.tell(
            "git clone -q ws ws2",
            "rm -rf ws2/.onepen",
            "printf '\\n## Glaze\\nCeladon since May,\\nand nothing else.\\n' >> ws2/projects/kiln.md",
            Line(f"onepen -C ws2 why '{SAID}'", says="agent: researcher"),
            Line(f"onepen -C ws2 why '{SAID}'", says="reviewer: user:"),
            Line("onepen -C ws2 why 'cone 6 was REACHED'", says="sources: inputs/notes/cones.md:1"),
            Line(f"onepen -C ws2 why '{SAID}' --json | field commits.0.draft | grep -x $STORY_D"),
            Line(f"onepen -C ws2 why '{SAID}' --json | field commits.0.id | grep -x $STORY_C"),
            Line("onepen -C ws2 why 'since may and nothing else'", says="No commit brought it: it was written by hand"),
            Line("onepen -C ws2 why 'we never said so'", says="It stands nowhere in this space"),
            Line("onepen -C ws2 why '...'", code=2, says="give some words"),
            "test ! -e ws2/.onepen/redo",
            kill=(),
        )


def test_the_history_of_a_file_of_a_day_and_of_one_commit(tmp_path: Path) -> None:
    with Story(tmp_path) as story:
        story.tell(*BEGIN, *APPROVED, "onepen -C ws log 'called Ana'")
        all_ = json.loads(story.run("onepen -C ws history --json").out)["commits"]
        assert [commit["what"] for commit in all_] == [
            "[note] called Ana", "projects/kiln.md: appended", "projects/kiln.md: created"
        ]  # fmt: skip
        of_card = json.loads(story.run("cd ws/projects; onepen history kiln.md --json").out)["commits"]
        assert of_card == all_[1:] == json.loads(story.run("onepen -C ws history kiln --json").out)["commits"]
        story.tell(
            Line("onepen -C ws history $STORY_C", says="sources: inputs/notes/cones.md:1"),
            Line("onepen -C ws history $STORY_C --json | field commits.0.diff", says=f"{SAID}."),
            Line("onepen -C ws history ${STORY_C%-*}", says="reviewer: user:"),
            Line("onepen -C ws history --limit 1", says="2 earlier commits"),
            Line("onepen -C ws history --until 2020-01-01", says="Nothing was committed."),
            Line("onepen -C ws history --since 2020-01-01 SOUL.md", says="No commit touched SOUL.md."),
            Line("onepen -C ws history nowhere.md", code=2, says="neither a file here nor one"),
            Line("onepen -C ws history c999", code=2, says="not in this space's history"),
            Line("onepen -C ws history --since tomorrow", code=2, says="not a day"),
        )


UNDO = (
    *BEGIN,
    *APPROVED,
    "cp ws/memory/*-*-*.md day.md",
    "cat ws/projects/_index.md > index.md",
    "onepen -C ws log 'called Ana'",
    Line("onepen -C ws undo </dev/null", code=3, says="name it (next: onepen undo c"),
    Line("yes | onepen -C ws undo", code=3),
    Line("onepen -C ws undo $STORY_C --dry-run", says="nothing was written"),
    f"grep -q '{SAID}' ws/projects/kiln.md",
    Line("onepen -C ws undo ${STORY_C%-*}", says="waits again. Next: onepen show"),
    "onepen -C ws doctor",
    f"test $(grep -c '{SAID}' ws/projects/kiln.md) = 0",
    f"test $(grep -c '{SAID}' ws/projects/_index.md) = 0",
    "cat day.md ws/memory/*-*-*.md | sort | uniq -d | sort > twice; sort day.md | cmp - twice",
    "grep -q 'undone. projects/kiln.md' ws/memory/*-*-*.md",
    Line("onepen -C ws undo $STORY_C", code=1, says="it is undone already, by c"),
    Line("onepen -C ws history", says="(undone) projects/kiln.md"),
    Line("onepen -C ws drafts", says="waiting"),
    # The key is free: the same draft, shown before and unchanged, is committed once more, however often it is approved.
    "STORY_E=$(onepen -C ws approve $STORY_D --json | field commit); test $STORY_E != $STORY_C",
    Line("onepen -C ws approve $STORY_D", says="was committed before"),
    f"test $(grep -c '{SAID}' ws/projects/kiln.md) = 1",
    "onepen -C ws doctor",
    "STORY_U=$(onepen -C ws undo --yes --json | field commit)",
    f"test $(grep -c '{SAID}' ws/projects/kiln.md) = 0",
    Line(f"onepen -C ws why '{SAID}'", says="(undone by "),
    "onepen -C ws undo $STORY_U",
    Line("onepen -C ws history", says="done again: projects/kiln.md: appended"),
    f"test $(grep -c '{SAID}' ws/projects/kiln.md) = 1",
    Line("onepen -C ws approve $STORY_D", says="was committed before"),
    Line("onepen -C ws undo c1", code=1, says="undo the newest of them first (next: onepen undo c"),
    Line("onepen -C ws undo c1 --json", code=1, says='"hint": "onepen undo c'),
    Line("onepen -C ws undo $(onepen -C ws history --json | field commits.1.id)", code=1),
    "onepen -C ws doctor",
)  # fmt: skip


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kill", [(), pytest.param(range(100), marks=pytest.mark.long)])
def test_a_draft_is_undone_approved_again_and_undone(kill: Container[int], tmp_path: Path) -> None:
    """Field case 76: undone, approved twice, or killed: the change stands once in card, index and day log."""
    with Story(tmp_path) as story:
        story.tell(*UNDO, kill=kill)
        commits = json.loads(story.run("onepen -C ws history --json").out)["commits"]
        assert len({commit["id"] for commit in commits}) == len(commits)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("rounds", [4, pytest.param(20, marks=pytest.mark.long)])
def test_kills_between_accept_and_commit_and_in_the_middle_of_an_undo(rounds: int, tmp_path: Path) -> None:
    """Field case 76: kill -9 at random moments, of the command or of the orchestrator, then the same again."""
    moments = random.Random(76)
    with Story(tmp_path) as story:
        story.tell(*BEGIN, "onepen -C ws show $STORY_D")
        card, index = story.workspace / "projects/kiln.md", story.workspace / "projects/_index.md"
        for number in range(rounds):
            there = card.read_text().count(SAID)
            act = "undo --yes" if there else "approve $STORY_D $STORY_D"
            moment = moments.uniform(0.05, 0.9)
            if number % 2:
                story.tell("onepen -C ws up")
                victim = story.orchestrator()
                story.run(f"onepen -C ws {act} & sleep {moment}; kill -9 {victim}; wait")
            else:
                story.kill()
                story.run(f"onepen -C ws {act} & sleep {moment}; kill -9 $!; wait")
            story.tell("onepen -C ws log 'and on'", "onepen -C ws doctor")
            if card.read_text().count(SAID) == there:  # it had not begun
                story.tell(f"onepen -C ws {act}", "onepen -C ws doctor")
            assert (card.read_text().count(SAID), index.read_text().count(SAID)) == (1 - there, 1 - there)
            commits = json.loads(story.run("onepen -C ws history --json --limit 1000").out)["commits"]
            made = [one for one in commits if one["draft"] is not None]
            assert [one["undone_by"] is None for one in made].count(True) == 1 - there
            assert len(made) == number // 2 + 1
            days = "".join(path.read_text() for path in (story.workspace / "memory").glob("2*.md"))
            assert days.count("[draft]") == len(made) and days.count("[undone]") == (number + 1) // 2
