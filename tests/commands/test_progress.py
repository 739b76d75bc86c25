"""What is seen on stderr while work runs."""

import io
from collections.abc import Iterator
from dataclasses import replace

from rich.console import Console

from onepen.orchestrator.commands.progress import LiveProgress, PlainProgress
from onepen.orchestrator.commands.tasks import summary
from onepen.orchestrator.results import TaskView
from onepen.orchestrator.service import ProgressLine

DONE = TaskView(task="t1", agent="researcher", client=None, status="in_review", attempts=1, text="x", seconds=3.24)


def clock(*seconds: float) -> Iterator[float]:
    yield from seconds


def test_plain_progress_is_a_line_at_the_start_one_each_thirty_seconds_and_one_at_the_end() -> None:
    said: list[str] = []
    ticks = clock(0, 1, 29.9, 30, 31, 60)
    progress = PlainProgress(said.append, lambda: next(ticks))
    for text in ("starts", "reads a", "reads b", "reads c", "reads d", "writes"):
        progress.line(ProgressLine("t1", "researcher", text))
    progress.end((DONE,))
    assert said == [
        "t1 researcher: starts\n",
        "t1 researcher: reads c\n",
        "t1 researcher: writes\n",
        "t1 researcher: in_review, 3.2 s\n",
    ]


def test_each_task_has_its_own_first_line() -> None:
    said: list[str] = []
    progress = PlainProgress(said.append, lambda: 0.0)
    for task in ("t1", "t2", "t1"):
        progress.line(ProgressLine(task, "researcher", "starts"))
    assert said == ["t1 researcher: starts\n", "t2 researcher: starts\n"]


def test_what_a_worker_says_has_no_power_over_the_screen() -> None:
    said: list[str] = []
    PlainProgress(said.append, lambda: 0.0).line(ProgressLine("t1", "a", "\x1b[2Jgone\nonepen: all is well"))
    assert said == ["t1 a: \\x1b[2Jgone onepen: all is well\n"]


def test_the_live_line_shows_markup_as_text_and_is_cut() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=40, color_system=None)
    status = console.status("starting")
    progress = LiveProgress(status, 40)
    progress.line(ProgressLine("t1", "researcher", "[red]reads[/red] a rather long name of a file"))
    console.print(status.renderable)
    assert "t1 researcher: [red]reads[/red] a r…" in screen.getvalue()


def test_a_lasting_line_is_said_at_once_and_stays_on_the_screen() -> None:
    said: list[str] = []
    plain = PlainProgress(said.append, lambda: 0.0)
    lines = (
        ProgressLine("t1", "writer", "the first paid work here", lasting=True),
        ProgressLine("t1", "writer", "starts"),
    )
    for line in lines:
        plain.line(line)
    assert said == ["t1 writer: the first paid work here\n", "t1 writer: starts\n"]
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=40, color_system=None)
    status = console.status("starting")
    live = LiveProgress(status, 40)
    for line in lines:
        live.line(line)
    assert screen.getvalue().startswith("t1 writer: the first paid work here\n")


def test_the_summary_of_a_task_that_failed_says_why() -> None:
    failed = TaskView(
        task="t2", agent="writer", client=None, status="failed", attempts=3, text="x", seconds=1, reason="it crashed"
    )
    assert summary(failed) == "t2 writer: failed, 1.0 s: it crashed"


def test_of_several_tasks_each_end_is_told_as_it_comes_and_not_again() -> None:
    said: list[str] = []
    plain = PlainProgress(said.append, lambda: 0.0)
    for task in ("t1", "t2"):
        plain.line(ProgressLine(task, "researcher", "starts"))
    plain.line(ProgressLine("t2", "researcher", "failed: it crashed (1 of 2 done)", lasting=True, ended=True))
    plain.end((DONE, replace(DONE, task="t2", status="failed")))
    assert said[2:] == ["t2 researcher: failed: it crashed (1 of 2 done)\n", "t1 researcher: in_review, 3.2 s\n"]
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=60, color_system=None)
    status = console.status("starting")
    live = LiveProgress(status, 60)
    live.line(ProgressLine("t1", "researcher", "starts"))
    live.line(ProgressLine("t2", "researcher", "failed (1 of 2 done)", lasting=True, ended=True))
    live.line(ProgressLine("t1", "researcher", "reads"))
    console.print(status.renderable)
    assert "t2 researcher: failed (1 of 2 done)" in screen.getvalue() and "t1 researcher: reads" in screen.getvalue()
    assert "tasks" not in screen.getvalue(), "one is left"
