"""The offline model as main agent: quotes with their places, and that it writes no prose."""

from dataclasses import replace

import pytest

from onepen.orchestrator.chat.extractive import NO_PROSE
from onepen.orchestrator.extractive.offline import Offline
from onepen.testing.parlour import Parlour


@pytest.fixture
def offline(parlour: Parlour) -> Parlour:
    return replace(parlour, offline=Offline())


def test_it_quotes_the_card(offline: Parlour) -> None:
    result = offline.turn("How long do we soak?")
    assert '> "soak for ten minutes" (projects/kiln.md:12)' in result.answer
    assert result.answer.endswith(NO_PROSE) and "projects/kiln.md:12" in result.sources
    assert result.tools == ("search_history", "read_card") and result.usage.output == 0


def test_it_quotes_the_day_log(offline: Parlour) -> None:
    offline.service.log("called Ana about the blue plates")
    assert "called Ana about the blue plates" in offline.turn("Who was called about the plates?").answer


def test_it_says_that_nothing_answers(offline: Parlour) -> None:
    assert offline.turn("Where does the moon live?").answer.startswith("Nothing in what I read answers this.")


def test_an_earlier_question_is_no_answer_and_a_chat_goes_on(offline: Parlour) -> None:
    first = offline.turn("Where does the moon live?")
    again = offline.turn("Where does the moon live?", session=first.session)
    assert again.turn == 2 and again.answer.startswith("Nothing in what I read answers this.")
    assert "soak" in offline.turn("How long do we soak?", session="last").answer
