"""Ranking by a labelled set: questions over texts of many kinds, each with the line that answers it or none."""

import json
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.recall.passage import Passage, passages
from onepen.memory.recall.ranking import ANSWERED, Ranking, Scored

DATA = Path(__file__).parents[1] / "data"
QUESTIONS = json.loads((DATA / "questions.json").read_text())
THERE = [q for q in QUESTIONS if "path" in q]
NOT_THERE = [q for q in QUESTIONS if "path" not in q]
Labelled = dict[str, str]


class Shelves:
    """The folders with the texts; a question is asked of one of them."""

    def __init__(self) -> None:
        self._known: dict[str, Ranking] = {}

    @staticmethod
    def folder(question: Labelled) -> Path:
        return DATA / question.get("shelf", "studio")

    def find(self, question: Labelled, limit: int) -> tuple[Scored, ...]:
        folder = self.folder(question)
        if str(folder) not in self._known:
            cut = [passage for file in sorted(folder.iterdir()) for passage in passages(file.name, file.read_text())]
            self._known[str(folder)] = Ranking(cut)
        return self._known[str(folder)].find(question["question"], limit)


@pytest.fixture(scope="module")
def shelves() -> Shelves:
    return Shelves()


@pytest.fixture(scope="module")
def studio() -> Ranking:
    files = sorted((DATA / "studio").iterdir())
    return Ranking([passage for file in files for passage in passages(file.name, file.read_text())])


def test_the_labels_are_right() -> None:
    for question in THERE:
        assert question["says"] in (Shelves.folder(question) / question["path"]).read_text(), question


def test_the_answering_passage_comes_first(shelves: Shelves) -> None:
    missed = []
    for question in THERE:
        best = shelves.find(question, 1)
        if not best or best[0].passage.path != question["path"] or question["says"] not in best[0].passage.text:
            missed.append(question["question"])
    assert len(missed) <= 5, missed


def test_the_answering_line_is_named(shelves: Shelves) -> None:
    missed = []
    for question in THERE:
        best = shelves.find(question, 1)
        if not best or question["says"] not in best[0].line_text:
            missed.append(question["question"])
    assert len(missed) <= 8, missed


def test_coverage_tells_an_answer_from_none(shelves: Shelves) -> None:
    lost = [q["question"] for q in THERE if shelves.find(q, 1)[0].coverage < ANSWERED and not q.get("hard")]
    made_up = [q["question"] for q in NOT_THERE if any(f.coverage >= ANSWERED for f in shelves.find(q, 10))]
    assert len(lost) <= 4, lost
    assert len(made_up) <= 1, made_up


@pytest.mark.parametrize("question", [q["question"] for q in THERE if "shelf" not in q])
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


def first(text: str, question: str, path: str = "notes.md") -> tuple[str, bool]:
    """The line that is named first, and whether it counts as an answer."""
    found = Ranking(passages(path, dedent(text))).find(question, 1)
    return (found[0].line_text.strip(), found[0].coverage >= ANSWERED) if found else ("", False)


def test_one_absent_word_beside_another_does_not_lose_the_answer() -> None:
    assert first("The wire ran along the ridge.\n\nSheep.\n", "What is the wire and the pool?")[1]
    assert not first("The wire ran along the ridge.\n\nSheep.\n", "What is the price of the pool?")[1]


def test_words_that_ask_for_the_same_find_each_other() -> None:
    table = "item,price\nCroissant,1.40\nBaguette,1.90\n"
    assert first(table, "How much does a Croissant cost?", "prices.csv") == ("Croissant,1.40", True)
    assert first('The starter is called "Herta".\n\nThe starter is sour.\n', "What is the name of the starter?") == (
        'The starter is called "Herta".',
        True,
    )


def test_a_name_that_is_not_said_is_not_answered() -> None:
    text = "The ferry to Norddeich leaves at nine.\n\nThe island is flat.\n"
    assert first(text, "When does the ferry to Norddeich leave?")[1]
    assert not first(text, "When does the ferry to Amrum leave?")[1]


@pytest.mark.parametrize(
    ("line", "question"),
    [
        (
            "- Asked the chimney sweep (via phone); he comes on 9 June.",
            "What is the phone number of the chimney sweep?",
        ),
        ("Svenja Holm, treasurer, pays the bills.", "What is the e-mail address of Svenja Holm?"),
        ("The cellar door has a new lock.", "Which colour is the cellar door?"),
        ("The parrot could swear in three languages.", "How heavy is the parrot?"),
        ("- Load: 38 cups and 6 test tiles.", "How much does a cup cost?"),
        ("The new seal holds 400 firings.", "How expensive is the seal?"),
    ],
)
def test_what_does_not_look_as_an_answer_would_is_none(line: str, question: str) -> None:
    assert first(f"{line}\n\nIt rained.\n", question) == (line, False)


def test_a_line_that_gives_a_thing_its_value_comes_first() -> None:
    code = """\
        Q10 = 2.0

        def rate(t):
            raise ValueError(f"{t} is no value for Q10")
        """
    assert first(code, "What is the Q10 value?", "rate.py") == ("Q10 = 2.0", True)


def test_not_the_question_but_its_answer_is_named() -> None:
    text = "**Are dogs allowed?**\nIn the garden yes, in the house no.\n\n**Is there tea?**\n\nOnly on Sundays.\n"
    assert first(text, "Are dogs allowed?") == ("In the garden yes, in the house no.", True)
    assert first(text, "Is there tea?") == ("Only on Sundays.", True)
    letter = "§ 2 Dauer\nDer Vertrag läuft fünf Jahre.\n\n§ 3 Miete\nSie beträgt 90 Euro.\n"
    assert first(letter, "Wie lange ist die Dauer?", "vertrag.txt") == ("Der Vertrag läuft fünf Jahre.", True)


def test_a_row_knows_the_line_of_its_columns() -> None:
    assert [p.head for p in passages("a.csv", "item,price\nTea,2\n")] == [1, 1]
    assert [p.head for p in passages("a.md", "Text.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")] == [None, 3]
