"""A transcript in, its responses out: what was paid, by layer, with what missed the cache."""

import json
from typing import Any

from onepen.orchestrator.meter.worked import layer_of, responses
from onepen.orchestrator.tasks.transcript import reply_dict
from onepen.subagents.messages import Message, Text, ToolResult, ToolUse, message_dict, user
from onepen.subagents.model import ModelReply, Usage

RULES = '<file path="agents/RULES.md">\n' + "Write short sentences. " * 40 + "\n</file>\n"
INDEX = '<file path="projects/_index.md">\n' + "- [kiln](kiln.md) fires\n" * 20 + "</file>\n"
OWN = '<agent id="writer">\nYou write.\n</agent>\n'
PREFIX: dict[str, Any] = {"v": 1, "kind": "prefix", "model": "m", "system": [RULES, INDEX, OWN], "tools": []}
USE = ToolUse("t1", "read_card", {"card": "kiln"})


def asked(*messages: Message) -> dict[str, Any]:
    return {"v": 1, "kind": "request", "sha": "0", "messages": [message_dict(m) for m in messages]}


def answered(*blocks: Text | ToolUse, usage: Usage, reused: bool = False, at: str = "") -> dict[str, Any]:
    reply = ModelReply(blocks, "tool_use", usage, "m-1", 0.5)
    return {"v": 1, "kind": "reply", "request": "0", "reused": reused, **reply_dict(reply), "at": at}


TASK = asked(user(Text("# Task\n\nWrite about the kiln.\n")))
SHOWN = asked(Message("user", (ToolResult("t1", "projects/kiln.md, lines 1-9 of 9\n" + "it fires\n" * 30),)))
DONE = Text("Done.")


def stored(*lines: dict[str, Any]) -> list[dict[str, Any]]:
    """As it is read from the file."""
    return [json.loads(json.dumps(line)) for line in lines]


def test_rules_indexes_and_its_own_definition_are_told_apart() -> None:
    assert [layer_of(block) for block in (RULES, INDEX, OWN, "Judge it.\n")] == ["B", "I", "A", "B"]


def test_each_reply_has_its_counters_its_layers_and_the_tools_that_it_called() -> None:
    one, two = responses(
        stored(
            PREFIX,
            TASK,
            answered(USE, usage=Usage(5, 400, 0, 20)),
            SHOWN,
            answered(DONE, usage=Usage(5, 120, 400, 20)),
        )
    )
    assert (one.call, one.usage, one.cost_usd, one.model, one.measured.tools) == (
        1, Usage(5, 400, 0, 20), 0.5, "m-1", ("read_card",),
    )  # fmt: skip
    assert set(one.measured.layers) == {"B", "I", "A", "C"} and sum(one.measured.layers.values()) == 405
    assert set(two.measured.layers) == {"B", "I", "A", "C", "E"} and sum(two.measured.layers.values()) == 525
    assert one.measured.missed is None and two.measured.missed is None


def test_a_reply_that_was_used_again_is_no_line_but_belongs_to_the_conversation() -> None:
    lines = stored(
        PREFIX,
        TASK,
        answered(USE, usage=Usage(5, 400, 0, 20), reused=True),
        SHOWN,
        answered(DONE, usage=Usage(5, 120, 400, 20)),
    )
    (only,) = responses(lines)
    assert (only.call, only.measured.layers["E"] > 0) == (1, True)


def test_a_lost_call_is_paid_and_told() -> None:
    lost = {"v": 1, "kind": "lost", "reason": "cut", "usage": {"input": 3}, "cost_usd": None}
    one, two = responses(stored(PREFIX, TASK, lost, answered(DONE, usage=Usage(1, 0, 0, 1))))
    assert (one.call, one.lost, one.usage, one.cost_usd) == (1, True, Usage(3), None)
    assert (two.call, two.lost) == (2, False)


def test_between_two_calls_a_cache_can_expire() -> None:
    first = answered(USE, usage=Usage(5, 400, 0, 20), at="2026-11-29T09:30:00+01:00")
    late = answered(DONE, usage=Usage(5, 520, 0, 20), at="2026-11-29T09:37:00+01:00")
    missed = responses(stored(PREFIX, TASK, first, SHOWN, late))[1].measured.missed
    assert missed is not None and (missed.layer, missed.cause, missed.tokens, missed.after) == (
        "B",
        "expired",
        400,
        420,
    )


def test_a_torn_or_strange_transcript_gives_what_can_be_read() -> None:
    assert responses([]) == ()
    strange = {"v": 1, "kind": "request", "messages": [None, {"role": "x"}]}
    assert len(responses(stored(PREFIX, strange, answered(DONE, usage=Usage(1, 0, 0, 1))))) == 1
