"""What `onepen usage` and the line under an answer show: values in, text out, at the widths that people have."""

from datetime import datetime
from pathlib import Path

import pytest

from onepen.memory.workspace import Space
from onepen.orchestrator.book import book
from onepen.orchestrator.chat.answer import TurnResult
from onepen.orchestrator.commands.answering import usage_line
from onepen.orchestrator.commands.spending import used
from onepen.orchestrator.commands.terminal import Terminal
from onepen.orchestrator.commands.text import width
from onepen.orchestrator.meter.measured import Measured, Missed
from onepen.orchestrator.results import UsageTotals
from onepen.orchestrator.tally import By, tally
from onepen.orchestrator.usage import Booking
from onepen.subagents.model import Usage

LAYERS = {"B": 2_000, "A": 500, "I": 1_000, "S": 500, "C": 900, "E": 100}
NOW = datetime.fromisoformat("2026-11-30T10:00:00+01:00")


@pytest.fixture
def space(tmp_path: Path) -> Space:
    """A chat whose cache expired again and again."""
    space = Space(tmp_path, None)
    for turn in range(1, 7):
        late = turn % 2 == 0
        measured = Measured(LAYERS, missed=Missed("B", "expired", 4_500, 0.01, 420) if late else None)
        counted = Usage(10, 4_990, 0, 100) if late else Usage(10, 490, 4_500, 100)
        line = Booking("", 0, "main", "big", counted, 0.02, 1.0, "main", 0, 0, "2026-11-30-ab", turn, 1, measured)
        book(space, line, NOW)
    return space


def shown(space: Space, by: By, columns: int) -> str:
    return used(tally([space], by), Terminal(can_ask=False, colour=False, live=False, columns=columns))


def test_by_layer_the_screen_has_rows_in_the_prompts_order_the_share_bars_and_advice(space: Space) -> None:
    lines = shown(space, "layer", 80).splitlines()
    order = ["B", "A", "I", "S", "C", "E", "answers"]
    names = [line.split()[0] for line in lines if line and line.split()[0] in {*order, "together"}]
    assert names == [*order, "together", *order], "the table, then the bars"
    assert "B rules          0        6,000       6,000       0  $0.0299" in lines
    assert "cache: 45 % of 30,000 tokens sent were read from it; 6 responses" in lines
    assert any(line.startswith("B rules") and "█" in line for line in lines)
    at = lines.index("What to look at")
    assert lines[at + 1].startswith("- the cache had expired before 3 of 6 answers, after pauses of about 7 min:")


@pytest.mark.parametrize("by", ["layer", "day", "model", "agent", "client"])
@pytest.mark.parametrize("columns", [40, 80])
def test_no_line_is_wider_than_the_screen(space: Space, by: By, columns: int) -> None:
    for line in shown(space, by, columns).splitlines():
        assert width(line) <= columns, line


def test_what_was_never_cached_is_said_so(tmp_path: Path) -> None:
    space = Space(tmp_path, None)
    book(space, Booking("t1", 1, "writer", "own", Usage(900, output=5), None, call=1), NOW)
    text = shown(space, "model", 80)
    assert "not cached: none of 900 tokens was written to or read from a cache; 1 response\n" in text
    assert "cache:" not in text


def result(usage: UsageTotals, *missed: Missed) -> TurnResult:
    return TurnResult("s", 1, "Yes.", "end_turn", usage=usage, layers={"B": 800, "C": 100}, model="m", missed=missed)


def test_under_an_answer_stands_what_it_missed_and_no_hit_that_was_none() -> None:
    line = usage_line(result(UsageTotals(900, 0, 0, 5), Missed("B", "too short")))
    assert line == "usage: m, 0 calls · ≈ B 800 C 100 · in 900 not cached, out 5 · $0.0000"
    late = usage_line(result(UsageTotals(10, 890, 0, 5), Missed("B", "expired", 800, 0.1, 412)))
    assert late.endswith(
        "cache write 890, cache read 0, out 5 · $0.0000 · missed from B on, expired after 412 s: 800 anew"
    )
    anew = usage_line(result(UsageTotals(10, 890, 0, 5), Missed("I", "renewed", 800)))
    assert anew.endswith(" · begun anew from I on")
