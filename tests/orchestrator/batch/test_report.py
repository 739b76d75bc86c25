"""report.md: from the events of a batch to the page that a person reads in the morning."""

from dataclasses import replace
from datetime import datetime

from onepen.orchestrator.batch.answer import BatchView
from onepen.orchestrator.batch.events import DoneBefore, Event, RunEnded, RunStarted, TaskMade, TaskOver
from onepen.orchestrator.batch.item import Item
from onepen.orchestrator.batch.report import points, report_text
from onepen.orchestrator.batch.spec import BatchId, BatchSpec
from onepen.orchestrator.batch.state import BatchState

NOW = datetime.fromisoformat("2026-11-30T06:00:00+01:00")
SPEC = BatchSpec(
    batch=BatchId("cups-ab12cd34"),
    name="cups.csv",
    created="2026-11-30T01:00:00+01:00",
    by="user:ana",
    input="input.csv",
    input_sha256="1" * 64,
    tasks_sha256="2" * 64,
    tasks=6,
    prompt="Describe {name}.\n```\nIn two lines.\n```",
    target="research/{name}.md",
    agent="writer",
    model="claude-sonnet-5-5",
    inputs=("notes.md",),
    budget_usd=5.0,
)
ITEMS = tuple(
    Item(f"k{n}", n + 1, f"Describe {n}", "writer", "sonnet", client=client, twins=(9,) if n == 1 else ())
    for n, client in enumerate((None, "acme", "acme", "bolt", "bolt", "bolt"), start=1)
)
NIGHT: tuple[tuple[str, Event], ...] = (
    ("2026-11-30T01:00:00+01:00", RunStarted(4, 5.0)),
    ("2026-11-30T01:00:01+01:00", TaskMade("k1", "t1")),
    ("2026-11-30T01:00:01+01:00", TaskMade("k2", "t2")),
    ("2026-11-30T01:00:30+01:00", TaskOver("k1", "t1", "committed", cost_usd=0.5, input=100, cache_read=300, output=50,
                                           seconds=29, commits=("c1",))),
    ("2026-11-30T01:01:00+01:00", TaskOver("k2", "t2", "in_review", cost_usd=0.25, input=100, output=50, seconds=59,
                                           drafts=("t2-1", "t2-2"))),
    ("2026-11-30T01:01:01+01:00", TaskMade("k3", "t3")),
    # Killed here, and gone on with in the morning.
    ("2026-11-30T05:00:00+01:00", RunStarted(2, 5.0)),
    ("2026-11-30T05:00:30+01:00", TaskOver("k3", "t3", "failed", "the server was | busy `now`\nfor long", "overload",
                                           cost_usd=0.25, seconds=31)),
    ("2026-11-30T05:00:31+01:00", DoneBefore("k4", "c7")),
    ("2026-11-30T05:00:32+01:00", TaskMade("k5", "t5")),
    ("2026-11-30T05:01:00+01:00", TaskOver("k5", "t5", "in_review", cost_usd=0.5, seconds=28, drafts=("t5-1",))),
    ("2026-11-30T05:01:00+01:00", RunEnded("stopped", "Ctrl-C")),
)  # fmt: skip


def folded(night: tuple[tuple[str, Event], ...] = NIGHT) -> BatchState:
    state = BatchState.begin(ITEMS)
    for at, event in night:
        state.take(event, at)
    return state


def view(state: BatchState) -> BatchView:
    return BatchView(
        str(SPEC.batch), SPEC.name, "stopped", state.counts, cost_usd=1.5, seconds=121.0, agent="writer",
        model="claude-sonnet-5-5", review="auto", budget_usd=5.0, concurrency=2, reason="Ctrl-C",
        failures=state.failures(),
    )  # fmt: skip


def text(night: tuple[tuple[str, Event], ...] = NIGHT) -> str:
    state = folded(night)
    return report_text(SPEC, ITEMS, state, view(state), NOW)


def section(title: str, page: str) -> list[str]:
    found = page.partition(f"\n## {title}\n\n")[2].partition("\n## ")[0]
    return found.rstrip("\n").split("\n")


def test_it_begins_with_what_became_of_the_tasks() -> None:
    page = text()
    assert page.startswith("# cups.csv: stopped\n\nBatch `cups-ab12cd34`, asked for by user:ana at 2026-11-30T01:00")
    assert "At 2026-11-30T06:00:00+01:00 it is stopped: Ctrl-C.\n" in page
    counted = page[page.index("| What became") : page.index("## What was asked")].strip().split("\n")
    assert counted[2:] == [
        "| committed to memory | 1 |",
        "| drafts wait for a person | 2 |",
        "| done before, or the same as an earlier row | 2 |",
        "| failed | 1 |",
        "| not begun, or to go on | 1 |",
        "| all | 7 |",
    ]


