"""What is seen of a batch while it runs: lines that are redrawn, lines in a log, lines of JSON."""

import io
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from onepen.orchestrator.batch.answer import BatchView, Counts, Waits
from onepen.orchestrator.batch.happening import Launch, Over, Standing, Word
from onepen.orchestrator.commands.batchbar import LiveBar, PlainBar, bar, frame
from onepen.orchestrator.commands.batchevents import Events
from onepen.orchestrator.commands.batchwatch import Documents, Redrawn
from onepen.orchestrator.commands.failure import Failure
from onepen.orchestrator.commands.terminal import Terminal
from onepen.orchestrator.commands.text import width

VIEW = BatchView(
    "500-ab12cd34", "500.csv", "running", Counts(in_review=200, committed=100, failed=9, running=32, pending=159),
    cost_usd=1.23, budget_usd=5.0, concurrency=40, cached=0.91, left_seconds=1_122, idle=8, seconds=600,
)  # fmt: skip
FAILED = Over(12, "k1", "t3k9x2mq", "failed", "the server was busy", "overload", 0.01, 30.0)
DONE = Over(13, "k2", "t4", "committed")


def terminal(columns: int = 80, rows: int = 24) -> Terminal:
    return Terminal(can_ask=True, colour=True, live=True, columns=columns, rows=rows, talks=True)


def shown(view: BatchView, columns: int, rows: int = 24) -> list[str]:
    return ["".join(text for text, _ in row) for row in frame(view, terminal(columns, rows))]


def test_on_eighty_columns_it_is_three_lines() -> None:
    assert shown(VIEW, 80) == [
        "500.csv  ██████████████████▓▒▒░░░░░░░░░░  309/500  62 %  about 18 min 42 s left",
        "  32 running · 8 idle · 9 failed · 200 in review · 100 committed",
        "  $1.23 of $5.00 · $0.0040 a task · cache 91 %",
    ]


def test_on_a_wide_screen_it_is_two() -> None:
    assert shown(VIEW, 120) == [
        "500.csv  ████████████████████████▒▒▒░░░░░░░░░░░░░  309/500  62 %  about 18 min 42 s left",
        "  32 running · 8 idle · 9 failed · 200 in review · 100 committed"
        " · $1.23 of $5.00 · $0.0040 a task · cache 91 %",
    ]


def test_what_waits_at_a_server_is_seen() -> None:
    waiting = replace(VIEW, waits=Waits(("b1",), 120, "2026-11-30T03:10:00+01:00"))
    assert "  120 requests wait in 1 Message Batch, until 2026-11-30 03:10 at the latest" in shown(waiting, 80)


numbers = st.builds(Counts, *([st.integers(0, 20_000)] * 8))


@given(numbers, st.integers(20, 160), st.integers(3, 50), st.text(max_size=60), st.none() | st.floats(0, 1e7))
def test_it_fits_whatever_there_is_to_tell(
    counts: Counts, columns: int, rows: int, name: str, left: float | None
) -> None:
    """Nothing wraps, so that it can be drawn over."""
    lines = shown(replace(VIEW, counts=counts, name=name, left_seconds=left), columns, rows)
    assert all(width(line) < columns for line in lines), lines
    assert len(lines) < rows
    assert not any(c < " " or c == "\x7f" for line in lines for c in line)


@given(numbers, st.integers(10, 40))
def test_the_bar_is_whole_and_in_proportion(counts: Counts, columns: int) -> None:
    parts = [len(text) for text, _ in bar(replace(VIEW, counts=counts), columns)]
    assert sum(parts) == columns and min(parts) >= 0
    if counts.total:
        for cells, number in zip(parts, (counts.done, counts.failed, counts.running), strict=False):
            assert abs(cells - number * columns / counts.total) < 1


def ticking(*seconds: float) -> Callable[[], float]:
    ticks = iter(seconds)
    return lambda: next(ticks)


def at(done: int, left: float | None = None) -> BatchView:
    return replace(VIEW, counts=Counts(committed=done, pending=1_000 - done), left_seconds=left, idle=0, cached=None)


