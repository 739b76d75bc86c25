"""The questions of a task, and how they read as headings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.staging.question import LONGEST, heading_of, headings, questions


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (
            "Why did the plates crack in the bisque, and what changed after the firing?",
            ["Why did the plates crack in the bisque?", "What changed after the firing?"],
        ),
        (
            "Wer brennt den Ofen; und wann kommt neuer Ton?",
            ["Wer brennt den Ofen?", "Wann kommt neuer Ton?"],
        ),
        (
            "When was the kiln\nbuilt in Apolda? Where is the clay pit?",
            ["When was the kiln built in Apolda?", "Where is the clay pit?"],
        ),
        ("- kiln price\n- clay price", ["Kiln price", "Clay price"]),
        ("Which rim chips and when?", ["Which rim chips and when?"]),
        ("How hot is cone 6, e.g. in the Rohde kiln?", ["How hot is cone 6, e.g. in the Rohde kiln?"]),
        ("pH of the glaze?", ["pH of the glaze?"]),
    ],
)
def test_questions_read_well_by_themselves(task: str, expected: list[str]) -> None:
    assert [question.heading for question in questions(task)] == expected
    assert set(expected) <= headings(task)


def test_a_part_that_says_little_stays_with_the_one_before_it_word_for_word() -> None:
    [first, second] = questions("Who repaired the big kiln and when? Where is the clay pit?")
    assert (first.text, second.text) == ("Who repaired the big kiln and when?", "Where is the clay pit?")


def test_more_than_four_questions_are_asked_as_one() -> None:
    task = " ".join(f"Where is the clay pit number {n}0?" for n in range(1, 6))
    assert [question.text for question in questions(task)] == [task]


@pytest.mark.parametrize(
    ("text", "heading"),
    [
        ("# Kiln price\n\nAll of it.", "Kiln price"),
        ("Lead glazes are safe\nfor whom?", "Lead glazes are safe for whom?"),
        ("\n\n", ""),
        ("---\n\nKiln", "Kiln"),
    ],
)
def test_the_heading_of_a_text(text: str, heading: str) -> None:
    assert heading_of(text) == heading


def test_a_long_heading_is_seen_to_be_cut() -> None:
    heading = heading_of("why " * 40)
    assert heading.endswith("…")
    assert len(heading) <= LONGEST + 1


@given(st.text(max_size=120))
def test_every_heading_of_a_task_is_known_to_who_checks_it(task: str) -> None:
    known = headings(task)
    for heading in (heading_of(task), *(question.heading for question in questions(task))):
        assert not heading or heading in known or heading.endswith("…")
