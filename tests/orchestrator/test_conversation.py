"""The seam of model calls: only the continuation of a stored conversation is taken, and stored before it is used."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.orchestrator.meter.worked import responses, spent_on
from onepen.orchestrator.tasks.conversation import Conversation, Prefix, not_an_extension
from onepen.orchestrator.tasks.stored import asked_for, stored, stored_replies
from onepen.orchestrator.tasks.transcript import (
    Spent,
    is_whole,
    read_transcript,
    stored_messages,
    traces_in,
)
from onepen.subagents.messages import Message, Opaque, Text, ToolResult, ToolUse, assistant, user
from onepen.subagents.model import Listener, LostCall, Miss, ModelReply, ModelRequest, OnLost, ToolSpec, Usage
from onepen.subagents.pool import RequestRefused
from onepen.testing.clock import FixedClock
from onepen.testing.scripted import ScriptedModel

PREFIX = Prefix("scripted", ("rules\n",), (), "f" * 64)
TASK = user(Text("# Task\n\nWhat?"))
SCRIPT: list[dict[str, object]] = [
    {"turn": 1, "usage": {"input": 7, "output": 3}, "reply": [{"tool": "search", "input": {"query": "x"}}]},
    {"turn": 2, "usage": {"input": 9, "output": 1}, "reply": [{"tool": "report", "input": {"summary": "s"}}]},
]


def talk(conversation: Conversation, *delta: Message, sha: str = PREFIX.sha) -> ModelReply:
    return anyio.run(partial(conversation.reply, delta, sha))


def conversation(path: Path, model: ScriptedModel | None = None, turns: int = 5, **more: object) -> Conversation:
    asked = model or ScriptedModel(SCRIPT)

    async def ask(request: ModelRequest, on_lost: OnLost) -> ModelReply:
        return await asked.reply(request)

    return Conversation(path, ask, PREFIX, agent="researcher", turns=turns, **more)  # type: ignore[arg-type]


def result(reply: ModelReply) -> Message:
    return user(*(ToolResult(use.id, "found nothing") for use in reply.message.tool_uses))


def test_the_prefix_is_the_first_line_and_each_reply_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    one = conversation(path)
    first = talk(one, TASK)
    second = talk(one, result(first))
    lines = read_transcript(path)
    assert [line["kind"] for line in lines] == ["prefix", "request", "reply", "request", "reply"]
    assert (lines[0]["model"], lines[0]["system"], lines[0]["sha"]) == ("scripted", ["rules\n"], "f" * 64)
    assert stored_messages(path) == (TASK, first.message, result(first), second.message)
    assert spent_on(responses(lines)) == one.spent == Spent(Usage(input=16, output=4))


def test_a_request_is_stored_before_the_model_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    seen: list[int] = []

    class Watching(ScriptedModel):
        async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
            seen.append(len(read_transcript(path)))
            return await super().reply(request, listener)

    talk(conversation(path, Watching(SCRIPT)), TASK)
    assert seen == [2]


@pytest.mark.parametrize(
    ("delta", "reason"),
    [
        ((), "at least one new message"),
        ((assistant(Text("I am the model")),), "the user's side only"),
        ((user(ToolUse("c", "report", {})),), "in the model's name"),
        ((user(ToolResult("c9", "made up")),), "each has to be answered exactly once"),
        ((user(Text("and now?")),), "each has to be answered exactly once"),
        ((user(ToolResult("call_1_1", "a"), ToolResult("call_1_1", "b")),), "each has to be answered exactly once"),
    ],
)
def test_what_does_not_continue_the_conversation_is_refused(
    tmp_path: Path, delta: Sequence[Message], reason: str
) -> None:
    model = ScriptedModel(SCRIPT)
    one = conversation(tmp_path / "t.jsonl", model)
    talk(one, TASK)
    before = (tmp_path / "t.jsonl").read_bytes()
    with pytest.raises(RequestRefused, match=reason):
        talk(one, *delta)
    assert len(model.requests) == 1
    assert (tmp_path / "t.jsonl").read_bytes() == before


def test_results_of_calls_that_were_answered_before_are_no_continuation(tmp_path: Path) -> None:
    script = [{"turn": n, "reply": [{"tool": "search", "input": {}}, {"tool": "search", "input": {}}]} for n in (1, 2)]
    model = ScriptedModel(script)
    one = conversation(tmp_path / "t.jsonl", model)
    first = talk(one, TASK)
    talk(one, result(first))
    for delta in (result(first), user(*result(first).content, *result(first).content)):
        with pytest.raises(RequestRefused, match="each has to be answered exactly once"):
            talk(one, delta)
    assert len(model.requests) == 2


def test_the_request_is_the_orchestrator_s_own_whatever_a_worker_sends(tmp_path: Path) -> None:
    model = ScriptedModel(SCRIPT)
    talk(conversation(tmp_path / "t.jsonl", model), TASK)
    [request] = model.requests
    assert (request.model, request.system, request.tools) == (PREFIX.model, PREFIX.system, PREFIX.tools)
    assert (request.messages, request.agent, request.tool_choice) == ((TASK,), "researcher", None)


def test_lost_calls_are_stored_and_count(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    said = ModelReply((Text("well"),), "end_turn", Usage(input=10, output=2), "m", 0.25)

    async def ask(request: ModelRequest, on_lost: OnLost) -> ModelReply:
        on_lost(LostCall("the stream was cut", Usage(input=10, output=1), 0.125))
        on_lost(LostCall("529 overloaded"))
        return said

    one = Conversation(path, ask, PREFIX, agent="researcher", turns=5)
    talk(one, TASK)
    lines = read_transcript(path)
    assert [line["kind"] for line in lines] == ["prefix", "request", "lost", "lost", "reply"]
    assert one.spent == spent_on(responses(lines)) == Spent(Usage(input=20, output=3), 0.375, 2)
    assert stored_replies([path]) == {str(lines[4]["request"]): said}


def test_what_is_measured_as_it_comes_is_what_the_transcript_tells_after_a_crash(tmp_path: Path) -> None:
    opened = ToolUse("c1", "read_card", {"card": "käse", "lines": [1, 2.5, None, True], "more": {"a": "\ud800"}})
    usages = [Usage(4, 500, 0, 20), Usage(4, 20, 500, 20), Usage(600, 0, 0, 20, 0)]
    replies = [
        ModelReply((Text("Ich öffne sie."), opened), "tool_use", usages[0], "m-1", 0.125, least=64),
        ModelReply((Opaque({"type": "thinking", "thinking": "…"}), Text("well")), "end_turn", usages[1], "m-1", 0.25),
        ModelReply((Text("gone?"),), "end_turn", usages[2], "m-1", None, miss=Miss("messages_changed", 9)),
    ]

    async def ask(request: ModelRequest, on_lost: OnLost) -> ModelReply:
        if len(replies) == 2:
            on_lost(LostCall("cut", Usage(input=1), 0.5))
        return replies.pop(0)

    tool = ToolSpec("read_card", "Opens a card…", {"type": "object", "properties": {"card": {"type": "string"}}})
    index = '<file path="projects/_index.md">\n- [kiln](kiln.md) fires\n</file>\n'
    prefix = Prefix("m", ("rules\n", index, '<agent id="writer">\n'), (tool,), "f" * 64)
    earlier = stored_replies([])
    for path in (tmp_path / "1.jsonl", tmp_path / "2.jsonl"):
        clock = FixedClock("2026-11-29T09:30:00+01:00")
        one = Conversation(path, ask, prefix, agent="writer", turns=5, clock=clock, stored=earlier)
        talk(one, TASK)
        talk(one, user(ToolResult("c1", "projects/käse.md, lines 1-2 of 2\nit fires\n" * 9)))
        talk(one, user(Text("and?")))
        found = responses(read_transcript(path))
        assert one.spent.responses == found
        assert len(found) == (0 if earlier else 4)
        earlier = stored_replies([path])
    assert spent_on(found) == Spent()


def test_one_call_without_a_known_price_makes_the_sum_unknown(tmp_path: Path) -> None:
    async def ask(request: ModelRequest, on_lost: OnLost) -> ModelReply:
        return ModelReply((Text("well"),), "end_turn", Usage(input=1), "m", 1.0 if len(request.messages) > 1 else None)

    one = Conversation(tmp_path / "t.jsonl", ask, PREFIX, agent="researcher", turns=5)
    talk(one, TASK)
    talk(one, user(Text("and?")))
    assert one.spent == spent_on(responses(read_transcript(tmp_path / "t.jsonl"))) == Spent(Usage(input=2), None)


def test_a_refusal_ends_a_conversation_and_is_not_used_again(tmp_path: Path) -> None:
    model = ScriptedModel([{"reply": [{"text": "I won't."}], "stop_reason": "refusal"}])
    one = conversation(tmp_path / "1.jsonl", model)
    talk(one, TASK)
    assert one.refusal == "I won't."
    with pytest.raises(RequestRefused, match="the model refused"):
        talk(one, user(Text("Please!")))
    assert len(model.requests) == 1
    assert stored_replies([tmp_path / "1.jsonl"]) == {}


def test_half_a_character_is_mended_before_it_is_stored_or_sent(tmp_path: Path) -> None:
    half = "\ud83d"
    asked: list[ModelRequest] = []

    async def ask(request: ModelRequest, on_lost: OnLost) -> ModelReply:
        asked.append(request)
        return ModelReply((Text(half), ToolUse("c1", "search", {half: [half]})), "tool_use", Usage(), "m")

    one = Conversation(tmp_path / "t.jsonl", ask, PREFIX, agent="researcher", turns=5)
    reply = talk(one, user(Text(f"a {half}")))
    talk(one, user(ToolResult("c1", f"b {half}")))
    assert reply.content == (Text("\ufffd"), ToolUse("c1", "search", {"\ufffd": ["\ufffd"]}))
    assert [m.content for m in asked[1].messages if m.role == "user"] == [
        (Text("a \ufffd"),),
        (ToolResult("c1", "b \ufffd"),),
    ]
    (tmp_path / "t.jsonl").read_bytes().decode()


def test_calls_get_ids_that_every_server_takes_back(tmp_path: Path) -> None:
    """Servers of one's own count anew in each reply, leave ids empty, or give some that they refuse themselves."""

    async def ask(request: ModelRequest, on_lost: OnLost) -> ModelReply:
        uses = (ToolUse(id_, "search", {"query": "x"}) for id_ in ("call", "call", "", "a b/ü", "z" * 999))
        return ModelReply(tuple(uses), "tool_use", Usage(), "m")

    one = Conversation(tmp_path / "t.jsonl", ask, PREFIX, agent="researcher", turns=5)
    first = talk(one, TASK)
    ids = [use.id for reply in (first, talk(one, result(first))) for use in reply.message.tool_uses]
    assert ids[:5] == ["call", "call_2", "call_3", "a_b__", "z" * 200]
    assert len(set(ids)) == 10 and all(id_.replace("_", "a").isalnum() and id_.isascii() for id_ in ids)


