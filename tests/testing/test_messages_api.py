"""The double of the Messages API, asked by the real client."""

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from onepen.testing.messages_api import MessagesApi

MODEL = "claude-sonnet-5-5"


def client(api: MessagesApi, **options: Any) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=api.url, api_key="sk-test", max_retries=0, timeout=10, **options)


def ask(asks: anthropic.Anthropic, text: str = "hello", **options: Any) -> anthropic.types.Message:
    wanted: dict[str, Any] = {
        "model": MODEL, "max_tokens": 100, "messages": [{"role": "user", "content": text}], **options
    }  # fmt: skip
    message: anthropic.types.Message = asks.messages.create(**wanted)
    return message


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with MessagesApi([{"reply": "good day"}]) as server:
        yield server


def test_a_reply_comes_as_a_whole(api: MessagesApi) -> None:
    with client(api) as asks:
        message = ask(asks)
    assert [block.to_dict() for block in message.content] == [{"type": "text", "text": "good day"}]
    assert (message.stop_reason, message.model) == ("end_turn", MODEL)
    assert api.requests[0].body["messages"] == [{"role": "user", "content": "hello"}]
