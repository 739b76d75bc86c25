"""A conversation that goes on reads all that it wrote before, however much one reply adds to it."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.gateway.marks import MOST, marks
from onepen.orchestrator.gateway.request import body
from onepen.subagents.messages import Block, Message, Opaque, Text, ToolResult, ToolUse, assistant, user
from onepen.subagents.model import Caching, Life, ToolSpec
from onepen.testing.messages_api.caching import Cache, Taken
from onepen.testing.messages_api.marks import marks_fault

from .conftest import request

VERDICT = ToolSpec("verdict", "Judges.", {"type": "object"})
LAYERS = ("rules \n" * 1000, "index \n" * 500, "own \n" * 300)
THOUGHT = Opaque({"type": "thinking", "thinking": "hm", "signature": "c2ln"})


def rounds(*calls: int, between: tuple[Block, ...] = (), after: tuple[Block, ...] = ()) -> list[list[Message]]:
    """The messages of each request of a loop: every reply makes so many calls, with `between` before each of them."""
    said: list[Message] = [user(Text("Task."))]
    asked = [list(said)]
    for k, count in enumerate(calls):
        uses = [ToolUse(f"call_{k}_{n}", "search", {"query": str(n)}) for n in range(count)]
        said += [
            assistant(*(block for use in uses for block in (*between, use))),
            user(*(ToolResult(use.id, "found") for use in uses), *after),
        ]
        asked.append(list(said))
    return asked


def taken(asked: list[list[Message]], system: tuple[str, ...] = LAYERS) -> list[Taken]:
    cache, found = Cache(least=0), []
    for k, messages in enumerate(asked):
        sent = body(request(*messages, system=system), "claude-sonnet-5-5")
        assert marks_fault(sent) is None
        found.append(cache.ask(sent, float(k)))
        cache.begin(found[-1], float(k))
    return found


def test_a_loop_of_three_turns_reads_what_it_wrote() -> None:
    first, second, third = taken(rounds(2, 1))
    assert (first.read, first.plain) == (0, 0)
    assert second.read == first.written and second.plain == 0
    assert third.read == second.read + second.written and third.plain == 0


blocks: st.SearchStrategy[tuple[Block, ...]] = st.sampled_from([(), (Text("so"),), (THOUGHT,), (THOUGHT, Text("so"))])


@given(st.lists(st.integers(1, 64), max_size=4), blocks, st.sampled_from([(), (Text("again"),)]), st.integers(0, 5))
def test_whatever_one_reply_adds_nothing_is_paid_twice(
    calls: list[int], between: tuple[Block, ...], after: tuple[Block, ...], system: int
) -> None:
    """Field case 38, and further: 64 calls in one reply, with words and thoughts between them."""
    found = taken(rounds(*calls, between=between, after=after), ("layer \n" * 100,) * system)
    for before, now in pairwise(found):
        assert now.read == before.read + before.written


def test_thirty_rounds_in_one_turn_never_fall_out_of_the_look_back() -> None:
    """Field case 38: 60 blocks, with 8 KiB of layers before them."""
    found = taken(rounds(*[1] * 30))
    layers = taken([[user(Text("x"))]])[0].written
    assert all(one.read >= layers - 10 for one in found[1:])


def test_a_second_mark_in_the_conversation_takes_the_place_of_the_first_layers() -> None:
    few, many = (marks(3, asked[-1]) for asked in (rounds(2), rounds(25)))
    assert few.system == {0, 1, 2} and few.messages == {(2, 1)}
    assert many.system == {1, 2} and many.messages == {(0, 0), (2, 24)}
    assert few.count == many.count == MOST


def test_a_reply_that_is_carried_on_is_marked_where_it_was_asked_for() -> None:
    """The API ends a turn in the middle, and is sent what it said so far; that can't carry a mark."""
    paused: Any = assistant(*[Opaque({"type": "server_tool_use", "id": str(k)}) for k in range(25)])
    assert marks(3, [user(Text("Task.")), paused]).messages == {(0, 0)}


def test_what_is_asked_once_writes_no_conversation() -> None:
    sent = body(request(user(Text("x" * 9000)), system=LAYERS, tools=(VERDICT,), tool_choice="verdict"), "m")
    found = Cache(least=0).ask(sent, 0.0)
    assert found.plain > 2000 and found.written > 3000
    assert "cache_control" not in sent["messages"][0]["content"][0]


lives: st.SearchStrategy[Life] = st.sampled_from(["5m", "1h"])
wishes = st.one_of(st.none(), st.builds(Caching, st.lists(st.integers(-1, 7), max_size=5).map(tuple), lives, lives))


@given(wishes, st.lists(st.sampled_from(["rules\n", " \n"]), max_size=5), st.integers(0, 40), st.booleans())
def test_whatever_is_wished_the_api_takes_it(
    caching: Caching | None, system: list[str], calls: int, once: bool
) -> None:
    wanted = request(*rounds(calls)[-1], system=tuple(system), tools=(VERDICT,), caching=caching)
    assert marks_fault(body(replace(wanted, tool_choice="verdict" if once else None), "m")) is None


def test_marks_stand_where_they_are_wished_and_live_as_long() -> None:
    wished = Caching((0, 2, 3), "1h", "5m")
    sent = body(request(user(Text("a")), system=("a\n", "b\n", "c\n", "d\n"), caching=wished), "m")
    found = [block.get("cache_control") for block in sent["system"]]
    hour = {"type": "ephemeral", "ttl": "1h"}
    assert found == [hour, None, hour, hour]
    assert sent["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral"}


def test_a_layer_without_words_leaves_its_mark_to_the_one_before() -> None:
    sent = body(request(user(Text("a")), system=("a\n", " \n", "c\n"), caching=Caching((1, 2))), "m")
    assert ["cache_control" in block for block in sent["system"]] == [True, True]


def test_a_conversation_lives_no_longer_than_what_it_follows() -> None:
    placed = marks(2, [user(Text("a"))], caching=Caching((0, 1), "5m", "1h"))
    assert (placed.prefix, placed.tail) == ("5m", "5m")
    assert marks(2, [user(Text("a"))], caching=Caching((), "5m", "1h")).tail == "1h", "it follows no mark"


def test_where_the_conversation_needs_two_the_first_of_the_wished_ones_is_dropped() -> None:
    many = marks(4, rounds(25)[-1], caching=Caching((0, 2, 3)))
    assert many.system == {2, 3} and many.count == MOST
