"""The parlour plays chats as onepen has them, and takes no conversation that the Messages API refuses."""

from pathlib import Path

import anyio
import pytest

from onepen.orchestrator.service import Service
from onepen.subagents.messages import Message, Text, ToolUse
from onepen.subagents.model import ModelRequest
from onepen.testing.clock import FixedClock
from onepen.testing.parlour import Parlour, Played, says


def test_it_plays_one_reply_after_the_other(root: Path, clock: FixedClock, service: Service) -> None:
    parlour = Parlour(root, clock, service)
    assert parlour.turn("Hello", says("Good day.")).answer == "Good day." == parlour.words
    assert parlour.turn("Note", says(("log_event", {"text": "x"})), says("Noted."), session="last").turn == 2
    assert parlour.results()[0][0].startswith("noted in today's log") and len(parlour.booked) == 2


def test_it_takes_no_call_without_a_result() -> None:
    class Deaf:
        def text(self, words: str) -> None: ...
        def broke_off(self, reason: str) -> None: ...

    use = Message("assistant", (ToolUse("c1", "x", {}),))
    asked = (Message("user", (Text("a"),)), use, Message("user", (Text("b"),)))
    request = ModelRequest("m", ("You.\n",), (), asked, 100, "main")
    with pytest.raises(AssertionError, match="would refuse this"):
        anyio.run(Played([says("b")]).ask, request, lambda lost: None, Deaf())
