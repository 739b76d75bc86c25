"""The offline model: an extractive researcher. No key, no network, no prose of its own.

A pure function of the conversation: it searches for what was asked, reads around what was found, writes one draft of
verbatim quotes with their places, says which words stand nowhere, and reports. A question whose answer is not there
gets just that as its answer. It works through the same tools, wire, staging and review as any other model.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...memory.recall.analysis import asked, asks_for_figure, terms
from ...memory.recall.passage import is_headed, is_heading
from ...memory.recall.search import ANSWERED
from ...memory.target import CardTarget
from ...staging.question import Question, questions
from ...subagents.messages import Block, Message, Text, ToolResult, ToolUse, assistant
from ...subagents.model import Listener, ModelReply, ModelRequest, Usage
from ...subagents.prompt import TaskWords, task_words
from ...subagents.toolbox.page import parse_page
from ..chat.prompt import MAIN
from ..tasks.lookup import Answer, Found, parse_answer
from .excerpt import Excerpt, distinct, excerpt
from .findings import Part, draft_input, in_words, place_of, summary

SEARCHED = 24
MOST_QUOTES = 6
MOST_OF_A_PART = 3
AROUND = 40
MAX_READS = 16
MAX_TRIES = 2
NEAR_SHARE, NEAR_WEIGHT = 0.72, 0.6  # how near to the best place another has to come, by trial
MOST_NEAREST, NEAREST_SHARE = 2, 0.35  # what is shown where nothing answers: it holds this share of the question


class Offline:
    """Answers each request from the request alone."""

    @property
    def name(self) -> str:
        return "offline"

    async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        blocks = _blocks(request)
        calls = any(isinstance(block, ToolUse) for block in blocks)
        if listener is not None and (said := assistant(*blocks).text):
            listener.text(said)
        return ModelReply(blocks, "tool_use" if calls else "end_turn", Usage(), "offline")


def _blocks(request: ModelRequest) -> tuple[Block, ...]:
    if request.agent == MAIN:
        from .talk import next_blocks as answer

        return answer(request.messages)
    return next_blocks(request.messages)


def next_blocks(messages: Sequence[Message]) -> tuple[Block, ...]:
    """What comes next in the conversation: searches, then reading, then the draft, then the report."""
    told = _Told.of(messages)
    if not told.answers:
        return _searches(told)
    places = _places(told)
    if told.turns == 1:
        reads = _reads(told, places)
        if reads:
            return reads
    parts = _parts(told, places)
    if not told.task.answer and not told.written and told.tries < MAX_TRIES:
        given = draft_input(told.task, parts, told.card)
        if told.tries:  # a card that is longer than what was read may name its sections otherwise
            given = {key: value for key, value in given.items() if key != "index"}
        return (_call(told, 0, "write_draft", given),)
    return (_call(told, 0, "report", _report(told, parts)),)


# -- what the conversation has told so far -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Told:
    """The conversation, understood: what was asked, what the searches said, the lines that were read.

    `card` is the text of the card that the task is to change, None when there is none yet. `tries` counts the calls
    of the draft tool, and `refused` is what it said when it took no draft.
    """

    task: TaskWords
    queries: tuple[Question, ...]
    answers: tuple[Answer, ...]
    pages: Mapping[str, Mapping[int, str]]
    card: str | None
    written: bool
    tries: int
    refused: str
    turns: int

    @property
    def read(self) -> tuple[int, int]:
        """How many files and lines the searches went through."""
        return (self.answers[0].files, self.answers[0].lines) if self.answers else (0, 0)

    @classmethod
    def of(cls, messages: Sequence[Message]) -> "_Told":
        task = task_words(messages[0]) or TaskWords(messages[0].text)
        results = {b.tool_use_id: b for m in messages for b in m.content if isinstance(b, ToolResult)}
        answers: list[Answer] = []
        pages: dict[str, dict[int, str]] = {}
        card: str | None = None
        written, tries, refused = False, 0, ""
        for use in (use for m in messages if m.role == "assistant" for use in m.tool_uses):
            result = results.get(use.id)
            if result is None:
                continue
            if use.name == "search":
                answers.append(Answer((), (), 0, 0) if result.is_error else parse_answer(result.content))
            elif use.name in {"read_card", "read_input"} and not result.is_error:
                page = parse_page(result.content)
                if page is not None:
                    pages.setdefault(page.path, {}).update({n.number: n.text for n in page.lines if not n.cut})
                    if page.path == task.target:
                        card = "\n".join(line.text for line in page.lines)
            elif use.name == "write_draft":
                written, tries, refused = not result.is_error, tries + 1, result.content if result.is_error else ""
        turns = sum(1 for m in messages if m.role == "assistant")
        return cls(task, questions(task.text), tuple(answers), pages, card, written, tries, refused, turns)


# -- the steps ---------------------------------------------------------------------------------------------------------


def _call(told: "_Told", k: int, name: str, given: Mapping[str, object]) -> ToolUse:
    return ToolUse(f"offline_{told.turns + 1}_{k + 1}", name, dict(given))


def _searches(told: _Told) -> tuple[Block, ...]:
    return (
        Text("Searching for what was asked."),
        *(_call(told, k, "search", {"query": q.text, "limit": SEARCHED}) for k, q in enumerate(told.queries)),
    )


@dataclass(frozen=True)
class _Places:
    """The places worth quoting for one question, best first; where the answer is not there, those that come nearest."""

    answering: tuple[Found, ...]
    nearest: tuple[Found, ...]


def _places(told: _Told) -> tuple[_Places, ...]:
    most = MOST_QUOTES if len(told.queries) == 1 else MOST_OF_A_PART
    return tuple(
        _worth_quoting(question.text, answer, 2 * most)
        for question, answer in zip(told.queries, told.answers, strict=True)
    )


def _worth_quoting(question: str, answer: Answer, most: int) -> _Places:
    said = set(terms(question))
    places = [place for place in answer.places if not (is_heading(place.text) and said.issuperset(terms(place.text)))]
    best = max((place.share for place in places), default=0.0)
    if best < ANSWERED:
        return _Places((), tuple(_nearest(question, places)))
    floor = max(ANSWERED, NEAR_SHARE * best)
    near = (place for place in places if place.share >= floor and place.weight >= NEAR_WEIGHT)
    return _Places(tuple(near)[:most], ())


def _nearest(question: str, places: Sequence[Found]) -> Iterator[Found]:
    """Places that name what is asked about; that something costs, too, is no reason to show it."""
    subject = asked(question)[-1:]
    if subject and not asks_for_figure(subject[0]):
        yield from (place for place in places if place.share >= NEAREST_SHARE and subject[0] in terms(place.text))


def _reads(told: _Told, places: Sequence[_Places]) -> tuple[Block, ...]:
    """Pages around the places, each file at most twice; and the card that is to be changed."""
    calls: list[Block] = []
    covered: list[tuple[str, int, int]] = []
    if isinstance(place_of(told.task), CardTarget) and not told.task.answer:
        calls.append(_call(told, 0, "read_card", {"card": told.task.target}))
    for place in (place for part in places for place in (*part.answering, *part.nearest)):
        if any(path == place.path and first <= place.line <= last for path, first, last in covered):
            continue
        if len(calls) >= MAX_READS:
            break
        first = max(1, place.line - AROUND)
        covered.append((place.path, first, place.line + AROUND // 2))
        shelf, _, name = place.path.partition("/")
        if shelf == "inputs":
            given: dict[str, object] = {"name": name, "start": first, "lines": 2 * AROUND}
            calls.append(_call(told, len(calls), "read_input", given))
            if first > 1 and is_headed(name) and not any(path == place.path and f == 1 for path, f, _ in covered):
                covered.append((place.path, 1, 1))
                calls.append(_call(told, len(calls), "read_input", {"name": name, "start": 1, "lines": 1}))
        else:
            calls.append(_call(told, len(calls), "read_card", {"card": place.path, "start": first}))
    return tuple(calls)


def _parts(told: _Told, places: Sequence[_Places]) -> tuple[Part, ...]:
    """What each question found, as quotes."""
    parts: list[Part] = []
    most = MOST_QUOTES if len(told.queries) == 1 else MOST_OF_A_PART
    for question, answer, found in zip(told.queries, told.answers, places, strict=True):
        answering = _quoted(told, found.answering, question.text, most)
        nearest = () if answering else _quoted(told, found.nearest, question.text, MOST_NEAREST)
        parts.append(Part(question, answering, answer.missing, nearest))
    return tuple(parts)


def _quoted(told: _Told, places: Sequence[Found], question: str, most: int) -> tuple[Excerpt, ...]:
    """The excerpts at places, from the lines that were read there; a place that wasn't read is not quoted."""
    read = ((place, told.pages[place.path]) for place in places if place.path in told.pages)
    found = (excerpt(place.path, lines, place.line, question) for place, lines in read)
    return distinct((one for one in found if one is not None), most)


def _report(told: _Told, parts: Sequence[Part]) -> Mapping[str, object]:
    said = summary(parts, told.read)
    if told.refused:
        said = f"{said} The draft was not taken: {told.refused}"
        return {"summary": said, "answer": in_words(parts), "complete": False}
    return {"summary": said, "answer": in_words(parts), "complete": all(part.excerpts for part in parts)}
