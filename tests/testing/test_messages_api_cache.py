"""The double's cache: what is read, what is written, what is neither; and when."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import anthropic
import pytest

from onepen.testing.messages_api import MessagesApi
from onepen.testing.messages_api.bound import bound, paid
from onepen.testing.messages_api.caching import Cache
from onepen.testing.messages_api.prompt import positions

MARK: Any = {"cache_control": {"type": "ephemeral"}}
LAYERS = [{"type": "text", "text": "rule " * 2000, **MARK}, {"type": "text", "text": "index " * 2000, **MARK}]
SLOWLY: dict[str, object] = {"nth": 1, "reply": "x", "delay": 0.3}
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


def use(cache: Cache, body: dict[str, Any], now: float) -> tuple[int, int, int]:
    """Tokens that are neither, written, and read of a request whose reply begins at once."""
    taken = cache.ask(body, now)
    cache.begin(taken, now)
    return taken.plain, taken.written, taken.read


def test_what_was_written_is_read_and_every_token_is_counted_once() -> None:
    cache = Cache()
    first = use(cache, said("a" * 9000, system=LAYERS), 0.0)
    assert first[0] == 0
    assert first[2] == 0
    plain, written, read = use(cache, said("a" * 9000, "b", "c", system=LAYERS), 1.0)
    assert read == first[1]
    assert (plain, plain + written + read) == (0, positions(said("a" * 9000, "b", "c", system=LAYERS))[-1].tokens)


def test_a_changed_layer_keeps_the_layers_before_it() -> None:
    cache = Cache()
    use(cache, said("hi", system=LAYERS), 0.0)
    changed = [LAYERS[0], {**LAYERS[1], "text": "other " * 2000}]
    _, written, read = use(cache, said("hi", system=changed), 1.0)
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
    use(cache, said("hi", system=LAYERS), 0.0)
    assert use(cache, {**said("hi", system=LAYERS), **change}, 1.0)[2] == 0


def test_the_choice_of_a_tool_belongs_to_the_messages() -> None:
    cache = Cache()
    use(cache, said("hi" * 9000, system=LAYERS), 0.0)
    _, _, read = use(cache, said("hi" * 9000, system=LAYERS, tool_choice={"type": "any"}), 1.0)
    assert read == positions({"model": "m", "system": LAYERS, "messages": []})[-1].tokens


def test_without_a_mark_nothing_is_written() -> None:
    cache = Cache()
    plain, written, read = use(cache, said("x" * 9000, mark=None), 0.0)
    assert (written, read) == (0, 0)
    assert plain > 2000
    assert cache.entries == {}


def test_what_is_too_short_is_not_cached() -> None:
    cache = Cache()
    assert use(cache, said("hi"), 0.0)[1:] == (0, 0)
    assert use(cache, said("hi"), 1.0)[1:] == (0, 0)


def test_an_entry_lives_from_its_last_use_on() -> None:
    cache = Cache(least=0)
    for at, hit in ((0.0, False), (299.0, True), (598.0, True), (898.1, False)):
        assert (use(cache, said("hi"), at)[2] > 0) is hit
    hour = said(
        "hi", mark=None, system=[{"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]
    )
    use(cache, hour, 0.0)
    assert use(cache, hour, 3599.0)[2] > 0


def test_an_entry_lives_on_when_a_longer_request_reads_it() -> None:
    cache = Cache(least=0)
    use(cache, said("hi"), 0.0)
    assert use(cache, said("hi", "a", "b"), 299.0)[2] > 0
    assert use(cache, said("hi", "c", "d"), 598.0)[2] > 0


def test_a_layer_lives_on_while_longer_prompts_are_read() -> None:
    cache = Cache()
    for at in (0.0, 200.0, 400.0):
        use(cache, said("hi" * 9000, system=LAYERS), at)
    changed = [LAYERS[0], {**LAYERS[1], "text": "other " * 2000}]
    assert use(cache, said("hi", system=changed), 600.0)[2] > 0


def long(n: int) -> list[str]:
    return [f"message {k}" for k in range(n)]


@pytest.mark.parametrize(("further", "hit"), [(19, True), (20, False)])
def test_a_mark_looks_back_twenty_positions(further: int, hit: bool) -> None:
    """Itself is the first of them."""
    cache = Cache(least=0)
    use(cache, said(*long(3)), 0.0)
    assert (use(cache, said(*long(3 + further)), 1.0)[2] > 0) is hit


def test_calls_and_results_that_follow_each_other_are_one_position() -> None:
    calls = [{"type": "tool_use", "id": str(k), "name": "a", "input": {}} for k in range(15)]
    results: list[dict[str, Any]] = [{"type": "tool_result", "tool_use_id": str(k), "content": "b"} for k in range(15)]
    begun = said("hi")
    cache = Cache(least=0)
    use(cache, begun, 0.0)
    results[-1].update(MARK)
    loop = [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    body = {"model": "m", "messages": [*begun["messages"], *loop]}
    assert [place.step for place in positions(body)] == [0, *[1] * 15, *[2] * 15]
    assert use(cache, body, 1.0)[2] > 0


def test_a_mark_for_the_whole_request_stands_at_its_last_block_that_can_carry_one() -> None:
    cache = Cache(least=0)
    use(cache, said("hi", mark=None, **MARK), 0.0)
    assert use(cache, said("hi", "there", "you", mark=None, **MARK), 1.0)[2] > 0
    thought = said("hi", mark=None, **MARK)
    thought["messages"].append({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]})
    assert [place.ttl for place in positions(thought)] == ["5m", None]


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({"tool_choice": {"type": "any"}}, "system"),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "system"),
        ({"output_config": {"effort": "low"}}, "system"),
        ({"output_config": {"format": {"type": "json_schema", "schema": {}}}}, "tools"),
        ({"speed": "fast"}, "tools"),
        ({"model": "n"}, "nothing"),
    ],
)
def test_what_a_part_depends_on_besides_its_blocks(change: dict[str, Any], kept: str) -> None:
    tools = [{"name": "a", "description": "tool " * 2000, **MARK}]
    cache = Cache()
    use(cache, said("hi" * 9000, tools=tools, system=LAYERS), 0.0)
    _, _, read = use(cache, said("hi" * 9000, tools=tools, system=LAYERS, **change), 1.0)
    parts: dict[str, Any] = {"model": "m", "messages": [], "tools": tools}
    ends = {"nothing": 0, "tools": positions(parts)[-1].tokens}
    ends["system"] = positions({**parts, "system": LAYERS})[-1].tokens
    assert read == ends[kept]


def test_an_image_anywhere_belongs_to_all_messages() -> None:
    cache = Cache(least=0)
    use(cache, said("hi", system=LAYERS), 0.0)
    pictured = said("hi", "there", "look", system=LAYERS)
    assert use(cache, pictured, 1.0)[2] > positions({"model": "m", "system": LAYERS, "messages": []})[-1].tokens
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x"}}
    pictured["messages"][2]["content"].append(
        {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "so"}, image]}
    )
    assert use(cache, pictured, 2.0)[2] == positions({"model": "m", "system": LAYERS, "messages": []})[-1].tokens


def test_a_mark_within_a_result_is_the_results_and_changes_no_hash() -> None:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "x"}]}
    plain = {"model": "m", "messages": [{"role": "user", "content": [result]}]}
    marked_result = {**result, "content": [{**result["content"][0], **HOUR}]}
    marked = {"model": "m", "messages": [{"role": "user", "content": [marked_result]}]}
    assert [(p.sha, p.ttl) for p in positions(marked)] == [(positions(plain)[0].sha, "1h")]


def test_requests_that_come_together_read_nothing_of_each_other() -> None:
    cache = Cache(least=0)
    first, second = (cache.ask(said("hi", system=LAYERS), 0.0) for _ in range(2))
    assert (first.read, second.read) == (0, 0) and first.written == second.written
    cache.begin(first, 5.0)
    assert cache.ask(said("hi", system=LAYERS), 5.0).read == first.written
    assert cache.ask(said("hi", system=LAYERS), 304.9).read, "it lives from the moment on at which the reply began"


def test_what_is_kept_for_an_hour_is_counted_apart() -> None:
    layers = [{**LAYERS[0], **HOUR}, LAYERS[1]]
    taken = Cache().ask(said("hi", system=layers), 0.0)
    assert taken.written_1h == positions({"model": "m", "system": layers[:1], "messages": []})[-1].tokens
    assert taken.written > taken.written_1h > 0


@pytest.mark.parametrize(
    ("least", "model", "tokens"),
    [
        (True, "claude-opus-5", 512),
        (True, "claude-opus-5-5", 1024),
        (True, "claude-haiku-4-5", 4096),
        (True, "claude-nobody", 1024),
        (700, "claude-opus-5", 700),
        ({"claude-opus-5": 64}, "claude-opus-5", 64),
        ({"claude-opus-5": 64}, "claude-haiku-4-5", 4096),
    ],
)
def test_the_least_length_differs_by_model(least: Any, model: str, tokens: int) -> None:
    for length, cached in ((tokens - 60, False), (tokens + 60, True)):
        taken = Cache(least).ask({**said("x" * 4 * length), "model": model}, 0.0)
        assert (taken.written > 0) is cached


def test_the_servers_cache_lives_by_the_clock_that_it_is_given() -> None:
    """And what is cut after it began was written all the same; what is refused was not."""
    now = [0.0]
    layers = [{**LAYERS[0], **HOUR}, LAYERS[1]]
    body: Any = {**said("hi", system=layers), "model": "claude-sonnet-5-5", "max_tokens": 9}
    rules: list[dict[str, Any]] = [
        {"nth": 1, "fault": 529},
        {"nth": 2, "reply": "x", "fault": {"kind": "cut", "at": "start"}},
        {"reply": "x"},
    ]
    with (
        MessagesApi(rules, cache=True, clock=lambda: now[0]) as api,
        anthropic.Anthropic(base_url=api.url, api_key="x", max_retries=0) as client,
    ):

        def usage(at: float) -> tuple[int | None, int | None, int | None]:
            now[0] = at
            with client.messages.stream(**body) as stream:
                found = stream.get_final_message().usage
            split = found.cache_creation
            return (
                found.cache_read_input_tokens,
                found.cache_creation_input_tokens,
                (split.ephemeral_1h_input_tokens if split else None),
            )

        with pytest.raises(anthropic.APIStatusError):
            usage(0.0)
        read, written, hour = usage(0.0)
        assert read == 0 and written and hour
        assert usage(299.0) == (written, 0, 0)
        assert usage(299.0 + 301) == (hour, written - hour, 0)


def test_replies_that_have_not_begun_are_no_help_to_others() -> None:
    body: Any = {**said("hi", system=LAYERS), "model": "claude-sonnet-5-5", "max_tokens": 9}
    with (
        MessagesApi([SLOWLY, {"reply": "x"}], cache=True) as api,
        anthropic.Anthropic(base_url=api.url, api_key="x", max_retries=0) as client,
        ThreadPoolExecutor() as pool,
    ):
        slow = pool.submit(lambda: client.messages.create(**body))
        api.wait_for(1)
        together = client.messages.create(**body).usage
        assert slow.result().usage.cache_read_input_tokens == together.cache_read_input_tokens == 0
        assert client.messages.create(**body).usage.cache_read_input_tokens == together.cache_creation_input_tokens


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


def test_the_least_that_prompts_can_cost() -> None:
    first, second = said("a" * 4000, system=LAYERS), said("b" * 4000, system=LAYERS)
    layers, whole = positions({"model": "m", "system": LAYERS, "messages": []})[-1].tokens, positions(first)[-1].tokens
    assert bound([first]) == 1.25 * whole
    assert bound([first, second]) == pytest.approx(1.25 * (2 * whole - layers) + 0.1 * layers)
    cache = Cache()
    assert sum(paid(*use(cache, body, 0.0)) for body in (first, second)) == pytest.approx(bound([first, second]))
