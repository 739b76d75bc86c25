"""A line of results in, what it means out."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.gateway.account import Amount
from onepen.orchestrator.gateway.failure import Again, Final
from onepen.orchestrator.gateway.price import Price
from onepen.orchestrator.outbox.events import Asked, Item
from onepen.orchestrator.outbox.results import Got, Strange, got
from onepen.subagents.messages import Text
from onepen.subagents.model import ModelReply, Usage

MOST = Amount(0.25)
REQUESTS = {"t1-ab": Asked("t1-ab", "ab", "t1", None, "writer", "m", MOST)}
PRICES = {"m": Price(1.0, 1.0, 0.1, 2.0)}


def read(message: Mapping[str, Any], model: str) -> ModelReply:
    if "text" not in message:
        raise ValueError("no words")
    return ModelReply((Text(message["text"]),), message.get("stop", "end_turn"), Usage(1_000_000, 0, 0, 1), model)


def judge(error: object, model: str) -> Final | Again:
    return Final("no", "hint", 2) if error == "final" else Again("later")


def meaning(line: object, *, canceling: bool = False, prices: Mapping[str, Price | None] = PRICES) -> Got | Strange:
    raw = line if isinstance(line, bytes) else json.dumps(line).encode()
    return got(raw, REQUESTS, prices, canceling=canceling, read=read, judge=judge)


def result(kind: str, **more: object) -> dict[str, object]:
    return {"custom_id": "t1-ab", "result": {"type": kind, **more}}


def test_an_answer_has_its_cost() -> None:
    found = meaning(result("succeeded", message={"type": "message", "text": "so"}))
    assert isinstance(found, Got) and found.reply is not None
    assert found.item == Item("t1-ab", "reply", cost=Amount(1.000002)) and found.reply.cost_usd == 1.000002


def test_a_refusal_is_told_apart() -> None:
    found = meaning(result("succeeded", message={"type": "message", "text": "", "stop": "refusal"}))
    assert isinstance(found, Got) and found.item.kind == "refusal"


def test_without_a_price_tokens_are_counted() -> None:
    for prices in ({}, {"m": None}):
        found = meaning(result("succeeded", message={"type": "message", "text": "so"}), prices=prices)
        assert isinstance(found, Got) and found.reply is not None
        assert found.item.cost == Amount(0.0, 1_000_001) and found.reply.cost_usd is None


@pytest.mark.parametrize("message", [None, {}, {"text": "so"}, {"type": "message"}, "so"])
def test_an_answer_that_can_not_be_read_costs_the_most(message: object) -> None:
    found = meaning(result("succeeded", message=message))
    assert isinstance(found, Got) and (found.item.kind, found.item.cost) == ("again", MOST)


def test_errors_are_final_or_worth_another_try() -> None:
    assert meaning(result("errored", error="final")) == Got(
        Item("t1-ab", "failed", reason="no", hint="hint", exit_code=2)
    )
    assert meaning(result("errored", error="busy")) == Got(Item("t1-ab", "again", reason="later"))


def test_what_was_cancelled_by_whom() -> None:
    found = meaning(result("canceled"))
    assert isinstance(found, Got) and found.item.kind == "again"
    assert meaning(result("canceled"), canceling=True) == Got(Item("t1-ab", "canceled"))


@pytest.mark.parametrize(
    "line",
    [
        b"{", b"\xff", b"[1]", {}, {"custom_id": "t1-ab"}, {"custom_id": 1, "result": {"type": "expired"}},
        {"custom_id": "t2", "result": {"type": "expired"}}, {"custom_id": "t1-ab", "result": "x"}, result("moved"),
        ("[" * 100_000).encode(),
    ],
)  # fmt: skip
def test_lines_that_are_none_of_ours_are_strange(line: object) -> None:
    assert isinstance(meaning(line), Strange)


@given(st.binary(max_size=200) | st.text(max_size=50).map(lambda text: result(text)))
def test_nothing_that_a_server_says_raises(line: object) -> None:
    found = meaning(line)
    assert isinstance(found, Got | Strange)
    if isinstance(found, Strange):
        assert found.reason.isprintable() and len(found.reason) < 300
