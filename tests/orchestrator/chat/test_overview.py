"""Chats as a list shows them."""

from pathlib import Path

import pytest

from onepen.memory.workspace import open_workspace
from onepen.orchestrator.chat.lines import Asked, Begun, Ended, Lost, Replied
from onepen.orchestrator.chat.overview import latest, view_of
from onepen.orchestrator.chat.session import Session
from onepen.orchestrator.chat.store import Chats
from onepen.orchestrator.results import UsageTotals
from onepen.subagents.messages import Text, ToolUse
from onepen.subagents.model import Usage

AT = "2026-11-29T09:3{}:00+01:00"


def begun(session: str) -> Begun:
    return Begun(
        session=session,
        client=None,
        at=AT.format(0),
        model="sonnet",
        system=("rules\n",),
        tools=(),
        layers={"B": 3},
        max_tokens=1000,
    )


BEGUN = begun("2026-11-29-a1")


def asked(turn: int, words: str) -> Asked:
    return Asked(turn, AT.format(turn), (Text("(It is Sunday.)\n"), Text(words)), model="sonnet")


def replied(turn: int, *content: Text | ToolUse, cost: float | None = 0.5, stop: str = "end_turn") -> Replied:
    return Replied(turn, AT.format(turn), content, stop, Usage(10, 20, 30, 4), "m", cost)


LINES = (
    asked(1, "When?"),
    replied(1, ToolUse("c1", "search_history", {}), stop="tool_use"),
    Lost(1, "cut", Usage(5, 0, 0, 1), 0.25),
    replied(1, Text("At four. "), Text("I think.")),
    Ended(1, AT.format(1), "end_turn", layers={"B": 4, "C": 9}),
    asked(2, "And the draft?"),
    replied(2, cost=None, stop="refusal"),
    Ended(2, AT.format(5), "refusal", dropped=True),
)


def test_a_chat_is_told_by_its_first_and_last_words_and_all_that_was_paid() -> None:
    view = view_of(Session(BEGUN, LINES))
    assert (view.messages, view.first, view.last, view.answer) == (2, "When?", "And the draft?", "At four. I think.")
    assert (view.begun, view.at, view.model, view.calls) == (AT.format(0), AT.format(5), "sonnet", 3)
    assert view.usage == UsageTotals(35, 60, 90, 13)
    assert (view.cost_usd, view.unpriced_tokens) == (1.25, 64)
    assert view.layers == {"B": 4, "C": 9}, "of the last prompt"


def test_a_chat_in_which_nothing_was_said_yet() -> None:
    view = view_of(Session(BEGUN))
    assert (view.messages, view.first, view.last, view.answer, view.layers) == (0, "", "", "", {"B": 3})
    assert (view.at, view.cost_usd) == (AT.format(0), 0.0)


def test_the_latest_come_first_and_one_that_is_none_is_told(root: Path) -> None:
    chats = Chats(open_workspace(root).space(None))
    assert latest(chats).as_json() == {"chats": [], "notices": []}
    for name in ("2026-11-28-b1", "2026-11-29-a1"):
        session = chats.begin(begun(name))
        chats.add(session, asked(1, f"in {name}"))
    (root / "chats" / "2026-11-29-c1.jsonl").write_text('{"a": 1}{"a": 2}')
    result = latest(chats)
    assert sorted(chat.first for chat in result.chats) == ["in 2026-11-28-b1", "in 2026-11-29-a1"]
    assert result.notices == (
        "chats/2026-11-29-c1.jsonl: its first line, the prompt as it is sent, can't be read, so this chat can't go on; "
        "the file stays as it is",
    )
    newest = chats.ids()[-1]
    assert len(latest(chats, 1).chats) == (newest != "2026-11-29-c1")


@pytest.mark.parametrize("most", [1, 2])
def test_of_many_only_the_latest_are_read(root: Path, most: int) -> None:
    chats = Chats(open_workspace(root).space(None))
    for k in range(4):
        chats.begin(begun(f"2026-11-2{k}-x"))
    assert [chat.session for chat in latest(chats, most).chats] == list(reversed(chats.ids()))[:most]
