"""The cache of the double against the plain words of the API's documentation, for any requests at any times.

The oracle keeps prefixes as they are, where the cache keeps hashes, and looks at every entry for each request.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from onepen.testing.messages_api.caching import LIVES, LOOK_BACK, Cache, Taken
from onepen.testing.messages_api.prompt import positions
from onepen.testing.messages_api.reply import estimate

Blocks = tuple[str, ...]


@dataclass
class Oracle:
    """Prefixes, each with the life that it was written with and the moment of its last use."""

    least: int
    kept: dict[Blocks, tuple[str, float]] = field(default_factory=dict)

    def lives(self, prefix: Blocks, now: float) -> bool:
        return prefix in self.kept and now < self.kept[prefix][1] + LIVES[self.kept[prefix][0]]

    def read(self, body: dict[str, Any], now: float) -> int:
        """Tokens of the longest prefix that some mark of the request reaches."""
        blocks = laid_out(body)
        best = 0
        for mark, _ in self.marks(body):
            steps: list[int] = []
            for k in range(mark, 0, -1):
                steps += [] if k < mark and same_run(blocks[k - 1], blocks[k]) else [k]
                if len(steps) > LOOK_BACK:
                    break
                if self.lives(texts(blocks[:k]), now):
                    best = max(best, k)
                    break
        for k in {best, *(mark for mark, _ in self.marks(body))}:
            if 0 < k <= best and self.lives(prefix := texts(blocks[:k]), now):
                self.kept[prefix] = (self.kept[prefix][0], now)
        return size(blocks[:best])

    def write(self, body: dict[str, Any], now: float) -> None:
        for mark, life in self.marks(body):
            prefix = texts(laid_out(body)[:mark])
            self.kept[prefix] = (self.kept[prefix][0] if self.lives(prefix, now) else life, now)

    def marks(self, body: dict[str, Any]) -> list[tuple[int, str]]:
        """How many blocks come up to each mark, with its life."""
        blocks = laid_out(body)
        return [
            (k, block["cache_control"]["ttl"])
            for k, (_, block) in enumerate(blocks, start=1)
            if "cache_control" in block and size(blocks[:k]) >= self.least
        ]


def laid_out(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    system = [("system", block) for block in body["system"]]
    return system + [(m["role"], block) for m in body["messages"] for block in m["content"]]


def texts(blocks: list[tuple[str, dict[str, Any]]]) -> Blocks:
    return tuple(json.dumps((role, bare(block))) for role, block in blocks)


def size(blocks: list[tuple[str, dict[str, Any]]]) -> int:
    return sum(estimate(bare(block)) for _, block in blocks)


def bare(block: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if name != "cache_control"}


def same_run(one: tuple[str, dict[str, Any]], other: tuple[str, dict[str, Any]]) -> bool:
    return (one[0], one[1]["type"]) == (other[0], other[1]["type"]) and one[1]["type"] in ("tool_use", "tool_result")


KINDS: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": "words"},
    "call": {"type": "tool_use", "id": "1", "name": "a", "input": {}},
    "result": {"type": "tool_result", "tool_use_id": "1", "content": "found"},
}
# Conversations that begin alike, so that they meet in the cache: a long one of each shape, cut anywhere.
TALKS = (
    [("user", "text"), *[("assistant", "call"), ("user", "result")] * 30],
    [("user", "text"), *[("assistant", "call")] * 15, *[("user", "result")] * 15, *[("assistant", "text")] * 30],
    [(("user", "assistant")[k % 2], "text") for k in range(60)],
)


def request(shape: int, length: int, layers: int, places: Iterable[int], hours: int) -> dict[str, Any]:
    """A request with marks at those of the places that it has, at most four; the first `hours` are of an hour."""
    system = [{"type": "text", "text": f"layer {k}"} for k in range(layers)]
    messages = [
        {"role": role, "content": [{**KINDS[kind], "n": n}]} for n, (role, kind) in enumerate(TALKS[shape][:length])
    ]
    blocks: list[dict[str, Any]] = [*system, *(m["content"][0] for m in messages)]  # type: ignore[list-item]
    for k, place in enumerate([place for place in sorted(places) if place < len(blocks)][-4:]):
        blocks[place]["cache_control"] = {"type": "ephemeral", "ttl": "1h" if k < hours else "5m"}
    return {"model": "m", "system": system, "messages": messages}


@st.composite
def talks(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Requests of one conversation, so that what one writes another may find: their marks stand at few places."""
    shape, layers = draw(st.integers(0, len(TALKS) - 1)), draw(st.integers(0, 3))
    lengths = draw(st.lists(st.integers(1, 60), min_size=1, max_size=3))
    places = st.sampled_from(draw(st.lists(st.integers(0, 62), min_size=1, max_size=4, unique=True)))
    one = st.builds(
        request,
        st.just(shape),
        st.sampled_from(lengths),
        st.just(layers),
        st.sets(places, max_size=4),
        st.sampled_from([0, 0, 1, 2]),
    )
    return draw(st.lists(one, min_size=1, max_size=8))


