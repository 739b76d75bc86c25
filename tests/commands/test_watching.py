"""`status --watch`: one screen, a line for each change, or a document on each line."""

import json
from datetime import datetime, timedelta
from textwrap import dedent
from typing import Any

import pytest

from onepen.orchestrator.commands.terminal import Terminal
from onepen.orchestrator.commands.text import width
from onepen.orchestrator.commands.watching import Documents, Lines, frame, only
from onepen.orchestrator.results import OrchestratorView, StatusResult, TaskStatus, TaskView
from onepen.orchestrator.watched import LeftView, WorkersView, WorkerView

NOW = datetime.fromisoformat("2026-11-29T14:05:09+01:00")


def status(drafts: int = 0, spent: float = 0.0, *open_: str) -> StatusResult:
    there = OrchestratorView(7, "2026-11-29T14:00:00+01:00", "0.1.0")
    tasks = tuple(TaskView(task, "writer", None, "in_review", 1, "Write it") for task in open_)
    return StatusResult("/ws", "", None, "UTC", "system", there, tasks, drafts, spent, "none", (), 0, False, "onepen")


def worker(task: str, doing: str, ago: int = 42, cost: float | None = 0.0, attempt: int = 1) -> WorkerView:
    return WorkerView(task, "researcher", None, attempt, (NOW - timedelta(seconds=ago)).isoformat(), doing, cost)


def left(number: int, task: str, how: TaskStatus, reason: str = "", client: str | None = None) -> LeftView:
    return LeftView(number, task, "researcher", client, how, reason)


def terminal(columns: int = 80, rows: int = 24) -> Terminal:
    return Terminal(can_ask=True, colour=False, live=True, columns=columns, rows=rows, talks=True)


def test_one_screen_says_who_does_what_since_when_at_which_cost() -> None:
    seen = WorkersView(
        (
            worker("t3k9x2mq", "read_input cones.md", cost=0.0123),
            worker("qw3cm1gk", "waits 30 s: the server asks to", ago=3 * 3600 + 62, cost=None, attempt=2),
        ),
        3,
        (LeftView(1, "aaaa1111", "writer", None, "in_review", "a person decides on aaaa1111-1"),),
    )
    assert frame(status(2, 0.5, "aaaa1111"), seen, terminal(), NOW) == dedent("""\
        14:05:09  2 at work, 3 wait for a place, 2 drafts wait for you, $0.50 today
        task      agent       since    cost     does
        t3k9x2mq  researcher  0:42     $0.0123  read_input cones.md
        qw3cm1gk  researcher  3:01:02  unknown  2: waits 30 s: the server asks to
        aaaa1111  writer  in review: a person decides on aaaa1111-1
        """)
    assert frame(status(), None, terminal(), NOW) == "14:05:09  no orchestrator runs, $0.00 today\n"


def test_what_ended_stands_there_once_and_as_long_as_it_is_so() -> None:
    """t1 was approved since, t2 was resumed and is at work, t3 failed and then was cancelled, t4 waits."""
    ends = (
        left(1, "t1", "in_review"),
        left(2, "t2", "failed"),
        left(3, "t3", "failed"),
        left(4, "t4", "in_review"),
        left(5, "t3", "cancelled", "cancelled by user:ana"),
        left(6, "t5", "answered"),
    )
    shown = frame(status(1, 0.0, "t2", "t4"), WorkersView((worker("t2", "search"),), 0, ends), terminal(), NOW)
    assert shown.splitlines()[3:] == [
        "t4  researcher  in review",
        "t3  researcher  cancelled by user:ana",
        "t5  researcher  answered",
    ]


def test_of_one_space_only_its_own_tasks_are_told() -> None:
    seen = WorkersView((worker("t1", "search"),), 0, (left(1, "t2", "failed"), left(2, "t3", "failed", client="acme")))
    assert only(seen, "acme", all_clients=False) == WorkersView((), 0, seen.left[1:])
    assert only(seen, None, all_clients=False) == WorkersView(seen.workers, 0, seen.left[:1])
    assert only(seen, None, all_clients=True) == seen


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (80, 6), (40, 10), (20, 5)])
def test_it_fits_on_the_screen(columns: int, rows: int) -> None:
    """However many are at work, and whatever they say: nothing wraps, so that it can be drawn over."""
    workers = tuple(worker(f"t{n:07}", "read_input \x1b[2J" + "窯" * 80) for n in range(40))
    ended = tuple(left(n, f"u{n:07}", "failed", "x" * 200) for n in range(9))
    for seen in (WorkersView(workers, 960, ended), WorkersView(workers[:2], 0, ended), WorkersView((), 0, ended)):
        text = frame(status(12, 0.0, *(one.task for one in ended)), seen, terminal(columns, rows), NOW)
        assert all(width(line) < columns for line in text.splitlines()), text
        assert "\x1b" not in text
        if columns >= 40:
            assert len(text.splitlines()) < rows, text
    assert "and 20 more\n" in frame(status(), WorkersView(workers), terminal(), NOW)


def test_without_a_terminal_each_change_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines(lambda: NOW)
    moments: list[WorkersView | None] = [
        None,
        None,
        WorkersView(left=(LeftView(1, "t0", "writer", None, "committed"),)),
        WorkersView((worker("t1", ""),), 1, (LeftView(1, "t0", "writer", None, "committed"),)),
        WorkersView((worker("t1", "attempt 1 started"), worker("t2", "started")), 0),
        WorkersView((worker("t1", "attempt 1 started", cost=0.5), worker("t2", "search cone")), 0),
        WorkersView(
            (worker("t2", "search cone"),), 0, (LeftView(2, "t1", "researcher", None, "failed", "it\ncrashed"),)
        ),
        None,
    ]
    for moment in moments:
        lines.show(status(), moment)
    assert capsys.readouterr().out.replace("14:05:09 ", "") == dedent("""\
        no orchestrator runs, $0.00 today
        0 at work, $0.00 today
        t0 writer: committed
        t1 researcher: attempt 1 started
        t2 researcher: started
        t2 researcher: search cone
        t1 researcher: failed: it crashed
        no orchestrator runs, $0.00 today
        """)


def test_with_json_each_change_is_a_document_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    documents = Documents()
    at_work = WorkersView((worker("t1", "started", cost=0.25),), 2)
    for moment in (None, at_work, at_work, WorkersView((), 0, (LeftView(1, "t1", "researcher", None, "answered"),))):
        documents.show(status(), moment)
    told: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [len(one["workers"]) for one in told] == [0, 1, 0]
    assert told[1]["workers"] == [
        {"task": "t1", "agent": "researcher", "client": None, "attempt": 1, "since": "2026-11-29T14:04:27+01:00",
         "doing": "started", "cost_usd": 0.25}
    ]  # fmt: skip
    assert told[1]["waiting"] == 2 and told[1]["orchestrator"]["pid"] == 7
    assert told[2]["left"] == [
        {"task": "t1", "agent": "researcher", "client": None, "status": "answered", "reason": ""}
    ]
