"""Batches as people read them: the plan, how one stands, what to do next, and the list."""

from dataclasses import replace
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.amounts import lasting, percent
from onepen.orchestrator.batch.answer import (
    BatchesResult,
    BatchPlan,
    BatchState,
    BatchView,
    Counts,
    Failures,
    Range,
    Waits,
)
from onepen.orchestrator.commands.batchtext import begun, following, handed_over, line, listed, plan, standing
from onepen.orchestrator.commands.terminal import Terminal
from onepen.orchestrator.commands.text import width

PAPER = Terminal(can_ask=False, colour=False, live=False, columns=10_000)
PLAN = BatchPlan(
    batch="500-ab12cd34", name="500.csv", tasks=500, new=480, done=12, failed=6, twice=2, begun=True, client="acme",
    agent="writer", model="claude-sonnet-5-5", via="messages", review="auto", reviewers="a model, then you",
    concurrency=32, cost=Range(1.2, 3.4), tokens=Range(1_000_000, 2_500_000), seconds=Range(700, 2_400),
    basis="what 12 tasks of it took", budget_usd=5.0, budget_from="--budget", reads=("Describe cup\nin red",),
    targets=("research/cup.md", "research/mug.md"),
)  # fmt: skip
VIEW = BatchView(
    "500-ab12cd34", "500.csv", "finished",
    Counts(committed=470, in_review=8, answered=1, refused=2, duplicate=7, failed=12),
    cost_usd=1.5, seconds=3_700, agent="writer", model="sonnet", created="2026-11-29T03:10:22+01:00", budget_usd=5.0,
    concurrency=32, cached=0.914,
    failures=(
        Failures("overload", 9, "t3k9x2mq", 12, "the server\x1b[2J was busy\nfor 30 min"),
        Failures("invalid", 3, "t4m2", 40, ""),
    ),
    report="batches/500-ab12cd34/report.md",
)  # fmt: skip


def test_the_plan_says_what_for_how_much_and_how_that_is_known() -> None:
    assert plan(PLAN, PAPER) == dedent("""\
        500.csv: batch 500-ab12cd34
        tasks: 480 new, 12 done before, 6 failed before; 2 rows say the same as an earlier one
        who: writer with claude-sonnet-5-5, 32 at a time
        client: acme
        cost: $1.20 to $3.40
        tokens: 1,000,000 to 2,500,000
        time: 11 min 40 s to 40 min
        based on: what 12 tasks of it took
        budget: $5.00 for all of it (--budget)
        review: a model, then you
        goes to: research/cup.md, research/mug.md and 478 more
        the first row, as it will be told:
          Describe cup
          in red
        """)


def test_a_plan_that_costs_nothing_or_nobody_knows_what_says_so() -> None:
    free = plan(replace(PLAN, free=True, cost=None, tokens=None), PAPER)
    assert "cost: nothing\n" in free and "budget:" not in free
    unknown = plan(replace(PLAN, cost=None, budget_usd=None, budget_from="5 dollars a day, by onepen.toml"), PAPER)
    assert "cost: nobody can say\n" in unknown
    assert "budget: none of its own (5 dollars a day, by onepen.toml)\n" in unknown
    assert "Message Batches (half the price" in plan(replace(PLAN, via="message-batches"), PAPER)


def test_a_long_first_row_is_shown_in_part_and_has_no_power_over_the_screen() -> None:
    shown = plan(replace(PLAN, reads=("a\x1b[2J\n" * 30,)), PAPER)
    assert "\x1b" not in shown
    assert shown.endswith("  a\\x1b[2J\n  … and 22 more lines\n")


def test_how_it_stands_has_counts_cost_reasons_and_the_next_command() -> None:
    assert standing(VIEW, PAPER) == dedent("""\
        500-ab12cd34  finished
        500.csv: 488 of 500 done (470 committed, 8 in review, 1 answered, 2 refused, 7 done before or twice), 12 failed
        $1.50 of $5.00, $0.0030 a task, cache 91 %, ran for 1 h 1 min
          overload  9  500.csv:12 t3k9x2mq: the server\\x1b[2J was busy for 30 min
          invalid   3  500.csv:40 t4m2: no reason was told
        report: batches/500-ab12cd34/report.md
        Next: onepen batch retry 500-ab12cd34 --failed
        """)


def test_calls_that_may_have_been_paid_twice_are_told() -> None:
    told = standing(replace(VIEW, paid_again=3, again_usd=0.25), PAPER)
    assert "3 calls that a crash cut may have been paid twice: $0.25 at the most\n" in told


