"""What a chat has cost, in one line."""

import pytest

from onepen.orchestrator.chat.answer import TurnResult
from onepen.orchestrator.commands.toll import Toll, status_line
from onepen.orchestrator.results import UsageTotals


def answer(usage: UsageTotals, cost: float | None, calls: int = 1) -> TurnResult:
    return TurnResult("s", 1, "", "end_turn", usage=usage, cost_usd=cost, calls=calls)


@pytest.mark.parametrize(
    ("answers", "line"),
    [
        ([], "0 calls · in 0, out 0 · $0.0000"),
        ([answer(UsageTotals(100, 0, 0, 5), 0.01)], "1 call · in 100, out 5 · $0.0100"),
        ([answer(UsageTotals(20, 80, 900, 5), 0.25, 2)], "2 calls · in 1,000 (90 % cached), out 5 · $0.2500"),
        ([answer(UsageTotals(20, 80, 0, 5), 0.25)], "1 call · in 100 (0 % cached), out 5 · $0.2500"),
        ([answer(UsageTotals(9, 0, 0, 1), None)], "1 call · in 9, out 1 · cost unknown"),
        (
            [answer(UsageTotals(9, 0, 0, 1), None), answer(UsageTotals(1, 0, 0, 1), 0.5)],
            "2 calls · in 10, out 2 · $0.5000 and what has no known price",
        ),
    ],
)
def test_sums_in_words(answers: list[TurnResult], line: str) -> None:
    toll = Toll()
    for one in answers:
        toll = toll.plus(one)
    assert toll.line() == line


def test_where_a_chat_stands_begins_with_what_matters_most() -> None:
    toll = Toll().plus(answer(UsageTotals(20, 80, 900, 5), 0.25))
    assert status_line(None, None, "", Toll()) == "new chat"
    assert status_line("acme", "s1", "sonnet", toll) == "acme · s1 · $0.2500 · 90 % cached · sonnet"
