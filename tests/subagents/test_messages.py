from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.tokens import estimate
from onepen.subagents.messages import (
    BadMessage,
    Block,
    Message,
    Text,
    ToolResult,
    ToolUse,
    assistant,
    mend,
    message_dict,
    parse_blocks,
    parse_message,
    user,
    well_formed,
)

words = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
blocks: st.SearchStrategy[Block] = (
    st.builds(Text, words)
    | st.builds(ToolUse, words, words, values)
    | st.builds(ToolResult, words, words, st.booleans())
)
messages = st.builds(Message, st.sampled_from(["user", "assistant"]), st.lists(blocks, max_size=4).map(tuple))


@given(messages)
def test_a_message_reads_back_as_it_was(message: Message) -> None:
    assert parse_message(message_dict(message)) == message


@pytest.mark.parametrize("given_input", [[], "glaze", None, 3, {"a": [{}]}])
def test_a_tool_use_keeps_whatever_the_model_gave(given_input: object) -> None:
    (block,) = parse_blocks([{"type": "tool_use", "id": "a", "name": "search", "input": given_input}])
    assert block == ToolUse("a", "search", given_input)


def test_a_plain_text_is_a_message() -> None:
    assert parse_message({"role": "user", "content": "hello"}) == user(Text("hello"))


def test_fields_of_later_versions_are_left_out() -> None:
    plain = {"role": "assistant", "content": [{"type": "text", "text": "a", "citations": None}], "id": "m1"}
    assert parse_message(plain) == assistant(Text("a"))


@pytest.mark.parametrize(
    ("plain", "told"),
    [
        ({"role": "system", "content": []}, "role"),
        ({"role": "user"}, "content"),
        ({"role": "user", "content": [{"type": "image"}]}, "image"),
        ({"role": "user", "content": [{"type": "text", "text": 3}]}, "content.0.text.text"),
    ],
)
def test_what_is_no_message_is_named(plain: dict[str, object], told: str) -> None:
    with pytest.raises(BadMessage, match=told):
        parse_message(plain)


@pytest.mark.parametrize(
    ("text", "right"),
    [("\ud83d", "\ufffd"), ("a\ude00b", "a\ufffdb"), ("\ud83d\ude00", "😀"), ("é 😀", "é 😀"), ("", "")],
)
def test_half_characters_are_mended(text: str, right: str) -> None:
    assert well_formed(text) == right
    (block,) = parse_blocks([{"type": "tool_use", "id": "a", "name": "n", "input": {text: [text]}}])
    assert isinstance(block, ToolUse) and block.input == {right: [right]}


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5))
def test_mended_text_can_be_written(value: object) -> None:
    str(mend(value)).encode()


def test_what_a_message_says() -> None:
    message = assistant(Text("a"), ToolUse("1", "search", {}), Text("b"))
    assert message.text == "a\nb"
    assert [use.name for use in message.tool_uses] == ["search"]


@given(st.lists(blocks, max_size=3))
def test_a_message_that_was_weighed_is_the_one_that_it_was(content: list[Block]) -> None:
    message, same = user(*content), user(*content)
    assert message.tokens == estimate(str(message_dict(message)))
    assert message == same and repr(message) == repr(same)
    more = replace(message, content=(*content, Text("and more words")))
    assert more.tokens == estimate(str(message_dict(more))) > message.tokens
