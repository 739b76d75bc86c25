"""Field case 51: the process dies between a tool call and its result; the chat goes on, and nothing is done twice."""

import json
from contextlib import suppress
from pathlib import Path

import pytest

from onepen.memory.history import read_commits
from onepen.orchestrator.chat.booking import end_cut_turns
from onepen.orchestrator.chat.lines import Asked, Replied, Resulted
from onepen.orchestrator.chat.store import Chats
from onepen.orchestrator.premises import append_line
from onepen.orchestrator.tasks.recover import RECENT
from onepen.subagents.messages import Text
from onepen.subagents.model import Usage
from onepen.testing.parlour import Parlour, says

ENTRY = {"section_id": "firing", "keywords": ["cone 6"], "summary": "Fire at 1220 since 3 Nov."}
EDIT = {"project": "kiln", "old_text": "- fire at 1200\n", "new_text": "- fire at 1220\n", "index_entry": ENTRY}
BOTH = (("write_memory_card", EDIT), ("log_event", {"text": "kiln fired"}))


def begun(parlour: Parlour) -> str:
    return parlour.turn("Hello", says("Hello.")).session


def test_killed_before_the_first_tool(parlour: Parlour) -> None:
    session = begun(parlour)
    chats = Chats(parlour.view.workspace.house)
    chat, _ = chats.load(session)
    chats.add(chat, Asked(2, "", (Text("Write"),)), Replied(2, "", says(*BOTH).content, "tool_use", Usage(), "m"))
    before = parlour.text("projects/kiln.md")
    result = parlour.turn("go on", says("Shall I?"), session=session)
    assert [told for told, _ in parlour.results()] == [
        "interrupted: onepen ended before this was done; nothing was changed by it"
    ] * 2
    assert parlour.text("projects/kiln.md") == before and result.answer == "Shall I?"


def test_killed_after_the_card_was_written_and_before_its_result_was_stored(parlour: Parlour) -> None:
    session = begun(parlour)
    done = parlour.turn("Write", says(*BOTH), says("Done."), session=session)
    path = parlour.root / f"chats/{session}.jsonl"
    rows = path.read_text().splitlines(keepends=True)
    path.write_text("".join(row for row in rows[:-4]))  # both results, the second reply, the end
    after = parlour.text("projects/kiln.md"), parlour.text("memory/2026-11-29.md")
    parlour.turn("go on", says("It was done."), session=session)
    card, log = (told for told, _ in parlour.results())
    assert card.startswith(
        f"interrupted before its result was stored: the change was made, as commit {done.commits[0]}"
    )
    assert log.startswith(f"interrupted before its result was stored: the change was made, as commit {done.commits[1]}")
    assert (parlour.text("projects/kiln.md"), parlour.text("memory/2026-11-29.md")) == after


def test_killed_between_the_two(parlour: Parlour) -> None:
    session = begun(parlour)
    chats = Chats(parlour.view.workspace.house)
    chat, _ = chats.load(session)
    content = says(*BOTH).content
    stored = Resulted(
        2, "toolu_write_memory_card_0", "write_memory_card", "projects/kiln.md: changed (commit c9-aaaaaa)"
    )
    chats.add(chat, Asked(2, "", (Text("Write"),)), Replied(2, "", content, "tool_use", Usage(), "m"), stored)
    parlour.turn("go on", says("I note it again."), session=session)
    (card, card_failed), (log, log_failed) = parlour.results()
    assert (card, card_failed) == (stored.content, False)
    assert "nothing was changed by it" in log and log_failed
    assert "kiln fired" not in parlour.text("memory/2026-11-29.md")


def test_a_task_that_a_call_had_made_is_named_with_where_it_stands(parlour: Parlour) -> None:
    session = begun(parlour)
    call = ("delegate", {"agent": "researcher", "task": "What do we fire at?", "answer": True})
    parlour.turn("Find out", says(call), says("Done."), session=session)
    parlour.cut_after(session, "made")
    parlour.turn("go on", says("."), session=session)
    ((told, failed),) = parlour.results()
    assert failed and "It had made task t1: answered" in told