def test_another_prefix_and_one_call_too_many_are_refused(tmp_path: Path) -> None:
    one = conversation(tmp_path / "t.jsonl", turns=1)
    with pytest.raises(RequestRefused, match="prefix"):
        talk(one, TASK, sha="0" * 64)
    first = talk(one, TASK)
    with pytest.raises(RequestRefused, match="limit of 1"):
        talk(one, result(first))


def test_words_may_come_beside_the_results() -> None:
    asked = assistant(ToolUse("c1", "search", {"query": "x"}))
    assert not_an_extension((TASK, asked), (user(ToolResult("c1", "a"), Text("go on")),)) is None
    assert not_an_extension((TASK, assistant(Text("hm"))), (user(Text("go on")),)) is None


def test_a_later_attempt_uses_stored_replies_again_as_long_as_it_asks_the_same(tmp_path: Path) -> None:
    first = conversation(tmp_path / "1.jsonl")
    talk(first, TASK)
    stored = stored_replies([tmp_path / "1.jsonl"])
    model = ScriptedModel(SCRIPT)
    second = conversation(tmp_path / "2.jsonl", model, stored=stored)
    reply = talk(second, TASK)
    assert (model.requests, second.spent, second.reused) == ([], Spent(), 1)
    talk(second, result(reply))
    assert len(model.requests) == 1
    assert spent_on(responses(read_transcript(tmp_path / "2.jsonl"))) == Spent(Usage(input=9, output=1))
    other = ScriptedModel(SCRIPT)
    talk(conversation(tmp_path / "3.jsonl", other, stored=stored), user(Text("# Task\n\nSomething else?")))
    assert len(other.requests) == 1


