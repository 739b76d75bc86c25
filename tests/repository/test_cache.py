"""A chat by the real main agent, over real HTTP, stays near what its requests could cost at the least."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.cache import CHATS, FIVE, HOUR, LIVES, OTHERS, PLANS, Chat, least, marked, measured, replayed, table
from benchmarks.longchat import EDITS, play

REPOSITORY = Path(__file__).resolve().parents[2]
TURNS = 12


def played(place: Path, chat: Chat) -> tuple[Any, list[Any]]:
    found = play(place, chat.gaps, chat.clients, TURNS, chat.renewed_after)
    return measured(chat, found), [(one.at, one.body) for one in found.sent]


@pytest.mark.timeout(180)
def test_a_quick_chat_with_a_renewal_stays_near_its_lower_bound(tmp_path: Path) -> None:
    found, sent = played(tmp_path / "ws", Chat("quick", (60.0,), renewed_after=8))
    assert found["calls"] == len(sent) == TURNS + sum(turn <= TURNS for turn in EDITS) + 2
    assert found["renewals"] == 1 and found["edits_unseen"] == []
    assert found["onepen"] == replayed(sent).as_json(TURNS), "what the chat booked is what the server's cache counts"
    assert 1.0 <= found["onepen"]["times_bound"] <= 1.25
    assert found["onepen"]["a_turn"] == found["plans"]["{A+B, I, S, C} 5m"]["a_turn"]
    assert all(found["onepen"]["a_turn"] <= one["a_turn"] for one in found["plans"].values())
    for name in OTHERS:
        assert found["others"][name]["a_turn"] > 1.2 * found["onepen"]["a_turn"], name
    assert "target" not in table({"machine": dict.fromkeys(("onepen", "python", "system", "cores", "load"), "x"),
                                  "chats": [found]})  # fmt: skip


@pytest.mark.timeout(180)
def test_a_slow_chat_takes_to_marks_of_an_hour(tmp_path: Path) -> None:
    found, sent = played(tmp_path / "ws", Chat("slow", (400.0,)))
    lives = [{mark for block in body["system"] if (mark := str(block.get("cache_control")))} for _, body in sent]
    assert {str(FIVE), "None"} == lives[0] and {str(HOUR), "None"} == lives[1] == lives[-1]
    best = min(found["plans"].values(), key=lambda one: one["a_turn"])
    assert best == found["plans"]["{A+B, I, S, C} 1h"]
    once = found["onepen"]["a_turn"] - best["a_turn"]
    assert 0 < once * TURNS < 1.3 * 6_000, "it pays once for a beginning that was gone"
    assert found["onepen"]["a_turn"] < found["plans"]["{A+B, I, S, C} 5m"]["a_turn"] / 3


@pytest.mark.timeout(180)
def test_clients_in_turn_share_their_rules(tmp_path: Path) -> None:
    found = play(tmp_path / "ws", (100.0,), 3, 3)
    ends = [[k for k, block in enumerate(one.body["system"]) if "cache_control" in block] for one in found.sent]
    assert ends[0][0] == 1 and {one[0] for one in ends[2:]} == {0}
    first = [block.get("cache_control") for one in found.sent[:3] for block in one.body["system"][:1]]
    assert first == [None, FIVE, HOUR], "the turn of three clients that talk each 100 s comes again after 300"
    shared = [replayed([(one.at, marked(one, PLANS[plan], LIVES["1h"])) for one in found.sent]) for plan in PLANS]
    assert max(shared[1].paid, shared[2].paid) < shared[0].paid, "without a mark at B each client writes it"


def test_the_bound_counts_a_line_once_wherever_it_moves() -> None:
    def body(*lines: str) -> dict[str, Any]:
        return {"system": [{"type": "text", "text": "".join(f"{line}\n" for line in lines)}], "messages": []}

    same = least([body("a" * 90, "b" * 90)] * 2, 100)
    moved = least([body("a" * 90, "b" * 90), body("b" * 90, "a" * 90)], 100)
    other = least([body("a" * 90, "b" * 90), body("a" * 90, "c" * 90)], 100)
    assert same == moved == pytest.approx(1.25 * 50 + 0.1 * 50)
    assert same < other < 1.25 * 100


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_sixty_turns_reach_their_targets() -> None:
    command = (sys.executable, "-m", "benchmarks.cache", "--json", "--only", "1,2")
    found = json.loads(subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True).stdout)
    assert [row["target"] for row in found["chats"]] == [chat.target for chat in CHATS[:2]] == [1.10, 1.30]
    for row in found["chats"]:
        assert row["onepen"]["times_bound"] <= row["target"], row["name"]
        assert not row["edits_unseen"]
