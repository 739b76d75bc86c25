"""A line for each response of a chat's turn; each once, whatever ends the process."""

import json
from dataclasses import replace

import pytest

from onepen.orchestrator.chat.booking import book_turn, booked
from onepen.orchestrator.chat.lines import Ended, Renewed, Replied
from onepen.orchestrator.chat.store import Chats
from onepen.subagents.model import LostCall, ModelReply, ModelRequest, OnLost, Usage
from onepen.testing.parlour import Parlour, says

FIRST = Usage(12, 2_000, 0, 50)
NEXT = Usage(3, 400, 2_000, 20)
ANEW = Usage(3, 2_400, 0, 20)
READ = ("read_card", {"card": "kiln"})


def lines_of(parlour: Parlour) -> list[dict[str, object]]:
    log = parlour.root / "logs/usage-2026-11.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def told(parlour: Parlour, session: str, turn: int, *, again: bool = False) -> None:
    """The turn is booked as the service does it."""
    chat, _ = Chats(parlour.view.workspace.house).load(session)
    end = next(line for line in chat.lines if isinstance(line, Ended) and line.turn == turn)
    one = booked(chat, end, "played", 2.5, again=again)
    book_turn(parlour.view.workspace.house, one, parlour.clock)


def test_each_response_of_a_turn_has_a_line_with_its_layers_and_tools(parlour: Parlour) -> None:
    chat = parlour.turn("Look", says(READ, usage=FIRST), says("1200.", usage=NEXT)).session
    told(parlour, chat, 1)
    one, two = lines_of(parlour)
    assert [(line["chat"], line["turn"], line["call"], line["seconds"]) for line in (one, two)] == [
        (chat, 1, 1, 0.0),
        (chat, 1, 2, 2.5),
    ]
    assert (one["tools"], two.get("tools")) == (["read_card"], None)
    for line, usage in ((one, FIRST), (two, NEXT)):
        layers = line["layers"]
        assert isinstance(layers, dict) and sum(layers.values()) == usage.prompt_total
        assert [line[name] for name in ("input", "cache_write", "cache_read", "output")] == [
            usage.input, usage.cache_write, usage.cache_read, usage.output,
        ]  # fmt: skip
    assert "E" not in one["layers"] and two["layers"]["E"] > 0  # type: ignore[operator, index]


def test_a_miss_is_in_the_line_of_its_response_and_no_other(parlour: Parlour) -> None:
    chat = parlour.turn("Look", says("Yes.", usage=FIRST)).session
    parlour.turn("Again", says("Yes.", usage=NEXT), session=chat)
    parlour.turn("And again", says("Yes.", usage=ANEW), session=chat)
    for turn in (1, 2, 3):
        told(parlour, chat, turn)
    assert [line.get("missed") for line in lines_of(parlour)] == [
        None,
        None,
        {"layer": "B", "cause": "gone", "tokens": 2_400, "usd": 0.0, "after": 0},
    ]


def test_a_call_that_gave_no_whole_reply_has_a_line_too(parlour: Parlour) -> None:
    def cut(request: ModelRequest, listener: object, on_lost: OnLost) -> ModelReply:
        on_lost(LostCall("cut", Usage(7, 0, 0, 3), 0.25))
        return says("Yes.", usage=FIRST)

    chat = parlour.turn("Look", cut).session
    told(parlour, chat, 1)
    lost, whole = lines_of(parlour)
    assert (lost["call"], lost["lost"], lost["output"], lost["cost_usd"]) == (1, 1, 3, 0.25)
    assert (whole["call"], whole.get("lost"), whole["output"]) == (2, None, 50)


@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_a_turn_that_was_booked_in_part_when_its_process_died_is_booked_to_its_end(parlour: Parlour, kept: int) -> None:
    chat = parlour.turn("Look", says(READ, usage=FIRST), says(READ, usage=NEXT), says("1200.", usage=NEXT)).session
    told(parlour, chat, 1)
    log = parlour.root / "logs/usage-2026-11.jsonl"
    whole = log.read_text()
    log.write_text("".join(whole.splitlines(keepends=True)[:kept]))
    told(parlour, chat, 1, again=True)
    told(parlour, chat, 1, again=True)
    assert log.read_text() == whole


