"""The offline researcher, on files and questions that nobody prepared for it."""

import json
import random
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import partial
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onepen.memory.recall.analysis import terms
from onepen.memory.scaffold import init
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.extractive.offline import Offline, next_blocks
from onepen.orchestrator.gateway.gateway import Gateway
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.results import TaskView
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.models import Resolver
from onepen.orchestrator.settings.setup import NOTHING
from onepen.orchestrator.tasks.workshop import Workshop
from onepen.staging.quotes import check_quotes
from onepen.subagents.messages import Message, ToolResult, ToolUse, user
from onepen.subagents.prompt import TaskWords, first_message
from onepen.testing.clock import FixedClock
from onepen.testing.ids import CountedIds
from onepen.testing.pool import InProcessPool

DATA = Path(__file__).parents[1] / "data"
REPOSITORY = Path(__file__).parents[2]
QUESTIONS = json.loads((DATA / "questions.json").read_text())
_QUOTE = re.compile(r'^(?:- )?> "(?P<text>.*)" \((?P<path>[^()]*):(?P<line>\d+)\)$')


class Desk:
    """A workspace with an in-process researcher; `ask` gives the task and its draft's body."""

    def __init__(self, folder: Path) -> None:
        init(folder, id="0123456789abcdef", name="", today=date(2026, 11, 29))
        self.root = folder
        workshop = Workshop(InProcessPool(), Gateway())
        self.service = Service(
            open_workspace(folder),
            clock=FixedClock("2026-11-29T09:30:00+01:00"),
            ids=CountedIds(),
            workshop=lambda: workshop,
            models=Resolver,
            user="ana",
            setup=lambda: NOTHING,
        )

    def ask(self, question: str, inputs: Sequence[Path], **options: str) -> tuple[TaskView, str]:
        request = DelegateRequest((question,), inputs=tuple(inputs), **options)  # type: ignore[arg-type]
        [task] = anyio.run(partial(self.service.delegate, request)).tasks
        [draft] = task.drafts
        return task, (self.root / draft.path).read_bytes().decode().split("\n---\n", 1)[1]

    def answer(self, question: str, inputs: Sequence[Path]) -> str:
        """The words that `--answer` prints."""
        request = DelegateRequest((question,), inputs=tuple(inputs), answer=True)
        [task] = anyio.run(partial(self.service.delegate, request)).tasks
        assert task.answer is not None
        return task.answer


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "ws")


@pytest.fixture(scope="module")
def studio_desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("studio") / "ws")


def quoted(body: str) -> list[tuple[str, str, int]]:
    """The quotes of a body by a reading of its own: text, path and line."""
    found = [_QUOTE.match(line) for line in body.split("\n")]
    return [(m["text"], m["path"], int(m["line"])) for m in found if m]


def invented(body: str, read: Callable[[str], str]) -> list[str]:
    """The quotes that do not stand, byte for byte, in the line that they cite."""
    wrong = []
    for text, path, line in quoted(body):
        lines = [row.removesuffix("\r") for row in read(path).split("\n")]
        if line > len(lines) or text not in lines[line - 1]:
            wrong.append(f"{path}:{line}: {text}")
    return wrong


def staged(desk: Desk, task: TaskView) -> Callable[[str], str]:
    def read(path: str) -> str:
        folder = desk.root / "staging" / task.task if path.startswith("inputs/") else desk.root
        return (folder / path).read_bytes().decode()

    return read


