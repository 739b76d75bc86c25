"""Tokens and money as `ask`, `delegate` and `usage` tell them, against what the server said that it counted."""

import json
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.messages_api import Asked, MessagesApi
from onepen.testing.story import Line, Story, wait_until

CONFIG = """
[profiles.default.prices."claude-sonnet-5-5"]
input = 3.0
cache_write = 3.75
cache_read = 0.3
output = 15.0
"""
BEGIN = (
    f"mkdir -p .config/onepen; echo '{CONFIG}' > .config/onepen/config.toml",
    "onepen init ws",
    "onepen -C ws add client Acme --id acme",
)
CACHED = {"input": 10, "cache_write": 7, "cache_read": 100, "output": 50}
PLAIN = {"input": 900, "cache_write": 0, "cache_read": 0, "output": 5}
KINDS = ("input", "cache_write", "cache_read", "output")
PRICES = {"input": 3.0, "cache_write": 3.75, "cache_read": 0.3, "output": 15.0}
"""As the config has them: four that differ."""

MOST = 10_000 * PRICES["cache_write"] / 1e6 + 8_192 * PRICES["output"] / 1e6
"""What a call of these stories costs at the most: 10,000 tokens are more than the prompt has, the rest is the reply."""


def cost(usage: Mapping[str, int]) -> float:
    return sum(usage[kind] * PRICES[kind] for kind in KINDS) / 1e6


def never_streams(asked: Asked) -> None:
    """A server that answers in one piece, whatever it is asked for."""
    if "in one piece" in asked.last:
        assert isinstance(asked.body, dict)
        asked.body.pop("stream")


RULES: list[Any] = [
    never_streams,
    {"last_contains": "not cached", "reply": "Yes.", "usage": PLAIN},
    {"contains": "of a worker", "reply": [{"tool": "report", "input": {"summary": "Yes."}}], "usage": CACHED},
    {"reply": "Yes.", "usage": {**CACHED, "steps": [20]}},
]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("kill", [range(100), pytest.param((), marks=pytest.mark.long)], ids=["killed", "as it is"])
def test_what_was_counted_is_told_and_summed_up_exactly(tmp_path: Path, kill: Container[int]) -> None:
    """Field case 39: in one piece, streamed with counts on the way, by a worker; then a prompt that nobody cached.

    A kill before a line changes no figure; the hint that nothing was cached is told once by each orchestrator.
    """
    ask = "onepen -C ws ask '{}' --client acme --json"
    with MessagesApi(RULES) as api, Story(tmp_path, api.env) as story:
        ran = story.tell(
            *BEGIN,
            ask.format("in one piece"),
            ask.format("streamed"),
            "onepen -C ws delegate 'of a worker' --answer --agent writer --client acme --model sonnet --json",
            ask.format("not cached"),
            ask.format("not cached"),
            "onepen -C ws usage --client acme --json",
            Line("onepen -C ws usage --client acme", says="1,830"),
            kill=kill,
        )
        whole, streamed, worker, first, second, usage = ran[len(BEGIN) : -1]
        assert "stream" in api.asked[0].body, "it was asked for, and the server did otherwise"
        for told in (whole.json, streamed.json, worker.json["tasks"][0]):
            assert told["usage"] == CACHED, "not input 117, and not output 71"
            assert told["cost_usd"] == pytest.approx(cost(CACHED), abs=1e-12)
        assert sum(whole.json["layers"].values()) == 117, "by layer, all that the server read, wrote and was sent"
        for told in (first.json, second.json):
            assert told["usage"] == PLAIN, "no hit is claimed"
        hints = [ran.err.count("not cached: a prompt of 900 tokens") for ran in (whole, streamed, first, second)]
        assert hints == ([0, 0, 1, 1] if 0 in kill else [0, 0, 1, 0])
        totals = usage.json["totals"]
        assert {kind: totals[kind] for kind in KINDS} == {k: 3 * CACHED[k] + 2 * PLAIN[k] for k in KINDS}
        assert totals["cost_usd"] == pytest.approx(3 * cost(CACHED) + 2 * cost(PLAIN), abs=1e-8)
        assert (totals["bookings"], totals["lost_calls"]) == (5, 0)


def test_what_was_answered_before_a_kill_is_booked_and_what_was_under_way_is_not(tmp_path: Path) -> None:
    """Field case 39 with money in flight: of three calls the second is under way when the orchestrator is killed.

    What that one cost nobody has heard, and the server may bill it: it is in the books with the most that was set aside
    for it, as a lost call without tokens.
    """
    note = [{"tool": "log_event", "input": {"text": "it was asked"}}]
    rules: list[dict[str, Any]] = [
        {"turn": 1, "reply": note, "usage": CACHED},
        {"turn": 2, "times": 1, "delay": 60, "reply": "never", "usage": CACHED},
        {"last_contains": "go on", "reply": "I go on.", "usage": CACHED},
    ]
    with MessagesApi(rules) as api, Story(tmp_path, api.env) as story:
        story.tell(*BEGIN, "(onepen -C ws ask 'Note it' --client acme >/dev/null 2>&1 &)")
        assert wait_until(lambda: len(api.asked) == 2, 30)
        assert story.kill()
        usage = "onepen -C ws usage --client acme --json"
        *_, after = story.tell(
            "onepen -C ws up", usage, Line("echo go on | onepen -C ws chat --resume --client acme", says="on."), usage,
            kill=range(1, 9),
        )[1:]  # fmt: skip
        told = json.loads(after.out)["totals"]
        assert {kind: told[kind] for kind in KINDS} == {kind: 2 * CACHED[kind] for kind in KINDS}
        assert told["lost_calls"] == 1
        assert 2 * cost(CACHED) < told["cost_usd"] <= 2 * cost(CACHED) + MOST
        answered = [seen for seen in api.asked if seen.rule != 1]
        assert len(answered) == 2 and len(api.asked) - len(answered) <= 1
        story.tell("onepen -C ws doctor")