def test_torn_and_foreign_lines_of_a_transcript_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    talk(conversation(path), TASK)
    whole = stored_replies([path])
    path.write_bytes(b"\xff\xfe\n[]\n" + path.read_bytes() + b'{"v": 1, "kind": "reply", "requ')
    assert stored_replies([path]) == whole
    assert stored_replies([tmp_path / "none.jsonl"]) == {}


@pytest.mark.parametrize("left", [b"", b'{"v":', b'{"v": 1}{"v": 1}', b'{"v": 1}{"v": 1}\n{"v": 1}\n'])
def test_a_damaged_transcript_is_not_whole(tmp_path: Path, left: bytes) -> None:
    path = tmp_path / "1.jsonl"
    assert not is_whole(path)
    talk(conversation(path), TASK)
    assert is_whole(path)
    path.write_bytes(path.read_bytes() + b'{"v": 1, "kind": "rep')
    assert is_whole(path), "a last line that a crash cut short"
    path.write_bytes(left)
    assert not is_whole(path)


def test_what_was_shown_is_told_by_the_transcript(tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl"
    one = conversation(path)
    talk(one, TASK)
    one.note_tool("search", {"query": "x"}, "something", ["projects/kiln.md", "inputs/a.md"])
    assert traces_in(path).shown == ("inputs/a.md", "projects/kiln.md")


def test_what_was_found_is_told_again_at_the_same_point_of_the_conversation_only(tmp_path: Path) -> None:
    """A task that goes on is told what it was told before, whatever memory has become: so nothing is paid twice."""
    path = tmp_path / "1.jsonl"
    one = conversation(path)
    first = talk(one, TASK)
    asked = one.last
    one.note_tool("search", {"query": "x", "limit": 3}, "something", ["inputs/a.md"])
    one.note_tool("search", {"query": ""}, "search: query must be a text", [], is_error=True)
    talk(one, result(first))
    one.note_tool("search", {"query": "x", "limit": 3}, "something else", [])
    found = stored([path]).found
    assert found == {
        (asked, asked_for({"limit": 3, "query": "x"})): ("something", ("inputs/a.md",)),
        (one.last, asked_for({"query": "x", "limit": 3})): ("something else", ()),
    }
    one.begin_afresh("its files are gone")
    assert stored([path]).found == {}