def test_a_line_that_was_torn_in_the_middle_is_passed_over(parlour: Parlour) -> None:
    session = begun(parlour)
    with (parlour.root / f"chats/{session}.jsonl").open("a") as file:
        file.write('{"v": 1, "kind": "asked", "turn": 2, "at"')
    assert parlour.turn("go on", says("Yes."), session=session).answer == "Yes."
    assert parlour.turn("more", says("Yes."), session=session).notices[0].startswith(f"chats/{session}.jsonl:5")


def test_the_turn_that_never_ended_is_ended_and_booked(parlour: Parlour) -> None:
    session = begun(parlour)
    parlour.turn("Write", says(BOTH[1]), says("Done."), session=session)
    parlour.booked.clear()
    parlour.cut_after(session, "replied")
    parlour.turn("go on", says("."), session=session)
    assert [(one.turn, one.usage) for one in parlour.booked] == [(2, Usage(20, 0, 0, 10)), (3, Usage(10, 0, 0, 5))]


def test_a_new_orchestrator_ends_and_books_the_turn_of_the_last_one(parlour: Parlour) -> None:
    session = begun(parlour)
    parlour.turn("Write", says(BOTH[1]), says("Done."), session=session)
    parlour.cut_after(session, "replied")
    space = parlour.view.workspace.house
    assert end_cut_turns(space, parlour.clock, RECENT) == (session,)
    assert end_cut_turns(space, parlour.clock, RECENT) == ()
    lines = [json.loads(line) for line in (parlour.root / "logs/usage-2026-11.jsonl").read_text().splitlines()]
    assert [(one["chat"], one["turn"], one["call"], one["role"], one["input"]) for one in lines] == [
        (session, 2, 1, "main", 10),
        (session, 2, 2, "main", 10),
    ]
    assert parlour.turn("go on", says("."), session=session).turn == 3


class Died(BaseException):
    """The process is gone: nothing is written any more."""


@pytest.mark.parametrize("written", [True, False], ids=["after", "before"])
@pytest.mark.parametrize("at", range(1, 8))
def test_wherever_it_dies_the_chat_goes_on_and_nothing_is_done_twice(
    parlour: Parlour, monkeypatch: pytest.MonkeyPatch, at: int, written: bool
) -> None:
    """The chat's file gets asked, replied, result, result, replied, ended: it dies at each, before and after."""
    session = begun(parlour)
    count = 0

    def dying(path: Path, line: str) -> None:
        nonlocal count
        count += 1
        if count < at or (count == at and written):
            append_line(path, line)
        if count >= at:
            raise Died

    with monkeypatch.context() as patch:
        patch.setattr("onepen.orchestrator.chat.store.append_line", dying)
        with suppress(Died):
            parlour.turn("Write", says(*BOTH), says("Done."), session=session)
    parlour.model.steps.clear()
    parlour.busy.clear()
    done = [c for c in read_commits(parlour.view, parlour.view.workspace.house) if (c.key or "").startswith("chat ")]
    after = parlour.text("projects/kiln.md"), len(done)
    parlour.turn("go on", says("I see."), session=session)
    told = [content for content, _ in parlour.results()]
    known = sum("commit c" in content for content in told)
    assert known == len(done), "what was done is told, and nothing else"
    assert (parlour.text("projects/kiln.md"), len(done)) == after
    again = parlour.turn("again", says(*(BOTH[len(done) :])), says("Now it is done."), session=session)
    assert len(again.commits) + len(done) == 2
    assert parlour.text("projects/kiln.md").count("1220") == 1
    assert parlour.text("memory/2026-11-29.md").count("kiln fired") == 1
    assert parlour.service.doctor().ok