def test_it_repeats_what_was_asked_prompt_and_all() -> None:
    asked = section("What was asked", text())
    assert asked[0].startswith("- 6 tasks from `input.csv` (SHA-256 `1111")
    assert asked[0].endswith("`); 1 row says the same as an earlier one")
    assert "- agent `writer`, model `claude-sonnet-5-5`, asked call by call" in asked
    assert "- reviewed without a person where the policy allows it" in asked
    assert asked[-6:] == ["````text", "Describe {name}.", "```", "In two lines.", "```", "````"]


def test_cost_says_what_is_measured_and_what_nobody_knows() -> None:
    cost = "\n".join(section("What it cost", text()))
    assert "- money: $1.50 of $5.00, $0.38 a task\n" in cost
    assert "- tokens: 200 sent, 0 written to a cache, 300 read from it, 100 written by models; 60 % of what" in cost
    assert "- time: it ran for 2 min 1 s; half of the tasks took at most 31 s, 19 of 20 at most 59 s" in cost
    assert "](progress.svg)" in cost and "No call was cut by a crash, so none was paid twice." in cost
    unpriced = tuple(
        (at, replace(event, cost_usd=None) if isinstance(event, TaskOver) and event.key == "k1" else event)
        for at, event in NIGHT
    )
    told = "\n".join(section("What it cost", text(unpriced)))
    assert "Of 1 task nobody knows the price: their 450 tokens are in no sum of money" in told


def test_calls_that_a_crash_cut_are_told_with_their_most() -> None:
    state = folded()
    cut = replace(view(state), paid_again=3, again_usd=0.12)
    page = report_text(SPEC, ITEMS, state, cut, NOW)
    assert "3 calls were out when the orchestrator was killed, and made again" in page
    assert "counted with $0.12, the most it can have cost" in page


def test_each_client_has_its_own_figures() -> None:
    assert section("By client", text())[2:] == [
        "| the house | 1 | 1 | 0 | $0.50 |",
        "| `acme` | 2 | 1 | 1 | $0.50 |",
        "| `bolt` | 3 | 2 | 0 | $0.50 |",
    ]


def test_failures_are_told_by_class_with_the_command_and_cannot_write_the_page() -> None:
    failed = "\n".join(section("What failed", text()))
    assert "All of it again: `onepen batch retry cups-ab12cd34 --failed`" in failed
    assert "### overload: 1\n\nThe server could not be asked to the end." in failed
    assert "`onepen batch retry cups-ab12cd34 --failed=overload`" in failed
    assert "- cups.csv:4 `t3`: `the server was ¦ busy 'now' for long`" in failed


def test_drafts_wait_in_the_order_of_the_rows_with_their_commands() -> None:
    assert section("What waits for you", text())[2:] == [
        "- cups.csv:3 `t2`: `onepen show t2-1`, `onepen show t2-2`",
        "- cups.csv:6 `t5`: `onepen show t5-1`",
    ]


def test_each_run_is_listed_and_the_one_that_was_killed_says_so() -> None:
    runs = section("When it ran", text())
    assert runs[2] == (
        "| 2026-11-30T01:00:00+01:00 | 2026-11-30T01:01:01+01:00 | 1 min 1 s | 4 | $5.00 "
        "| without a word: it was killed, or still runs |"
    )
    assert runs[3].endswith("| 1 min | 2 | $5.00 | stopped: Ctrl-C |")


def test_the_picture_leaves_out_the_hours_in_which_nothing_ran() -> None:
    found, pauses = points(folded())
    assert [(p.seconds, p.done, p.failed, p.usd) for p in found] == [
        (30.0, 1, 0, 0.5), (60.0, 2, 0, 0.75), (91.0, 2, 1, 1.0), (92.0, 3, 1, 1.0), (121.0, 4, 1, 1.5),
    ]  # fmt: skip
    assert pauses == (61.0,)


def test_before_anything_happened_there_is_a_report_too() -> None:
    state = BatchState.begin(ITEMS)
    page = report_text(SPEC, ITEMS, state, replace(view(state), state="planned", reason="", cost_usd=0.0), NOW)
    assert page.startswith("# cups.csv: not begun") and "## What failed" not in page
    assert "No task has come to its end yet." in page and "## When it ran" not in page
    assert points(state) == ((), ())
