"""The offline model as main agent: quotes with their places, and that it writes no prose."""

import re
from dataclasses import replace

import pytest

from onepen.orchestrator.extractive.offline import Offline
from onepen.orchestrator.extractive.talk import NO_PROSE
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


def test_quotes_in_a_finding_are_shown_as_they_stand_with_the_place_of_the_finding(offline: Parlour) -> None:
    quoted = '> "Fire L4 at cone 6." (inputs/n.md:3)\n> "Hold it for a quarter of an hour." (inputs/n.md:4)'
    offline.service.add_research("Firing L4", text=f"{quoted}\n")
    result = offline.turn("At which cone do we fire L4?")
    assert f"{quoted}\n(research/firing-l4.md:" in result.answer and '""' not in result.answer
    assert result.answer.count("quarter of an hour") == 1
    assert result.sources and all(source.startswith("research/firing-l4.md:") for source in result.sources)


def test_a_quote_that_stands_twice_is_shown_once_and_one_line_is_no_range(offline: Parlour) -> None:
    quote = '> "Fire L4 at cone 6." (inputs/n.md:3)'
    offline.service.add_research("Firing L4", text=f"## Heat\n\n{quote}\n\n## Cones\n\n{quote}\n")
    answer = offline.turn("At which cone do we fire L4?").answer
    assert answer.count(quote) == 1
    assert re.search(r"\(research/firing-l4\.md:\d+\)", answer)


def test_a_title_alone_and_a_line_about_a_new_card_answer_nothing(offline: Parlour) -> None:
    offline.service.add_project("Tall chimney")
    assert offline.turn("How tall is the chimney?").answer.startswith("Nothing in what I read answers this.")


def test_a_line_under_a_heading_that_was_asked_for_answers(offline: Parlour) -> None:
    offline.service.add_project("Studio", text="# Studio\n\n## Glaze\nCeladon since May.\n")
    result = offline.turn("Which glaze?")
    assert "Celadon since May." in result.answer and "projects/studio.md:" in result.answer