def test_what_an_earlier_version_booked_in_one_line_is_not_booked_again(parlour: Parlour) -> None:
    chat = parlour.turn("Look", says("Yes.", usage=FIRST)).session
    log = parlour.root / "logs/usage-2026-11.jsonl"
    log.parent.mkdir(exist_ok=True)
    old = (
        f'{{"v": 1, "time": "2026-11-29T09:30:00+01:00", "client": null, "task": "", "attempt": 0, "role": "main", '
        f'"k": 0, "chat": "{chat}", "turn": 1, "agent": "main", "model": "m", "input": 12, "cache_write": 2000, '
        f'"cache_read": 0, "output": 50, "cost_usd": 0.5, "seconds": 1.0}}\n'
    )
    log.write_text(old)
    told(parlour, chat, 1, again=True)
    assert log.read_text() == old


def test_a_card_read_as_a_whole_is_noted_when_a_section_would_have_done(parlour: Parlour) -> None:
    words = "".join(f"- firing number {k} went up to 1220 in four hours\n" for k in range(200))
    (parlour.root / "projects/kiln.md").write_text(f"# Kiln\n\n## Firing\n{words}\n## Glaze\n- celadon\n")
    section = ("read_card", {"card": "kiln", "section": "glaze"})
    chat = parlour.turn("Look", says(READ, usage=FIRST), says(section, usage=NEXT), says("1220.", usage=NEXT)).session
    told(parlour, chat, 1)
    first, second, third = lines_of(parlour)
    assert list(first["whole"]) == ["projects/kiln.md"] and first["whole"]["projects/kiln.md"] > 1_000  # type: ignore[call-overload, index]
    assert "whole" not in second and "whole" not in third


def test_booking_looks_at_no_month_before_the_chat_began(parlour: Parlour) -> None:
    """What stands there is not this turn's, whatever it says; so years of logs cost nothing."""
    chat = parlour.turn("Look", says("Yes.", usage=FIRST)).session
    told(parlour, chat, 1)
    log = parlour.root / "logs/usage-2026-11.jsonl"
    log.rename(log.with_name("usage-2026-10.jsonl"))
    told(parlour, chat, 1, again=True)
    assert len(lines_of(parlour)) == 1


def test_after_a_renewal_what_is_sent_anew_is_no_miss_but_told(parlour: Parlour) -> None:
    """Index, synthesis and conversation begin anew, and that is the one response that writes them again."""
    chat = parlour.turn("Look", says("Yes.", usage=FIRST)).session
    chats = Chats(parlour.view.workspace.house)
    session, _ = chats.load(chat)
    begun = session.begun
    system = (*begun.system[:-1], "(What happened lately.)\nThe kiln was fired.\n")
    chats.add(
        session,
        Renewed(
            at=begun.at,
            model=begun.model,
            system=system,
            tools=begun.tools,
            layers=begun.layers,
            max_tokens=begun.max_tokens,
            parts=begun.parts,
            first=2,
            why="it was time",
        ),
    )
    for words, usage in (("Again", ANEW), ("And again", ANEW)):
        parlour.turn(words, says("Yes.", usage=usage), session=chat)
    for turn in (1, 2, 3):
        told(parlour, chat, turn)
    missed = [line.get("missed", {}) for line in lines_of(parlour)]
    assert [one.get("cause") for one in missed] == [None, "renewed", "gone"]  # type: ignore[attr-defined]


def test_marks_that_stand_too_early_for_the_model_are_named(parlour: Parlour) -> None:
    """The life and the place of the marks are those that were asked for, and stand in the chat's file."""
    long = replace(says("Yes.", usage=Usage(0, 9_000, 0, 5)), least=4_096)
    short = replace(says("Yes.", usage=Usage(900, 0, 0, 5)), least=4_096)
    chat = parlour.turn("Look", long).session
    other = parlour.turn("Look", short).session
    told(parlour, chat, 1)
    told(parlour, other, 1)
    first, second = lines_of(parlour)
    reply = next(line for line in parlour.lines(chat) if isinstance(line, Replied))
    assert reply.caching == parlour.model.requests[0].caching and reply.least == 4_096
    assert "missed" not in first
    assert second["missed"] == {"layer": "B", "cause": "too short", "tokens": 0, "usd": None}
    assert set(second["short"]) > set(first.get("short", ()))  # type: ignore[call-overload]
