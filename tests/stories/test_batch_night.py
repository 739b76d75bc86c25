"""The night and the morning after: a long batch, a kill, and what is known of it the next day."""

import re
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.messages_api import Asked, MessagesApi
from onepen.testing.nightshift import CALLS, CLIENT, EACH, NightShift
from onepen.testing.story import Line, Story, wait_until

CHEAP = {"input": 500, "output": 40}  # half of what the night's calls use elsewhere
NIGHT = "onepen -C ws batch resume $STORY_B"


def remembers(asked: Asked) -> Mapping[str, Any] | None:
    """The main agent: it knows of a batch what its prompt and what it was told tell it, and says nothing else."""
    if "last night" not in asked.last and "last night" not in asked.words:
        return {"reply": "Good evening.", "usage": CHEAP} if "evening" in asked.words else None
    found = re.findall(r"cups\.csv \(cups-[0-9a-f]{8}\) is done: [^\n]*", f"{asked.system}\n{asked.words}")
    return {"reply": found[-1] if found else "I know nothing of it.", "usage": CHEAP}


@pytest.mark.parametrize(
    ("cups", "kill"),
    [
        pytest.param(24, range(100), id="killed before each line", marks=pytest.mark.timeout(600)),
        pytest.param(24, (), id="as it is", marks=pytest.mark.long),
        pytest.param(500, range(100), id="500, killed", marks=[pytest.mark.long, pytest.mark.timeout(1_800)]),
    ],
)
def test_the_night_and_the_morning_after(tmp_path: Path, cups: int, kill: Container[int]) -> None:
    """Story B: each is committed once, within the budget; the day log has a line for it, and a chat knows.

    One card is taken back in the end: the others stay as they are, and the old log is a prefix of the new.
    """
    with MessagesApi([remembers, NightShift.rule(0.05, CHEAP)]) as api, Story(tmp_path, api.env, limit=900) as story:
        shift = NightShift(story, api, cups, each=EACH / 2)
        story.tell(
            *shift.begin(),
            Line(f"echo Good evening | onepen -C ws chat --client {CLIENT}", says="Good evening."),
            f"({shift.run('--budget 5')} >run.out 2>run.err &)",
            kill=kill,
        )
        assert wait_until(lambda: len(api.asked) >= cups * CALLS // 2, 300)
        assert story.kill(), "in the middle of the night"
        assert wait_until(lambda: "onepen batch resume cups-" in (tmp_path / "run.err").read_text(), 20)

        *_, status = story.tell(
            "STORY_B=$(onepen -C ws batch list --json | field batches.0.batch)",
            Line("onepen -C ws batch status $STORY_B", says="stopped"),
            Line(NIGHT, says=f"{cups} of {cups} done ({cups} committed)"),
            Line(NIGHT, says="nothing was done"),
            "onepen -C ws batch status $STORY_B --json",
            kill=kill,
        )
        counts = status.json["counts"]
        assert counts["total"] == counts["done"] + counts["failed"] + counts["pending"] + counts["running"] == cups
        assert (counts["committed"], status.json["state"]) == (cups, "finished")
        evening = shift.each  # of the chat before
        assert shift.billed() - evening <= status.json["cost_usd"] + 1e-6 <= 5
        each = {f"{n:05}": 1 for n in range(cups)}
        assert shift.commits() == shift.cards() == shift.entries() == each

        done = f"is done: {cups} of {cups} tasks done ({cups} committed)"
        context, new, old, history = story.tell(
            f"onepen -C ws context --client {CLIENT} --json",
            Line(f"onepen -C ws ask 'What came out last night?' --client {CLIENT}", says=done),
            Line(f"echo 'What came out last night?' | onepen -C ws chat --resume --client {CLIENT}", says=done),
            f"onepen -C ws history research/cup-00007.md --client {CLIENT} --json",
            kill=kill,
        )
        assert context.json["total_tokens"] <= 5_000
        (line,) = shift.day_lines()
        assert done in line and "cups.csv" in line
        assert new.out and old.out

        before = {path: path.read_bytes() for path in (shift.space / "memory").glob("2*.md")}
        lines = index(shift)
        (gone,) = history.json["commits"]
        story.tell(f"onepen -C ws undo {gone['id']}", Line("onepen -C ws doctor"), kill=kill)
        assert not (shift.space / "research/cup-00007.md").exists()
        assert index(shift) == [one for one in lines if "cup-00007.md" not in one and "cup 00007" not in one]
        assert all(path.read_bytes().startswith(data) for path, data in before.items()), "what was logged stays logged"
        assert set(shift.cards()) == set(each) - {"00007"}
        report = (story.workspace / f"batches/{status.json['batch']}/report.md").read_text()
        assert report.startswith("# cups.csv: finished") and f"| committed to memory | {cups} |" in report


def index(shift: NightShift) -> list[str]:
    """The lines of the index of findings that name a card."""
    text = (shift.space / "research/_index.md").read_text()
    return [line for line in text.splitlines() if "cup" in line.lower()]
