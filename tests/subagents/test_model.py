from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from onepen.subagents.messages import Message, Text, ToolUse, user
from onepen.subagents.model import ModelReply, ModelRequest, Shas, ToolSpec, Usage

REQUEST = ModelRequest(
    model="m",
    system=("a\n", "b\n"),
    tools=(ToolSpec("search", "Find.", {"type": "object", "properties": {"b": {}, "a": {}}}),),
    messages=(user(Text("hello \ud83d")),),
    max_tokens=100,
    agent="researcher",
)


def test_equal_requests_have_one_hash() -> None:
    same = ToolSpec("search", "Find.", {"properties": {"a": {}, "b": {}}, "type": "object"})
    assert replace(REQUEST, tools=(same,)).sha() == REQUEST.sha()
    assert len(REQUEST.sha()) == 64


def test_whatever_a_reply_depends_on_changes_the_hash() -> None:
    changed = [
        replace(REQUEST, model="n"),
        replace(REQUEST, system=("a\nb\n",)),
        replace(REQUEST, tools=()),
        replace(REQUEST, messages=(user(Text("hello")),)),
        replace(REQUEST, messages=(*REQUEST.messages, *REQUEST.messages)),
        replace(REQUEST, max_tokens=101),
        replace(REQUEST, agent="writer"),
    ]
    assert len({REQUEST.sha(), *(request.sha() for request in changed)}) == 8


counts = st.builds(Usage, *[st.integers(0, 10**9)] * 4)


@given(counts, counts)
def test_usage_adds_up(one: Usage, other: Usage) -> None:
    both = one + other
    assert both == other + one
    assert both.prompt_total == one.prompt_total + other.prompt_total
    assert both.output == one.output + other.output
    assert one + Usage() == one


def test_the_prompt_is_what_was_cached_and_what_was_not() -> None:
    assert Usage(input=1, cache_write=10, cache_read=100, output=1000).prompt_total == 111


def test_a_reply_is_a_message_of_the_assistant() -> None:
    reply = ModelReply((Text("a"), ToolUse("1", "search", {})), "tool_use", Usage(), "m")
    assert (reply.message.role, reply.message.content) == ("assistant", reply.content)


MESSAGES = st.lists(
    st.builds(
        Message,
        st.sampled_from(["user", "assistant"]),
        st.lists(st.builds(Text, st.text(st.characters(exclude_categories=["Cs"])))).map(tuple),
    ),
    max_size=4,
)


@given(MESSAGES, st.sampled_from([None, "verdict"]), st.text())
def test_the_sha_of_a_growing_conversation_is_that_of_its_request(
    messages: list[Message], choice: str | None, system: str
) -> None:
    tool = ToolSpec("search", "Find ü.", {"type": "object", "b": 1, "a": [2]})
    request = ModelRequest("m", (system,), (tool,), (), 5, "writer", choice)
    shas = Shas(request)
    for k, message in enumerate(messages, 1):
        shas.add(message)
        assert shas.sha() == replace(request, messages=tuple(messages[:k])).sha()
