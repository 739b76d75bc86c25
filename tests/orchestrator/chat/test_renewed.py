"""A chat begins anew once the synthesis of its space was renewed: its layers, and the exchanges that are still sent."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.files import sha256
from onepen.memory.history import read_commits
from onepen.memory.settings import LimitSettings
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.changes import NewSynthesis
from onepen.orchestrator.chat.coverage import Coverage, coverage, key_of, sources
from onepen.orchestrator.chat.lines import Asked, Begun, Ended, Line, Renewed, Replied
from onepen.orchestrator.chat.renewal import MOST_KEPT, due, first_kept
from onepen.orchestrator.chat.session import Session, messages
from onepen.orchestrator.requests import Notice
from onepen.orchestrator.tasks.desk import Desk
from onepen.subagents.messages import Text
from onepen.subagents.model import Usage
from onepen.testing.clock import FixedClock
from onepen.testing.parlour import Parlour, says

LIMITS = LimitSettings(chat_tokens=4_000)


def renew(parlour: Parlour, text: str, chats: dict[str, tuple[int, int]], before: str | None = None) -> str:
    """The synthesis renewed from these turns, as the orchestrator commits it."""
    desk = Desk(parlour.view, parlour.clock, pens=parlour.pens)
    with desk.scribe() as scribe:
        new = NewSynthesis(
            text, (), before, "30 exchanges", "agent:synthesizer", key_of(None, chats), None, sources(chats)
        )
        return scribe.renew_synthesis(parlour.view.workspace.space(parlour.client), new).commit


def test_the_next_message_begins_the_chat_anew_with_its_last_exchanges(parlour: Parlour) -> None:
    first = parlour.turn("first words", says("One."))
    for n in range(2, 10):
        parlour.turn(f"words {n}", says(f"Answer {n}."), session=first.session)
    old = parlour.model.requests[-1]
    commit = renew(parlour, "# Where things stand\nThe kiln is cold.\n", {first.session: (1, 9)})
    parlour.turn("and now?", says("Ten."), session=first.session)
    new = parlour.model.requests[-1]
    assert new.system[:3] == old.system[:3] and new.tools == old.tools
    assert "The kiln is cold." in new.system[3] and "The kiln is cold." not in "".join(old.system)
    told = "\n".join(message.text for message in new.messages)
    assert "words 3" not in told and "Answer 3." not in told
    assert [f"words {n}" in told for n in range(4, 10)] == [True] * MOST_KEPT
    assert "renewed after 30 exchanges" not in told, "what stands in the prompt is no news"
    said = [event.text for event in parlour.events if isinstance(event, Notice)]
    line = f"memory/synthesis.md: renewed after 30 exchanges ({commit}); this chat goes on from it and its last 6"
    assert said == [f"{line} exchanges"]
    parlour.turn("and then?", says("Eleven."), session=first.session)
    last = parlour.model.requests[-1]
    assert last.system == new.system and last.messages[: len(new.messages)] == new.messages
    assert sum(isinstance(line, Renewed) for line in parlour.lines(first.session)) == 1


def test_what_no_synthesis_tells_stays_in_the_chat(parlour: Parlour) -> None:
    first = parlour.turn("first words", says("One."))
    for n in range(2, 12):
        parlour.turn(f"words {n}", says(f"Answer {n}."), session=first.session)
    renew(parlour, "All is well.\n", {first.session: (1, 2)})
    parlour.turn("and now?", says("Yes."), session=first.session)
    told = "\n".join(message.text for message in parlour.model.requests[-1].messages)
    assert "words 2" not in told and "words 3" in told and "Answer 11." in told


def test_another_chat_of_the_space_begins_anew_and_keeps_all_that_is_its_own(parlour: Parlour) -> None:
    other = parlour.turn("hello", says("Hello."))
    commit = renew(parlour, "All is well.\n", {"2026-11-29-other": (1, 9)})
    parlour.turn("again", says("Again."), session=other.session)
    request = parlour.model.requests[-1]
    assert "All is well." in request.system[3] and "hello" in request.messages[0].text
    (renewed,) = [line for line in parlour.lines(other.session) if isinstance(line, Renewed)]
    assert (renewed.first, renewed.synthesis) == (1, commit)


def test_renewals_that_a_chat_slept_through_are_no_news(parlour: Parlour) -> None:
    other = parlour.turn("hello", says("Hello."))
    renew(parlour, "Once.\n", {"2026-11-29-other": (1, 9)})
    before = parlour.view.bytes("memory/synthesis.md")
    assert before is not None
    renew(parlour, "Twice.\n", {"2026-11-29-other": (10, 19)}, before=sha256(before))
    parlour.turn("again", says("Again."), session=other.session)
    request = parlour.model.requests[-1]
    assert "Twice." in request.system[3] and "Changed in memory" not in request.messages[-1].text
    assert not [event.text for event in parlour.events if isinstance(event, Notice) and "is told" in event.text]


def test_a_renewal_that_is_undone_is_undone_in_the_chats_too(parlour: Parlour) -> None:
    first = parlour.turn("first words", says("One."))
    renew(parlour, "Once.\n", {first.session: (1, 1)})
    for n in range(2, 12):
        parlour.turn(f"words {n}", says(f"Answer {n}."), session=first.session)
    known = parlour.view.bytes("memory/synthesis.md")
    assert known is not None
    commit = renew(parlour, "Twice.\n", {first.session: (2, 11)}, before=sha256(known))
    parlour.turn("words 12", says("Twelve."), session=first.session)
    assert "Twice." in parlour.model.requests[-1].system[3]
    parlour.service.undo(commit)
    assert parlour.text("memory/synthesis.md") == "Once.\n"
    parlour.turn("words 13", says("Thirteen."), session=first.session)
    told = "\n".join(message.text for message in parlour.model.requests[-1].messages)
    assert "Once." in parlour.model.requests[-1].system[3] and "words 2" in told and "first words" not in told


def test_a_crash_behind_the_renewal_leaves_the_chat_begun_anew_and_nothing_untold(parlour: Parlour) -> None:
    first = parlour.turn("first words", says("One."))
    parlour.service.log("called Ana")
    renew(parlour, "All is well.\n", {first.session: (1, 1)})
    parlour.turn("words 2", says("Two."), session=first.session)
    parlour.cut_after(first.session, "renewed")
    parlour.turn("words 3", says("Three."), session=first.session)
    request = parlour.model.requests[-1]
    assert "called Ana" in request.messages[-1].text and "All is well." in request.system[3]
    assert sum(isinstance(line, Renewed) for line in parlour.lines(first.session)) == 1


def test_prefixes_are_the_same_at_another_time_and_after_midnight(parlour: Parlour, clock: FixedClock) -> None:
    """Field case 34: neither a second nor a day changes what stands before the conversation, and a change in a layer
    leaves those before it as they were.
    """
    first = parlour.turn("one", says("One."))
    clock.move(timedelta(seconds=3))
    parlour.turn("two", says("Two."), session=first.session)
    clock.move(timedelta(hours=20))
    parlour.turn("three", says("Three."), session=first.session)
    assert len({(request.system, request.tools) for request in parlour.model.requests}) == 1
    renew(parlour, "All is well.\n", {first.session: (1, 3)})
    parlour.turn("four", says("Four."), session=first.session)
    new_day = parlour.turn("hello", says("Hello."))
    edited = parlour.root / "projects/kiln.md"
    edited.write_text(edited.read_text() + "\n## Shelves\nTwo of them.\n")
    parlour.turn("five", says("Five."), session=first.session)
    parlour.turn("again", says("Again."), session=new_day.session)
    third = parlour.turn("hello", says("Hello."))
    assert third.session != new_day.session
    a, _, _, b, c, d, e, f = parlour.model.requests
    assert a.system[:3] == b.system[:3] and a.system[3] != b.system[3]
    assert b.system == d.system and c.system == e.system, "an index edit burns no chat"
    assert f.system[:2] == a.system[:2] and "Shelves" in f.system[2] and "Shelves" not in c.system[2]
    assert "Shelves" not in d.system[2] and "[shelves](kiln.md#shelves) — Shelves: Two of them." in d.messages[-1].text


BEGUN = Begun(
    session="2026-11-29-s1", client=None, at="", model="m", system=("You.\n",), tools=(), layers={}, max_tokens=100
)


@st.composite
def talks(draw: st.DrawFn) -> Session:
    lines: list[Line] = []
    for turn in range(1, draw(st.integers(0, 20)) + 1):
        words = "word " * draw(st.sampled_from([1, 10, 400, 2_500]))
        lines += [
            Asked(turn, "", (Text(words),)),
            Replied(turn, "", (Text("Yes."),), "end_turn", Usage(), "m"),
            Ended(turn, "", "end_turn"),
        ]
    return Session(BEGUN, tuple(lines))


@given(talks(), st.integers(0, 20))
def test_what_is_kept_is_whole_bounded_and_never_less_than_what_is_untold(session: Session, told: int) -> None:
    first = first_kept(session, Coverage({session.id: told}), LIMITS)
    assert 1 <= first <= min(told, session.turn) + 1
    if first <= min(told, session.turn):  # more than has to be kept: so it is within bounds
        assert session.turn + 1 - first <= MOST_KEPT
        own = [line for line in session.lines if getattr(line, "turn", 0) >= first]
        assert sum(len(m.text) for m in messages(Session(BEGUN, tuple(own)))) < LIMITS.chat_tokens * 4


def test_a_synthesis_is_due_after_so_many_exchanges_or_when_a_chat_grew_too_long() -> None:
    assert due(29, 100, LimitSettings()) == ""
    assert due(30, 100, LimitSettings()) == "30 exchanges"
    assert due(3, 24_001, LimitSettings()) == "a chat of 24,001 tokens"
    assert due(0, 24_001, LimitSettings()) == "", "nothing has been said that is not told already"


def test_what_a_renewal_tells_is_found_in_the_history(parlour: Parlour) -> None:
    renew(parlour, "Once.\n", {"2026-11-29-a": (1, 3), "2026-11-29-b": (1, 1)})
    space = open_workspace(parlour.root).house
    found = coverage(read_commits(parlour.view, space))
    assert found.tells("2026-11-29-a", 3, "") and not found.tells("2026-11-29-a", 4, "")
    assert found.tells("2026-11-29-b", 1, "") and not found.tells("2026-11-29-c", 1, "")