requests = st.builds(
    request,
    st.integers(0, len(TALKS) - 1),
    st.integers(1, 60),
    st.integers(0, 3),
    st.sets(st.integers(0, 62), max_size=4),
    st.integers(0, 4),
)
whens = st.lists(st.sampled_from([0.0, 1.0, 100.0, 299.9, 300.0, 3599.0, 3700.0]), min_size=8, max_size=8)
at_onces = st.lists(st.sampled_from([True, True, True, False]), min_size=8, max_size=8)


@settings(max_examples=200)
@given(talks(), whens, at_onces, st.sampled_from([0, 0, 40]))
def test_any_requests_at_any_times_are_counted_as_the_documentation_says(
    asked: list[dict[str, Any]], waits: list[float], at_onces: list[bool], least: int
) -> None:
    """Some replies begin at once, the others after all that follow."""
    cache, oracle, now = Cache(least), Oracle(least), 0.0
    late: list[tuple[dict[str, Any], Taken]] = []
    for body, wait, at_once in zip(asked, waits, at_onces, strict=False):
        now += wait
        taken = cache.ask(body, now)
        last = max((size(laid_out(body)[:mark]) for mark, _ in oracle.marks(body)), default=0)
        hour = max((size(laid_out(body)[:mark]) for mark, life in oracle.marks(body) if life == "1h"), default=0)
        read = oracle.read(body, now)
        assert taken.read == read
        assert (taken.written, taken.written_1h) == (max(0, last - read), max(0, hour - read))
        assert taken.plain + taken.written + taken.read == size(laid_out(body)), "each token is counted once"
        if at_once:
            cache.begin(taken, now)
            oracle.write(body, now)
        else:
            late.append((body, taken))
    for body, taken in late:
        cache.begin(taken, now)
        oracle.write(body, now)
        again = cache.ask(body, now)
        assert again.read == oracle.read(body, now)


@given(requests, requests)
def test_marks_are_no_part_of_a_prompt(one: dict[str, Any], other: dict[str, Any]) -> None:
    """What stands at the same place is the same to the cache, wherever marks stand."""
    common = 0
    for left, right in zip(laid_out(one), laid_out(other), strict=False):
        if (left[0], bare(left[1])) != (right[0], bare(right[1])):
            break
        common += 1
    assert [p.sha for p in positions(one)[:common]] == [p.sha for p in positions(other)[:common]]
    assert not {p.sha for p in positions(one)[common:]} & {p.sha for p in positions(other)[common:]}


@given(st.integers(1, 29), st.integers(1, 29))
def test_a_loop_whose_mark_stands_at_the_end_reads_all_that_it_wrote(rounds: int, more: int) -> None:
    """As long as a turn adds less than twenty steps; one step further, all is lost (field case 38)."""
    cache = Cache(least=0)

    def looped(count: int) -> dict[str, Any]:
        talk = TALKS[0][: 2 * count + 1]
        messages: list[dict[str, Any]] = [
            {"role": r, "content": [{**KINDS[k], "n": n}]} for n, (r, k) in enumerate(talk)
        ]
        messages[-1]["content"][0]["cache_control"] = {"type": "ephemeral", "ttl": "5m"}
        return {"model": "m", "system": [], "messages": messages}

    first = cache.ask(looped(rounds), 0.0)
    cache.begin(first, 0.0)
    longer = min(rounds + more, 30)
    found = cache.ask(looped(longer), 1.0).read
    assert found == (first.written if 2 * (longer - rounds) < LOOK_BACK else 0)