def test_what_waits_at_a_server_is_told() -> None:
    waits = replace(VIEW, state="running", waits=Waits(("b1", "b2"), 120, "2026-11-30T03:10:00+01:00"))
    assert "120 requests wait in 2 Message Batches, until 2026-11-30 03:10 at the latest\n" in standing(waits, PAPER)


@pytest.mark.parametrize(
    ("state", "counts", "command"),
    [
        ("running", Counts(running=1), "onepen batch status x-1 --watch"),
        ("planned", Counts(pending=1), "onepen batch resume x-1"),
        ("stopped", Counts(pending=1, failed=1), "onepen batch resume x-1"),
        ("cancelled", Counts(pending=1), "onepen batch resume x-1"),
        ("over_budget", Counts(pending=1), "onepen batch resume x-1 --budget USD"),
        ("too_many_failures", Counts(failed=9, pending=1), "onepen batch report x-1"),
        ("finished", Counts(failed=1, in_review=1), "onepen batch retry x-1 --failed"),
        ("finished", Counts(in_review=1), "onepen drafts"),
        ("finished", Counts(committed=1), "onepen batch report x-1"),
    ],
)
def test_each_state_has_a_command_that_goes_on(state: BatchState, counts: Counts, command: str) -> None:
    assert following(BatchView("x-1", "x", state, counts)) == command


def test_a_line_for_a_log_says_how_far_it_is() -> None:
    counts = Counts(in_review=120, committed=127, failed=3, running=32, pending=218)
    running = replace(VIEW, state="running", counts=counts, left_seconds=700, idle=4, cost_usd=1.25, cached=None)
    assert line(running) == (
        "500.csv: 250 of 500 over (50 %), 32 running, 4 idle, 3 failed, 120 in review, 127 committed, $1.25 of $5.00, "
        "$0.0050 a task, about 11 min 40 s left"
    )
    unpriced = replace(running, cost_usd=None, budget_usd=None, tokens=12_345)
    assert "cost unknown, 12,345 tokens" in line(unpriced)


def test_that_it_begins_or_goes_on_is_told_with_its_id() -> None:
    new = replace(VIEW, counts=Counts(pending=498, duplicate=2))
    assert begun(new) == "500.csv begins: 498 tasks, 32 at a time (batch 500-ab12cd34)"
    assert begun(replace(VIEW, counts=Counts(pending=9, committed=1))).startswith("500.csv goes on: 9 of 10 tasks left")
    assert handed_over(replace(VIEW, state="running", counts=Counts(pending=3)), PAPER) == (
        "500-ab12cd34  running, 3 tasks\nNext: onepen batch status 500-ab12cd34 --watch\n"
    )


def test_the_list_has_a_line_each() -> None:
    two = BatchesResult((VIEW, replace(VIEW, batch="x-12345678", state="stopped", reason="Ctrl-C", cost_usd=None)))
    assert listed(two, PAPER) == dedent("""\
        batch         done     failed  cost     begun             state
        500-ab12cd34  488/500  12      $1.50    2026-11-29 03:10  finished
        x-12345678    488/500  12      unknown  2026-11-29 03:10  stopped: Ctrl-C
        """)
    assert listed(BatchesResult(()), PAPER) == "There is no batch here.\nNext: onepen batch run FILE --dry-run\n"


@given(st.integers(20, 160))
def test_nothing_is_wider_than_the_screen_where_blanks_allow_it(columns: int) -> None:
    narrow = replace(PAPER, columns=columns)
    for text in (plan(PLAN, narrow), standing(VIEW, narrow)):
        for row in text.splitlines():
            assert width(row) <= columns or " " not in row.strip(), row


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"), (0.4, "0.4 s"), (0.96, "1 s"), (59.4, "59 s"), (60, "1 min"), (3_599.7, "1 h"),
        (7_800, "2 h 10 min"), (86_400 * 3 + 3_600 * 4, "3 d 4 h"), (-5, "0 s"),
    ],
)  # fmt: skip
def test_a_stretch_of_time_in_words(seconds: float, words: str) -> None:
    assert lasting(seconds) == words


def test_a_share_is_whole_only_where_nothing_is_missing() -> None:
    assert [percent(share) for share in (0, 0.001, 0.5, 0.999, 1)] == ["0 %", "1 %", "50 %", "99 %", "100 %"]
