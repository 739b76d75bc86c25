"""The loop against a model that says what a list says."""

from collections.abc import Callable
from typing import Any

import pytest

from onepen.subagents.loop import (
    AGAIN,
    CUT,
    EQUAL_CALLS,
    EQUAL_FAILURES,
    MOST_CALLS,
    REMINDER,
    TOO_MANY,
    UNTRUE,
    Said,
    work,
)
from onepen.subagents.messages import Message, Text, ToolResult, ToolUse, user
from onepen.subagents.toolbox.toolinput import ReportInput
from onepen.testing.bench import Bench

FIRST = user(Text("# Task\n\nWhen?"))
REPORT = ("report", {"summary": "done"})
WRITE = ("write_draft", {"text": "# New\n\nx\n"})
BAD: tuple[str, Any] = ("write_draft", {})


def calls(*uses: tuple[str, Any], stop: str = "tool_use") -> Said:
    return Said(tuple(ToolUse(f"u{k}", *use) for k, use in enumerate(uses)), stop)


def says(text: str, stop: str = "end_turn") -> Said:
    return Said((Text(text),) if text else (), stop)


def played(bench: Bench, *replies: Said, turns: int = 40) -> tuple[ReportInput, list[Message]]:
    """The report, and what the model was told after each reply."""
    told: list[Message] = []

    def ask(delta: tuple[Message, ...]) -> Said:
        told.extend(delta)
        return replies[len(told) - 1]

    report = work(FIRST, ask, bench.toolbox().toolbox, turns)
    assert len(told) <= len(replies)
    assert told[0] == FIRST
    return report, told[1:]


def results(message: Message) -> list[ToolResult]:
    return [block for block in message.content if isinstance(block, ToolResult)]


def test_it_ends_on_the_report(bench: Bench) -> None:
    report, told = played(bench, calls(WRITE), calls(REPORT))
    assert (report.summary, report.complete) == ("done", None)
    assert [r.content for r in results(told[0])] == [
        "new.md: written (create research/new.md); no index entry was given, one is made of its headings"
    ]


def test_each_call_gets_its_result(bench: Bench) -> None:
    _, told = played(bench, calls(("read_card", {"card": "kiln"}), BAD, ("search", {"query": "x"})), calls(REPORT))
    assert [(r.tool_use_id, r.is_error) for r in results(told[0])] == [("u0", False), ("u1", True), ("u2", False)]


def test_of_hundreds_of_calls_in_one_reply_a_bounded_number_is_carried_out(bench: Bench) -> None:
    many = [("write_draft", {"text": f"# N{n}\n\nx\n", "name": f"n{n}.md"}) for n in range(300)]
    _, told = played(bench, calls(*many), calls(REPORT))
    answers = results(told[0])
    assert len(answers) == 300 and [r.content for r in answers[MOST_CALLS:]] == [TOO_MANY] * (300 - MOST_CALLS)
    assert len(bench.drafted()) <= MOST_CALLS


def test_a_report_beside_a_call_that_failed_is_not_taken(bench: Bench) -> None:
    report, told = played(bench, calls(BAD, ("report", {"summary": "all written"})), calls(REPORT))
    assert report.summary == "done"
    assert [r.content for r in results(told[0])] == ["write_draft: text is missing; nothing was done", UNTRUE]
    assert all(r.is_error for r in results(told[0]))


def test_a_report_beside_calls_that_went_well(bench: Bench) -> None:
    report, _ = played(bench, calls(WRITE, REPORT))
    assert report.summary == "done"
    assert list(bench.drafted()) == ["new.md"]


@pytest.mark.parametrize("stop", ["max_tokens", "end_turn", "stop_sequence", "pause_turn", "something_new"])
def test_tools_run_only_when_the_model_stopped_for_them(bench: Bench, stop: str) -> None:
    """A call that was cut looks whole; nothing of it is done, and the model is told why."""
    _, told = played(bench, calls(WRITE, REPORT, stop=stop), calls(REPORT))
    assert bench.drafted() == {}
    assert all(r.is_error and (r.content == CUT or stop in r.content) for r in results(told[0]))
    assert len(results(told[0])) == 2


def test_words_that_were_cut(bench: Bench) -> None:
    _, told = played(bench, says("Once upon", "max_tokens"), calls(REPORT))
    assert told[0] == user(Text(CUT))


def test_one_that_only_talks_is_reminded_once(bench: Bench) -> None:
    report, told = played(bench, says("It is 1222 degrees."), says("As I said."))
    assert told == [user(Text(REMINDER))]
    assert report.answer == "It is 1222 degrees."


def test_a_reminder_helps(bench: Bench) -> None:
    report, _ = played(bench, says("It is 1222 degrees."), calls(("report", {"summary": "s", "answer": "1222"})))
    assert report.answer == "1222"


def test_one_that_says_nothing(bench: Bench) -> None:
    report, _ = played(bench, says(""), says(""))
    assert report == ReportInput(
        summary="Not finished: the model stopped without a word. Drafts left: none.", complete=False
    )


def test_turns_are_limited_and_the_drafts_are_named(bench: Bench) -> None:
    read = calls(("read_card", {"card": "kiln"}))
    report, told = played(bench, calls(WRITE), calls(("write_draft", {"text": "# Two\n"})), read, turns=3)
    assert report.summary == "Not finished: all 3 turns are used up. Drafts left: new.md, two.md."
    assert report.complete is False
    assert len(told) == 2


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (lambda: calls(BAD), "write_draft: text is missing"),
        (lambda: calls(WRITE, stop="max_tokens"), "cut at the output limit"),
        (lambda: says("on and on", "max_tokens"), "cut at the output limit"),
    ],
)
def test_equal_failures_end_it(bench: Bench, reply: Callable[[], Said], told: str) -> None:
    report, heard = played(bench, *[reply()] * 40)
    assert report.complete is False
    assert f"the same failed {EQUAL_FAILURES} times" in report.summary and told in report.summary
    assert len(heard) == EQUAL_FAILURES - 1


def test_failures_that_differ_do_not(bench: Bench) -> None:
    other = ("write_draft", {"text": 3})
    report, _ = played(bench, *[calls(BAD), calls(other)] * 5, calls(REPORT))
    assert report.summary == "done"


def test_a_refusal_ends_it(bench: Bench) -> None:
    report, _ = played(bench, says("I can't help with that.", "refusal"))
    assert report.complete is False
    assert "the model refused to go on: I can't help with that." in report.summary


READ: tuple[str, Any] = ("read_input", {"name": "cones.md", "start": 2})


def test_a_call_that_is_made_again_is_answered_and_told_to_go_on(bench: Bench) -> None:
    report, told = played(bench, calls(READ), calls(READ), calls(WRITE), calls(REPORT))
    assert report.summary == "done"
    assert [AGAIN in message.text for message in told] == [False, True, False]
    assert [r.content for r in results(told[0])] == [r.content for r in results(told[1])]


def test_a_model_that_only_repeats_itself_is_ended(bench: Bench) -> None:
    report, told = played(bench, *[calls(READ)] * EQUAL_CALLS)
    assert report.complete is False
    assert report.summary.startswith("Not finished: it called read_input in the same way 6 times.")
    assert len(told) == EQUAL_CALLS - 1
