"""The double's simple cache: what is read, what is written, what is neither."""

from itertools import pairwise
from typing import Any

import anthropic
import pytest

from onepen.testing.messages_api import MessagesApi
from onepen.testing.messages_api.caching import Cache, positions

MARK: Any = {"cache_control": {"type": "ephemeral"}}
LAYERS = [{"type": "text", "text": "rule " * 2000, **MARK}, {"type": "text", "text": "index " * 2000, **MARK}]
HOUR: Any = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def said(*texts: str, mark: int | None = -1, **more: Any) -> dict[str, Any]:
    """A request whose messages are these texts, user and assistant in turn; a mark at one of them."""
    roles = ("user", "assistant")
    messages: list[dict[str, Any]] = [
        {"role": roles[k % 2], "content": [{"type": "text", "text": text}]} for k, text in enumerate(texts)
    ]
    if mark is not None:
        messages[mark]["content"][0].update(MARK)
    return {"model": "m", "messages": messages, **more}


def test_what_was_written_is_read_and_every_token_is_counted_once() -> None:
    cache = Cache()
    first = cache.use(said("a" * 9000, system=LAYERS), 0.0)
    assert first[0] == 0
    assert first[2] == 0
    plain, written, read = cache.use(said("a" * 9000, "b", "c", system=LAYERS), 1.0)
    assert read == first[1]
    assert (plain, plain + written + read) == (0, positions(said("a" * 9000, "b", "c", system=LAYERS))[-1].tokens)


def test_a_changed_layer_keeps_the_layers_before_it() -> None:
    cache = Cache()
    cache.use(said("hi", system=LAYERS), 0.0)
    changed = [LAYERS[0], {**LAYERS[1], "text": "other " * 2000}]
    _, written, read = cache.use(said("hi", system=changed), 1.0)
    assert read == positions({"model": "m", "system": LAYERS[:1], "messages": []})[-1].tokens
    assert written > 0


@pytest.mark.parametrize(
    "change",
    [
        {"model": "n"},
        {"tools": [{"name": "a"}]},
        {"system": [{"type": "text", "text": "rule " * 2000 + " ", **MARK}, LAYERS[1]]},
    ],
)
def test_what_comes_first_changes_everything(change: dict[str, Any]) -> None:
    cache = Cache()
    cache.use(said("hi", system=LAYERS), 0.0)
    assert cache.use({**said("hi", system=LAYERS), **change}, 1.0)[2] == 0


def test_the_choice_of_a_tool_belongs_to_the_messages() -> None:
    cache = Cache()
    cache.use(said("hi" * 9000, system=LAYERS), 0.0)
    _, _, read = cache.use(said("hi" * 9000, system=LAYERS, tool_choice={"type": "any"}), 1.0)
    assert read == positions({"model": "m", "system": LAYERS, "messages": []})[-1].tokens


def test_without_a_mark_nothing_is_written() -> None:
    cache = Cache()
    plain, written, read = cache.use(said("x" * 9000, mark=None), 0.0)
    assert (written, read) == (0, 0)
    assert plain > 2000
    assert cache.entries == {}


def test_what_is_too_short_is_not_cached() -> None:
    cache = Cache()
    assert cache.use(said("hi"), 0.0)[1:] == (0, 0)
    assert cache.use(said("hi"), 1.0)[1:] == (0, 0)


def test_an_entry_lives_from_its_last_use_on() -> None:
    cache = Cache(least=0)
    for at, hit in ((0.0, False), (299.0, True), (598.0, True), (898.1, False)):
        assert (cache.use(said("hi"), at)[2] > 0) is hit
    hour = said(
        "hi", mark=None, system=[{"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    )
    cache.use(hour, 0.0)
    assert cache.use(hour, 3599.0)[2] > 0


def test_an_entry_lives_on_when_a_longer_request_reads_it() -> None:
    cache = Cache(least=0)
    cache.use(said("hi"), 0.0)
    assert cache.use(said("hi", "a", "b"), 299.0)[2] > 0
    assert cache.use(said("hi", "c", "d"), 598.0)[2] > 0


def long(n: int) -> list[str]:
    return [f"message {k}" for k in range(n)]


@pytest.mark.parametrize(("further", "hit"), [(19, True), (20, False)])
def test_a_mark_looks_back_twenty_positions(further: int, hit: bool) -> None:
    """Itself is the first of them."""
    cache = Cache(least=0)
    cache.use(said(*long(3)), 0.0)
    assert (cache.use(said(*long(3 + further)), 1.0)[2] > 0) is hit


def test_calls_and_results_that_follow_each_other_are_one_position() -> None:
    calls = [{"type": "tool_use", "id": str(k), "name": "a", "input": {}} for k in range(15)]
    results: list[dict[str, Any]] = [{"type": "tool_result", "tool_use_id": str(k), "content": "b"} for k in range(15)]
    begun = said("hi")
    cache = Cache(least=0)
    cache.use(begun, 0.0)
    results[-1].update(MARK)
    loop = [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    body = {"model": "m", "messages": [*begun["messages"], *loop]}
    assert len(positions(body)) == 3
    assert cache.use(body, 1.0)[2] > 0


def test_a_mark_for_the_whole_request_stands_at_its_end() -> None:
    cache = Cache(least=0)
    cache.use(said("hi", mark=None, **MARK), 0.0)
    assert cache.use(said("hi", "there", "you", mark=None, **MARK), 1.0)[2] > 0


def test_the_server_counts_by_its_cache_where_the_rule_says_nothing() -> None:
    """Rounds of one call and its result: nothing is lost, each token is written once."""
    rules = [{"reply": "x"}]
    with (
        MessagesApi(rules, cache=True) as api,
        anthropic.Anthropic(base_url=api.url, api_key="x", max_retries=0) as client,
    ):
        found = []
        for rounds in range(1, 8, 2):
            body = said(*long(rounds), system=LAYERS)
            usage = client.messages.create(**{**body, "model": "claude-sonnet-5-5", "max_tokens": 9}).usage
            found.append((usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0))
    assert found[0][0] == 0
    for (read, written), (read_next, _) in pairwise(found):
        assert read_next == read + written
