"""What is sent: at most four marks, nothing that the API refuses, whatever stands in the conversation."""

import json

from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.gateway.marks import marks
from onepen.orchestrator.gateway.request import body
from onepen.subagents.messages import Block, Message, Opaque, Text, ToolResult, ToolUse, assistant, user
from onepen.subagents.model import ToolSpec

from .conftest import MakeCalls, request

WRITE = ToolSpec("write_draft", "Writes a draft.", {"type": "object", "properties": {"text": {"type": "string"}}})
THOUGHT = Opaque({"type": "thinking", "thinking": "hm", "signature": "c2ln"})

blocks: st.SearchStrategy[Block] = st.one_of(
    st.builds(Text, st.sampled_from(["", " \n", "words", "\ud83d", "👩‍👩‍👧"])),
    st.just(THOUGHT),
    st.builds(
        ToolUse, st.just("call_1"), st.just("write_draft"), st.sampled_from([{}, [], "{half", {"text": "\ud83d"}])
    ),
    st.builds(ToolResult, st.just("call_1"), st.text(max_size=3)),
)
messages = st.lists(
    st.builds(Message, st.sampled_from(["user", "assistant"]), st.lists(blocks, max_size=4).map(tuple)), max_size=8
)


@given(messages, st.lists(st.sampled_from(["rules\n", " \n", "index\n"]), max_size=7))
def test_any_conversation_has_at_most_four_marks_and_can_be_sent(said: list[Message], system: list[str]) -> None:
    sent = body(request(*said, system=tuple(system)), "claude-sonnet-5-5")
    raw = json.dumps(sent, ensure_ascii=False).encode()
    assert raw.count(b'"cache_control"') <= 4
    assert sent["messages"]
    every = [block for message in sent["messages"] for block in message["content"]]
    assert all(block["text"].strip() for block in every if block["type"] == "text")
    assert all(isinstance(block["input"], dict) for block in every if block["type"] == "tool_use")


def test_marks_stand_at_the_last_three_layers_and_at_the_end_of_the_conversation() -> None:
    placed = marks(5, [user(Text("a")), assistant(Text("b"), THOUGHT)])
    assert placed.system == {2, 3, 4} and placed.messages == {(1, 0)}  # a thought can't carry one
    assert marks(0, [user(Text("a"), Text("b"))]).messages == {(0, 1)}


def test_earlier_bytes_stay_as_they_are_when_a_conversation_goes_on() -> None:
    first = body(request(user(Text("one"))), "m")
    second = body(request(user(Text("one")), assistant(Text("two")), user(Text("three"))), "m")
    assert second["system"] == first["system"]
    unmarked = [{k: v for k, v in block.items() if k != "cache_control"} for block in first["messages"][0]["content"]]
    assert second["messages"][0]["content"] == unmarked


def test_twelve_rounds_of_two_tools_are_taken_by_the_api(calls: MakeCalls) -> None:
    """Field case 36: four layers, and a mark that moves with the conversation."""
    said: list[Message] = [user(Text("Write."))]
    wanted = []
    for k in range(12):
        uses = tuple(ToolUse(f"call_{k}_{n}", "write_draft", {"text": "x"}) for n in (1, 2))
        wanted.append(request(*said, system=("a\n", "b\n", "c\n", "d\n"), tools=(WRITE,)))
        said += [assistant(Text("so"), *uses), user(*(ToolResult(use.id, "written") for use in uses))]
    call = calls([{"reply": "on"}])
    assert len(call(*wanted)) == 12
    assert all(seen.raw.count(b'"cache_control"') == 4 for seen in call.api.asked)


def test_half_characters_and_empty_blocks_never_reach_the_api(calls: MakeCalls) -> None:
    """Field case 58, and a refusal without words that stands in the history."""
    call = calls([{"reply": "yes"}])
    said = (
        user(Text("cut \ud83d"), Text("")),
        assistant(),
        user(Text("go on"), Text(" ")),
        assistant(ToolUse("call_1", "write_draft", {"text": "\ud83d", "\ude00": 1})),
        user(ToolResult("call_1", "got \ude00")),
    )
    call(request(*said, tools=(WRITE,)))
    sent = call.api.asked[0].body["messages"]
    assert sent[0]["content"][0]["text"] == "cut \ufffd"
    assert sent[2]["content"][0]["input"] == {"text": "\ufffd", "\ufffd": 1}
    assert [message["role"] for message in sent] == ["user", "user", "assistant", "user"]


def test_thoughts_go_back_as_they_came(calls: MakeCalls) -> None:
    call = calls([{"turn": 1, "reply": [{"thinking": "hm"}, {"text": "so"}]}, {"reply": "on"}])
    [first] = call()
    [second] = call(request(user(Text("Say hello.")), first.message, user(Text("On."))))
    assert isinstance(first.content[0], Opaque) and second.content == (Text("on"),)
    assert call.api.asked[1].body["messages"][1]["content"][0] == first.content[0].raw


def test_a_tool_that_has_to_be_called_is_named(calls: MakeCalls) -> None:
    call = calls([{"forced": "write_draft", "reply": [{"tool": "write_draft", "input": {"text": "x"}}]}])
    [reply] = call(request(tools=(WRITE,), tool_choice="write_draft"))
    assert reply.stop_reason == "tool_use" and not call.notices
