"""Ranking by a labelled set: questions over texts of a small studio, each with the line that answers it or none."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.recall.passage import Passage, passages
from onepen.memory.recall.ranking import ANSWERED, Ranking

DATA = Path(__file__).parents[1] / "data"
QUESTIONS = json.loads((DATA / "questions.json").read_text())
THERE = [q for q in QUESTIONS if "path" in q]
NOT_THERE = [q["question"] for q in QUESTIONS if "path" not in q]


@pytest.fixture(scope="module")
def studio() -> Ranking:
    files = sorted((DATA / "studio").iterdir())
    return Ranking([passage for file in files for passage in passages(file.name, file.read_text())])


def test_the_labels_are_right() -> None:
    for question in THERE:
        assert question["says"] in (DATA / "studio" / question["path"]).read_text(), question


def test_the_answering_passage_comes_first(studio: Ranking) -> None:
    missed = []
    for question in THERE:
        best = studio.find(question["question"], 1)
        if not best or best[0].passage.path != question["path"] or question["says"] not in best[0].passage.text:
            missed.append(question["question"])
    assert len(missed) <= 1, missed


def test_the_answering_line_is_named(studio: Ranking) -> None:
    missed = []
    for question in THERE:
        best = studio.find(question["question"], 1)
        if not best or question["says"] not in best[0].line_text:
            missed.append(question["question"])
    assert len(missed) <= 3, missed


def test_coverage_tells_an_answer_from_none(studio: Ranking) -> None:
    for question in THERE:
        if not question.get("hard"):
            assert studio.find(question["question"], 1)[0].coverage >= ANSWERED, question
    for text in NOT_THERE:
        assert all(found.coverage < ANSWERED - 0.05 for found in studio.find(text, 10)), text


@pytest.mark.parametrize("question", [q["question"] for q in THERE])
def test_a_quote_stands_in_its_line_and_the_line_in_its_file(studio: Ranking, question: str) -> None:
    for found in studio.find(question, 5):
        lines = (DATA / "studio" / found.passage.path).read_text().split("\n")
        assert lines[found.line - 1] == found.line_text
        assert found.quote and found.quote in found.line_text
        assert found.passage.line <= found.line <= found.passage.end


def test_words_that_stand_nowhere_are_named_as_they_were_asked(studio: Ranking) -> None:
    assert studio.missing("Does the Kubernetes-operator fire the kiln?") == ("Kubernetes-operator",)
    assert studio.missing("Which glaze?") == ()


def test_a_heading_answers_for_what_stands_under_it() -> None:
    ranking = Ranking(passages("projects/kiln.md", "# Kiln\n\n## Glaze\nCeladon since May.\n"))
    assert [(f.line, f.line_text) for f in ranking.find("Which glaze?", 5)] == [(4, "Celadon since May.")]


def test_front_matter_answers_only_when_nothing_else_does() -> None:
    ranking = Ranking(passages("research/cone.md", "---\ntitle: Cone\ncreated: 2026-11-02\n---\n# Cone\n\nCone 6.\n"))
    assert ranking.find("cone", 1)[0].line_text == "Cone 6."
    assert ranking.find("When was it created?", 1)[0].line_text == "created: 2026-11-02"


def test_of_a_long_line_the_sentence_is_quoted() -> None:
    filler = "It rained on that day and nobody came by. " * 8
    line = f"{filler}The fuse in the cellar trips at 32 A. {filler}".strip()
    found = Ranking(passages("a.md", line)).find("When does the fuse trip?", 1)
    assert found[0].quote == "The fuse in the cellar trips at 32 A."


def test_a_relative_of_a_word_counts_by_half() -> None:
    ranking = Ranking(passages("a.md", "The decision fell on Monday.\n\nNothing else.\n"))
    found = ranking.find("what was decided", 1)
    assert found[0].line == 1
    assert found[0].coverage == pytest.approx(0.5)


def test_passages_that_were_left_out_make_a_word_rarer() -> None:
    some = passages("a.md", "The kiln.\n\nThe kiln and its glaze.\n\nThe kiln again.\n")
    few, many = Ranking(some).find("kiln", 1)[0], Ranking(some, others=1_000).find("kiln", 1)[0]
    assert many.score > few.score
    assert many.coverage == few.coverage == 1


def test_a_number_is_found_in_any_spelling() -> None:
    ranking = Ranking(passages("a.md", "It costs 1,200 EUR.\n\nVersion 4.3.1 is out.\n"))
    assert [f.line for f in ranking.find("1200", 5)] == [1]
    assert [f.line for f in ranking.find("v4.3.1", 5)] == [3]


def test_nothing_is_found_in_nothing() -> None:
    assert Ranking([]).find("glaze", 5) == ()
    assert Ranking(passages("a.md", "glaze")).find("", 5) == ()
    assert Ranking(passages("a.md", "glaze")).find("glaze", 0) == ()


@given(st.lists(st.text(alphabet="abc kiln\n", min_size=1), max_size=8), st.text(alphabet="abc kiln?"))
def test_results_are_ordered_and_within_bounds(texts: list[str], question: str) -> None:
    ranking = Ranking([Passage(f"{k}.md", 1, text.count("\n") + 1, text) for k, text in enumerate(texts)])
    found = ranking.find(question, 3)
    assert [f.score for f in found] == sorted((f.score for f in found), reverse=True)
    assert all(0 <= f.coverage <= 1 and f.score > 0 for f in found)
    assert ranking.find(question, 3) == found