def test_in_a_log_there_is_a_line_at_five_percent_or_thirty_seconds_and_each_failure() -> None:
    said: list[str] = []
    plain = PlainBar(said.append, ticking(0, 1, 2, 31.9, 32, 33))
    plain.happened(Launch(replace(VIEW, counts=Counts(pending=1_000))))
    plain.happened(Standing(at(49)))
    plain.happened(Standing(at(50)))
    plain.happened(DONE)
    plain.happened(FAILED)
    plain.happened(Standing(at(51)))
    plain.happened(Standing(at(52)))
    plain.happened(Word("the server asks\nto wait"))
    plain.happened(Standing(at(99)))
    plain.note("stopping: what runs may finish")
    plain.end(at(100), 0)
    assert [line.partition(", $")[0].rstrip("\n") for line in said] == [
        "500.csv begins: 1,000 tasks, 40 at a time (batch 500-ab12cd34)",
        "500.csv: 50 of 1,000 over (5 %), 50 committed",
        "500.csv:12 t3k9x2mq: failed (overload): the server was busy",
        "500.csv: 52 of 1,000 over (5 %), 52 committed",
        "the server asks to wait",
        "stopping: what runs may finish",
        "500.csv: 100 of 1,000 over (10 %), 100 committed",
    ]


def test_on_a_plain_terminal_its_lines_are_broken_at_blanks() -> None:
    said: list[str] = []
    PlainBar(said.append, columns=40).happened(FAILED)
    assert said == ["line 12 t3k9x2mq: failed (overload): the\n  server was busy\n"]


def test_on_a_terminal_what_lasts_stands_above_the_bar_and_the_bar_is_gone_at_the_end() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, color_system=None)
    live = LiveBar(console, terminal())
    live.happened(Launch(VIEW))
    live.happened(FAILED)
    live.happened(Standing(VIEW))
    live.happened(Word("[red]a word\x1b[2J"))
    live.end(VIEW, 0)
    sent = screen.getvalue()
    assert "500.csv:12 t3k9x2mq: failed (overload): the server was busy\n" in sent
    assert "[red]a word\\x1b[2J\n" in sent
    assert "309/500  62 %" in sent and sent.rstrip().endswith("\x1b[2K"), "the lines were cleared"


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_events_are_one_launch_and_one_last_result(capsys: pytest.CaptureFixture[str]) -> None:
    events = Events(ticking(0, 0.4, 1.1, 2.2))
    told = (Launch(VIEW), Word("wait"), Launch(VIEW), Standing(VIEW), DONE, Standing(VIEW), Standing(VIEW), FAILED)
    for event in told:
        events.happened(event)
    events.note("stopping")
    events.end(replace(VIEW, state="finished"), 1)
    events.happened(Standing(VIEW))
    found = lines(capsys)
    assert [one["event"] for one in found] == [
        "launch", "notice", "progress", "task", "progress", "task", "notice", "result",
    ]  # fmt: skip
    assert found[0]["batch"] == "500-ab12cd34" and found[0]["counts"]["total"] == 500
    assert found[5] == {
        "event": "task", "line": 12, "key": "k1", "task": "t3k9x2mq", "status": "failed",
        "reason": "the server was busy", "kind": "overload", "cost_usd": 0.01, "seconds": 30.0,
    }  # fmt: skip
    assert found[-1]["exit_code"] == 1 and found[-1]["state"] == "finished"


def test_an_error_is_the_last_event_too(capsys: pytest.CaptureFixture[str]) -> None:
    events = Events()
    events.happened(Launch(VIEW))
    events.broken(Failure("it ended", "onepen batch resume x", 1))
    assert lines(capsys)[-1] == {
        "event": "result",
        "error": {"message": "it ended", "hint": "onepen batch resume x", "exit_code": 1},
    }


def test_watching_draws_over_and_documents_only_changes(capsys: pytest.CaptureFixture[str]) -> None:
    redrawn = Redrawn()
    redrawn.show(VIEW)
    first = capsys.readouterr().out
    redrawn.show(VIEW)
    assert capsys.readouterr().out == f"\x1b[{first.count(chr(10))}A\r\x1b[J{first}"
    documents = Documents()
    for view in (VIEW, VIEW, replace(VIEW, state="finished")):
        documents.show(view)
    assert [one["state"] for one in lines(capsys)] == ["running", "finished"]