WORDS = (
    "kiln",
    "cone",
    "glaze",
    "clay",
    "fired",
    "Müller",
    "1220",
    "degrees",
    "slowly",
    "über",
    "窯",
    "Ofen",
    '"quoted"',
)
LINE = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(lambda words: "- " + " ".join(words) + "."),
    st.sampled_from(("", "", "# Kiln", "## Glaze (2)", "| a | b |", "```", '> "x" (y:1)', "---", "a|b `c` *d* <e>")),
)
TEXT = st.lists(LINE, max_size=25).flatmap(lambda rows: st.sampled_from(("\n", "\r\n")).map(lambda end: end.join(rows)))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.dictionaries(st.sampled_from(("a.md", "b.txt", "c d.md", "e.csv")), TEXT, min_size=1), words=st.data())
def test_whatever_is_asked_of_whatever_files_each_quote_stands_at_its_line(
    files: dict[str, str], words: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")
    desk = Desk(folder / "ws")
    sources = folder / "sources"
    sources.mkdir()
    for name, text in files.items():
        (sources / name).write_bytes(text.encode())
    question = " ".join(
        words.draw(st.lists(st.sampled_from((*WORDS, "Mongolia", "what", "is?")), min_size=1, max_size=6))
    )
    task, body = desk.ask(question, [sources])
    assert invented(body, staged(desk, task)) == []
    assert check_quotes(body, staged(desk, task)) == ()
    assert not [f for f in task.drafts[0].findings if f.level == "block"], task.drafts[0].findings
    assert len(quoted(body)) > 0 or "Nothing in what I read answers this." in body


def test_a_made_up_line_and_a_fixed_draft_would_be_found_out(desk: Desk, tmp_path: Path) -> None:
    source = tmp_path / "cones.md"
    source.write_text("# Cones\n\nCone 6 was reached at 1222 degrees.\n")
    task, body = desk.ask("At how many degrees was cone 6 reached?", [source])
    read = staged(desk, task)
    assert invented(body, read) == []
    assert invented(body.replace("1222", "1300"), read)
    assert invented(body.replace("cones.md:3", "cones.md:1"), read)
    assert check_quotes(body.replace("1222", "1300"), read)
    source.write_text("# Cones\n\nCone 6 was reached at 1300 degrees.\n")
    _, other = desk.ask("At how many degrees was cone 6 reached?", [source])
    assert other != body, "another file gives another draft"
    assert "1300" in other


def test_random_lines_of_real_documents_are_found_and_quoted_exactly(desk: Desk) -> None:
    """Picks lines of this repository's own texts at run time, and asks for them by some of their words."""
    folders = [folder for folder in (REPOSITORY / "docs", REPOSITORY / "examples") if folder.is_dir()]
    files = [path for folder in folders for path in sorted(folder.rglob("*.md"))] + [REPOSITORY / "README.md"]
    named = {path.name: path for path in random.sample(files, len(files))}  # a second file of a name gets another one
    chosen = list(named.values())[:8]
    rows = [(path, row) for path in chosen for row in path.read_text().split("\n") if len(set(terms(row))) >= 7]
    hits = 0
    picks = random.sample(rows, min(8, len(rows)))
    for path, row in picks:
        words = [word for word in re.findall(r"[A-Za-z]{4,}", row) if terms(word)]
        task, body = desk.ask("What about " + " ".join(dict.fromkeys(words)) + "?", chosen)
        assert invented(body, staged(desk, task)) == []
        hits += any(text in row and path.name == place.rpartition("/")[2] for text, place, _ in quoted(body))
    assert hits >= len(picks) // 2, f"{hits} of {len(picks)}"


def test_labelled_questions_are_answered_with_few_quotes(studio_desk: Desk) -> None:
    missed, many = [], []
    for question in (q for q in QUESTIONS if "path" in q and "shelf" not in q):
        body = studio_desk.answer(question["question"], [DATA / "studio"])
        said = " ".join(text for text, _, _ in quoted(body))
        if " ".join(question["says"].split()) not in said:
            missed.append(question["question"])
        if not 1 <= sum(1 for block in body.split("\n\n") if block.startswith('> "')) <= 6:
            many.append(question["question"])
    assert len(missed) <= 3, missed
    assert len(many) <= 1, many


@pytest.mark.parametrize("shelf", ["village", "harbour"])
def test_what_is_not_there_is_not_there_in_texts_of_any_kind(studio_desk: Desk, shelf: str) -> None:
    told = []
    for question in (q for q in QUESTIONS if "path" not in q and q.get("shelf") == shelf):
        body = studio_desk.answer(question["question"], [DATA / shelf])
        if not body.startswith("Nothing in what I read answers this."):
            told.append(question["question"])
    assert told == []


def test_a_row_of_a_table_is_quoted_with_its_columns(desk: Desk) -> None:
    _, body = desk.ask("How much does a Croissant cost?", [DATA / "village"])
    assert quoted(body) == [
        ("item,price,unit,vat", "inputs/village/prices.csv", 1),
        ('Croissant,"1,40",piece,7', "inputs/village/prices.csv", 2),
    ]
    assert "Read " not in body, "what was read is said in the report, not in the card"


def test_the_columns_are_read_however_far_down_the_row_is(desk: Desk, tmp_path: Path) -> None:
    source = tmp_path / "stock.csv"
    source.write_text("item,price\n" + "".join(f"Bun {k},{k}.10\n" for k in range(500)) + "Tart,4.20\n")
    _, body = desk.ask("What is the price of a Tart?", [source])
    assert [(text, line) for text, _, line in quoted(body)] == [("item,price", 1), ("Tart,4.20", 502)]
    source.write_text("item,price\nApple tart,4.20\nPear tart,4.30\nPlum tart,4.40\nBun,1.00\n")
    _, body = desk.ask("What is the price of a tart?", [source])
    assert sorted(line for _, _, line in quoted(body)) == [1, 2, 3, 4], "the columns stand there once"


def test_a_question_that_was_answered_before_is_answered_from_the_inputs_again(desk: Desk) -> None:
    question, sources = "When did the kiln reach cone 6?", [REPOSITORY / "examples/texts/studio"]
    first, body = desk.ask(question, sources)
    assert "Cone 6 only at four o'clock." in body
    assert desk.service.approve([first.drafts[0].id]).exit_code == 0
    _, again = desk.ask(question, sources, target="research/again.md")
    assert quoted(again)
    assert {path.partition("/")[0] for _, path, _ in quoted(again)} == {"inputs"}


def test_what_is_not_there_is_said_to_be_not_there(studio_desk: Desk) -> None:
    told, near = [], []
    absent = [q for q in QUESTIONS if "path" not in q and "shelf" not in q]
    for question in absent:
        body = studio_desk.answer(question["question"], [DATA / "studio"])
        said, _, nearest = body.partition("Nearest, but no answer:")
        if quoted(nearest):
            near.append(question["question"])
        if quoted(said) or not body.startswith("Nothing in what I read answers this."):
            told.append(question["question"])
    assert told == []
    assert len(near) < 0.1 * len(absent), near


def test_where_nothing_answers_what_comes_nearest_is_shown_as_such(desk: Desk, tmp_path: Path) -> None:
    source = tmp_path / "mails.md"
    rim = ["A rim of 4 mm does not chip.", "Every rim is rounded.", "A thin rim chips."]
    days = [f"Nothing happened on day {n}, and a lesson cost 30 EUR." for n in range(40)]
    source.write_text("\n\n".join([*rim, *days]))
    task, body = desk.ask("How thick should the rim be?", [source])
    said = body.partition("Nearest")[0]
    assert said == "## Not found\n\nNothing in what I read answers this.\n\nNot found in what I read:\n- thick\n\n"
    nearest = [text for text, _, _ in quoted(body.partition("Nearest, but no answer:\n")[2])]
    assert len(nearest) == 2
    assert set(nearest) <= set(rim)
    front = (desk.root / task.drafts[0].path).read_text().partition("---\n## ")[0]
    assert "keywords: [], summary: Nothing in what I read answers this." in front
    answer = desk.answer("How thick should the rim be?", [source])
    first, missing, near = (answer.index(text) for text in ("Nothing in", "thick", "Nearest, but no answer:"))
    assert first < missing < near < answer.index(">")
    for question in ("How much does a violin cost?", "Who painted the Mona Lisa?"):
        assert "Nearest" not in desk.answer(question, [source])


def test_questions_are_split_into_headings_that_read_well(desk: Desk, tmp_path: Path) -> None:
    source = tmp_path / "log.md"
    source.write_text("Plates cracked in the bisque firing.\n\nPlates stand on the second shelf after the firing.\n")
    question = "Why did plates crack in the bisque, and where do plates stand after the firing?"
    task, body = desk.ask(question, [source], review="auto")
    assert "## Why did plates crack in the bisque?\n" in body
    assert "## Where do plates stand after the firing?\n" in body
    assert task.status == "committed"


def test_the_index_keeps_underscores_inside_words(desk: Desk, tmp_path: Path) -> None:
    source = tmp_path / "states.md"
    source.write_text("A draft that waits has the state `in_review` and is *not* in memory.\n")
    task, _ = desk.ask("Which state has a draft that waits?", [source], review="auto")
    assert task.status == "committed"
    index = (desk.root / "research/_index.md").read_text()
    assert "— A draft that waits has the state in_review and is not in memory. `" in index


def test_a_passage_is_quoted_once_and_each_quoted_line_is_a_source(desk: Desk, tmp_path: Path) -> None:
    source = tmp_path / "log.md"
    long = "The studio was open and nothing of note happened that day, as everybody agreed later on. " * 5
    day = f"{long}The glaze cracked twice. {long}\nThe glaze cracked again.\n"
    source.write_text(f"The glaze cracked badly\nat noon.\n\n{day}")
    task, body = desk.ask("Where has the glaze cracked?", [source])
    lines = [line for _, _, line in quoted(body)]
    assert len([line for line in lines if line >= 4]) == 1
    assert {1, 2} <= set(lines)
    front = (desk.root / task.drafts[0].path).read_text().partition("provenance")[0]
    assert re.findall(r'"inputs/log.md:(\d+)"', front) == [str(n) for n in lines]


def test_what_an_earlier_finding_asked_never_passes_as_a_quote(desk: Desk, tmp_path: Path) -> None:
    source = tmp_path / "a.md"
    source.write_text("Lead is never safe in cups.\n")
    first, _ = desk.ask("Is lead safe in cups?", [source], review="auto")
    assert first.status == "committed"
    _, body = desk.ask("Is lead safe in cups for drinking?", [])
    assert all(not text.startswith("#") for text, _, _ in quoted(body))


def test_a_task_with_several_questions_gets_a_section_for_each(desk: Desk, tmp_path: Path) -> None:
    source = tmp_path / "studio.md"
    source.write_text("# Studio\n\nThe kiln was built in 1998 by Goerg.\n\nClay comes from the Westerwald quarry.\n")
    question = "When was the kiln built? Where does the clay come from? Who painted the Mona Lisa?"
    task, body = desk.ask(question, [source])
    assert '## When was the kiln built?\n\n> "The kiln was built in 1998 by Goerg."' in body
    assert '## Where does the clay come from?\n\n> "Clay comes from the Westerwald quarry."' in body
    assert (
        "## Who painted the Mona Lisa?\n\nNothing in what I read answers this.\n\nNot found in what I read:\n" in body
    )
    desk.service.approve([task.drafts[0].id])
    index = (desk.root / "research/_index.md").read_text()
    assert "#when-was-the-kiln-built) — The kiln was built in 1998 by Goerg." in index
    assert desk.service.doctor().ok


def test_memory_is_read_too_and_cited_by_its_path(desk: Desk) -> None:
    desk.service.add_project("Kiln", id="kiln", text="## Firing\n\nThe studio fires at 1220 degrees since May.\n")
    task, body = desk.ask("At how many degrees does the studio fire?", [])
    assert '> "The studio fires at 1220 degrees since May." (projects/kiln.md:' in body
    assert invented(body, staged(desk, task)) == []
    assert task.drafts[0].provenance == "agent"


def test_a_card_that_is_there_is_added_to(desk: Desk, tmp_path: Path) -> None:
    desk.service.add_project("Kiln", id="kiln", text="## What I found\n\nOld news.\n")
    source = tmp_path / "cones.md"
    source.write_text("Cone 6 was reached at 1222 degrees.\n")
    question = "At how many degrees was cone 6 reached?"
    task, _ = desk.ask(question, [source], target="projects/kiln.md")
    assert desk.service.approve([task.drafts[0].id]).exit_code == 0
    card = (desk.root / "projects/kiln.md").read_text()
    assert "Old news.\n" in card
    assert f'## {question}\n\n> "Cone 6 was reached at 1222 degrees." (inputs/cones.md:1)\n' in card
    assert "(kiln.md#at-how-many-degrees-was-cone-6-reached)" in (desk.root / "projects/_index.md").read_text()


def test_long_documents_are_read_in_pages_around_what_was_found(desk: Desk, tmp_path: Path) -> None:
    rows = [f"Entry {k}: nothing of note happened that day." for k in range(9_000)]
    rows[7_654] = "The glaze cracked because the kiln door was opened at 300 degrees."
    source = tmp_path / "log.md"
    source.write_text("\n\n".join(rows))
    task, body = desk.ask("Why did the glaze crack?", [source])
    assert quoted(body) == [(rows[7_654], "inputs/log.md", 2 * 7_654 + 1)]
    transcript = (desk.root / "staging" / task.task / "1" / "transcript.jsonl").stat().st_size
    assert transcript < 100_000


def test_a_wrapped_sentence_is_quoted_line_by_line(desk: Desk, tmp_path: Path) -> None:
    source = tmp_path / "log.md"
    source.write_text(
        "The first firing went well and everybody\nwas happy with it.\n\n"
        "In November the glaze cracked because the kiln\ndoor was opened at 300 degrees by\na curious visitor.\n"
    )
    _, body = desk.ask("Why did the glaze crack?", [source])
    assert [(path, line) for _, path, line in quoted(body)] == [("inputs/log.md", n) for n in (4, 5, 6)]


def test_it_is_a_pure_function_of_the_conversation() -> None:
    messages = [first_message(TaskWords("Why did the glaze crack?", ("log.md",), "research/x.md"))]
    once, again = next_blocks(messages), next_blocks(messages)
    assert once == again
    [search] = [block for block in once if isinstance(block, ToolUse)]
    assert (search.name, search.input["query"]) == ("search", "Why did the glaze crack?")
    messages += [Message("assistant", once), user(ToolResult(search.id, "search: broken", is_error=True))]
    later = next_blocks(messages)
    assert [b.name for b in later if isinstance(b, ToolUse)] in (["read_card"], ["write_draft"])


def test_a_draft_that_is_not_taken_is_reported_not_repeated_for_ever() -> None:
    messages = [first_message(TaskWords("Why?", (), "research/x.md"))]
    for _ in range(8):
        blocks = next_blocks(messages)
        calls = [b for b in blocks if isinstance(b, ToolUse)]
        if calls[0].name == "report":
            assert "not taken" in str(calls[0].input)
            return
        messages += [Message("assistant", blocks), user(*_refuse(calls))]
    raise AssertionError("it never reported")


def _refuse(calls: Iterable[ToolUse]) -> list[ToolResult]:
    return [ToolResult(call.id, "refused", is_error=True) for call in calls]


def test_it_says_its_name_and_costs_nothing() -> None:
    assert Offline().name == "offline"
