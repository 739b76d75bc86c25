"""Sharing requests out among Message Batches, and how often one is asked for."""

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.gateway.messagebatches import AROUND, size_of
from onepen.orchestrator.outbox.pace import Poll
from onepen.orchestrator.outbox.parts import Limits, halves, parts


def body(sizes: list[int]) -> int:
    """The bytes of a batch of requests of these sizes, as JSON has them."""
    return len(json.dumps({"requests": ["x" * (size - 2) for size in sizes]}, separators=(",", ":")))


@given(st.lists(st.integers(2, 50), max_size=60), st.integers(1, 10), st.integers(AROUND + 50, 300))
def test_parts_hold_all_in_their_order_and_stay_below_both_limits(sizes: list[int], many: int, most: int) -> None:
    limits = Limits(many, most)
    found = parts(sizes, limits)
    assert [k for part in found for k in part] == list(range(len(sizes)))
    for part in found:
        assert 1 <= len(part) <= many and body([sizes[k] for k in part]) <= most
    for one, following in pairwise(found):
        fuller = [sizes[k] for k in (*one, following.start)]
        assert len(fuller) > many or body(fuller) > most, "each is as full as it may be"


def test_what_can_be_sent_alone_fits() -> None:
    limits = Limits(bytes=100)
    assert limits.fits(100 - AROUND) and not limits.fits(101 - AROUND)
    assert parts([100 - AROUND] * 2, limits) == (range(1), range(1, 2))
    assert parts([], limits) == ()


@given(st.integers(0, 9), st.integers(2, 99))
def test_halves_are_the_whole(start: int, many: int) -> None:
    one, other = halves(range(start, start + many))
    assert [*one, *other] == list(range(start, start + many)) and 0 <= len(one) - len(other) <= 1


@given(st.text(st.characters(codec="utf-8")))
def test_a_size_is_that_of_compact_utf_8(text: str) -> None:
    entry = {"custom_id": "a", "params": {"text": text}}
    assert size_of(entry) == len(json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode())


def test_waits_grow_to_a_minute() -> None:
    poll, waits = Poll(), [Poll().first]
    while waits[-1] < poll.longest:
        waits.append(poll.after(waits[-1]))
    assert waits == sorted(waits) and (waits[0], waits[-1], poll.after(60.0)) == (5.0, 60.0, 60.0)
