"""65 messages in one chat: two renewals, five edits of the index, one by hand, two sub-agents; and what it cost.

What `examples/long_chat` plays is looked at here request by request: the bytes of each layer, what each edit is known
by, and whether the sums are those that the server told.
"""

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from examples.long_chat.day import BREAK_BEFORE, RENEWALS, SAID, Day, tell
from examples.long_chat.model import COUNTERS

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(
    scope="module",
    params=[True, pytest.param(False, marks=pytest.mark.long)],
    ids=["a server with a cache", "one that counts none"],
)
def day(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Day:
    *_, last = tell(tmp_path_factory.mktemp("long"), caches=request.param)
    assert isinstance(last, Day)
    return last


def sent(day: Day) -> list[Mapping[str, Any]]:
    """The bodies of the main agent's requests."""
    bodies = [seen.body for seen in day.requests]
    return [body for body in bodies if "<agent id=" not in json.dumps(body.get("system", ""))]


def layers(body: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(block["text"] for block in body["system"])


def first_with(day: Day, words: str) -> Mapping[str, Any]:
    """The first request that answers this message of the person."""
    return next(body for body in sent(day) if words in json.dumps(body["messages"][-1], ensure_ascii=False))


def test_it_happened(day: Day) -> None:
    assert len(day.exchanges) == len(SAID) == 65
    assert all(exchange.answer.strip() for exchange in day.exchanges)
    calls = [note for exchange in day.exchanges for note in exchange.notes]
    assert sum("write_memory_card" in note and note.startswith("·") for note in calls) == 5
    assert [note.split()[1:3] for note in calls if note.startswith("· delegate")] == [
        ["delegate", "researcher"],
        ["delegate", "writer"],
    ]
    assert "Everything is in order" in day.reports["onepen doctor"]
    assert [seen.status for seen in day.requests if seen.status != 200] == []


def test_the_synthesis_is_renewed_twice_and_the_person_told(day: Day) -> None:
    """After 30 exchanges and after 60; the next message begins with it, and with the last exchanges alone."""
    renewed = [e.number for e in day.exchanges if any("renewed after 30 exchanges" in note for note in e.notes)]
    assert renewed in ([30, 60], [31, 61])
    for number in RENEWALS:
        before, after = (len(first_with(day, SAID[k - 1])["messages"]) for k in (number, number + 1))
        assert after < before / 3


def test_earlier_layers_are_the_same_to_the_byte_until_a_renewal(day: Day) -> None:
    """Rules and persona through all of it; index and synthesis from one renewal to the next, whatever was edited."""
    seen: list[tuple[str, ...]] = []
    for body in sent(day):
        if not seen or layers(body) != seen[-1]:
            seen.append(layers(body))
    assert len(seen) == 1 + len(RENEWALS)
    assert len({found[:2] for found in seen}) == 1, "B and A"
    assert len({found[2] for found in seen}) == len({found[3] for found in seen}) == len(seen), "I and S"
    assert len({json.dumps(body["tools"]) for body in sent(day)}) == 1
    assert all(text.endswith("\n") for found in seen for text in found)


def test_within_a_life_of_the_layers_the_conversation_is_only_added_to(day: Day) -> None:
    bodies = sent(day)
    for one, next_ in pairwise(bodies):
        if layers(one) == layers(next_):
            told = _without_marks(one["messages"])
            assert _without_marks(next_["messages"])[: len(told)] == told


def _without_marks(messages: Any) -> Any:
    """Messages as they count: each a list of blocks, without the cache's marks."""
    found = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found.append((message["role"], [{k: v for k, v in block.items() if k != "cache_control"} for block in blocks]))
    return found


def test_an_edit_by_hand_is_known_with_the_next_message(day: Day) -> None:
    (*_, last) = first_with(day, SAID[BREAK_BEFORE])["messages"]
    assert "projects/kiln.md" in json.dumps(last) and "125 mm, not 100" in json.dumps(last)


def test_each_card_that_was_changed_is_in_the_index_of_the_next_renewal(day: Day) -> None:
    sections = ("shelves", "schedule", "tiles", "pipe", "courses")
    indexes = [layers(first_with(day, SAID[k]))[2] for k in (0, *RENEWALS)]
    found = [[name for name in sections if f"#{name})" in text] for text in indexes]
    assert found == [[], list(sections[:3]), list(sections)]


def test_no_request_has_more_than_four_marks(day: Day) -> None:
    assert max(seen.raw.count(b'"cache_control"') for seen in day.requests) <= 4


def test_what_is_booked_is_what_the_server_told(day: Day) -> None:
    """Exact sums, over the chat, its sub-agents, the reviewer and the synthesizer."""
    told = {name: sum(used[name] for _, used in day.told) for name in COUNTERS}
    totals = day.usage["totals"]
    assert isinstance(totals, Mapping)
    assert {name: totals[name] for name in COUNTERS} == told
    assert {agent for agent, _ in day.told} == {"main", "researcher", "writer", "reviewer", "synthesizer"}


def test_a_server_that_counts_no_cache_is_not_said_to_have_one(day: Day) -> None:
    totals = day.usage["totals"]
    assert isinstance(totals, Mapping)
    counts = any(used["cache_read"] for _, used in day.told)
    assert bool(totals["cache_read"]) == counts
    said = " ".join(note for exchange in day.exchanges for note in exchange.notes)
    assert ("not cached" in said) == (not counts)
