"""What the offline model found, as a draft and in words: quotes, fixed phrases, the task's own words, nothing else."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...memory.errors import MemoryFault
from ...memory.ids import id_from_title
from ...memory.index.index import EntryRefused, IndexEntry
from ...memory.recall.analysis import asked, terms
from ...memory.recall.question import understood
from ...memory.target import FileTarget, NoteTarget, Target, parse_target
from ...memory.text.document import parse_document
from ...staging.phrases import FOUND, GAPS, NEAREST, NOT_FOUND, NOTHING_FOUND
from ...staging.question import Question, heading_of
from ...staging.summary import summary_of, words_of
from ...subagents.prompt import TaskWords
from ..tasks.lookup import count
from .excerpt import Excerpt

__all__ = ["Part", "draft_input", "heading_of", "in_words", "place_of", "summary"]

_MOST_SOURCES = 64


@dataclass(frozen=True)
class Part:
    """One question: what is quoted for it, and which of its words stand nowhere.

    `nearest` is what comes nearest to an answer where there is none.
    """

    question: Question
    excerpts: tuple[Excerpt, ...]
    missing: tuple[str, ...]
    nearest: tuple[Excerpt, ...] = ()

    @property
    def quoted(self) -> tuple[Excerpt, ...]:
        return (*self.excerpts, *self.nearest)


def place_of(task: TaskWords) -> Target | None:
    """Where the task's result should go; None when nobody said so."""
    try:
        return None if task.target is None else parse_target(task.target)
    except MemoryFault:
        return None


def draft_input(task: TaskWords, parts: Sequence[Part], card: str | None) -> Mapping[str, object]:
    """The input of `write_draft`: a new finding, or text added to the card that is there."""
    title, target = heading_of(task.text), place_of(task)
    appended = card is not None or isinstance(target, NoteTarget)
    body = "\n".join(_body(title, parts, appended=appended))
    given: dict[str, object] = {"text": body, "title": title, "sources": list(_sources(parts))}
    if target is None:
        given["target"] = f"research/{id_from_title(title)}.md"
    if not isinstance(target, NoteTarget) and (entries := _entries(body, card or "", parts)):
        given["index"] = entries[:1] if isinstance(target, FileTarget) else entries
    return given


def summary(parts: Sequence[Part], read: tuple[int, int]) -> str:
    """What was done, in a sentence or two."""
    excerpts = [one for part in parts for one in part.excerpts]
    looked = f"Read {count(read[0], 'file')}, {count(read[1], 'line')}."
    if not excerpts:
        return f"{NOTHING_FOUND} {_missing(parts)}{looked}"
    files = len({one.path for one in excerpts})
    open_ones = sum(1 for part in parts if not part.excerpts)
    left = f" {open_ones} of {len(parts)} questions found no answer." if open_ones else ""
    return f"{count(len(excerpts), 'passage')} quoted from {count(files, 'file')}.{left} {_missing(parts)}{looked}"


def in_words(parts: Sequence[Part]) -> str:
    """The answer as it can be printed: the quotes with their places, or that there is none."""
    rows: list[str] = []
    for part in parts:
        if len(parts) > 1:
            rows += [part.question.heading, ""]
        rows += [row for one in part.excerpts for row in (one.render(), "")] or [NOTHING_FOUND, ""]
        if part.missing:
            rows += [f"{NOT_FOUND} {', '.join(part.missing)}", ""]
        if part.nearest:
            rows += [NEAREST, "", *(row for one in part.nearest for row in (one.render(), ""))]
    return "\n".join(rows).rstrip()


def _body(title: str, parts: Sequence[Part], *, appended: bool) -> Iterator[str]:
    several = len(parts) > 1
    if appended and several:
        yield from (f"## {title}", "")
    for part in parts:
        alone = title if appended else FOUND if part.excerpts else GAPS
        yield f"{'###' if appended and several else '##'} {part.question.heading if several else alone}"
        yield ""
        for one in part.excerpts:
            yield from (one.render(), "")
        if not part.excerpts:
            yield from (NOTHING_FOUND, "")
        if part.missing:
            yield from (NOT_FOUND, *(f"- {word}" for word in part.missing), "")
        if part.nearest:
            yield from (NEAREST, "", *(row for one in part.nearest for row in (one.render(), "")))


def _entries(body: str, card: str, parts: Sequence[Part]) -> list[Mapping[str, object]]:
    """An index entry for each section that answers, with words of the quotes only."""
    before = card if not card or card.endswith("\n") else card + "\n"
    known = len(parse_document(before).sections)
    sections = parse_document(f"{before}\n{body}").sections[known:]
    if len(sections) > len(parts):
        sections = sections[len(sections) - len(parts) :]
    found: list[Mapping[str, object]] = []
    for section, part in zip(sections, parts, strict=False):
        said = _said(part) if part.excerpts else NOTHING_FOUND
        try:
            entry = IndexEntry(section.id, said, _keywords(part))
        except EntryRefused:
            continue  # the pen makes one from the heading
        found.append({"section_id": entry.section_id, "summary": entry.summary, "keywords": list(entry.keywords)})
    return found


def _said(part: Part) -> str:
    """The statement of the first excerpt that answers best, as a line of the index: it looks as an answer would."""
    question = understood(part.question.text)
    wanted = set(question.words)

    def weigh(text: str) -> int:
        shows = question.look is not None and question.look.shows(text)
        return 2 * len(wanted & set(terms(text))) + (3 if shows else 0)

    return summary_of(max(part.excerpts[0].statements, key=weigh), weigh)


def _keywords(part: Part) -> tuple[str, ...]:
    """Words of the question that stand in the quotes, as they are written there."""
    wanted = set(asked(part.question.text))
    words: dict[str, None] = {}
    for word in (word for one in part.excerpts for piece in one.pieces for word in words_of(piece.text)):
        if len(word) > 2 and wanted & set(terms(word)):
            words.setdefault(word.casefold())
    return tuple(words)[:6]


def _sources(parts: Sequence[Part]) -> tuple[str, ...]:
    places = dict.fromkeys(place for part in parts for one in part.quoted for place in one.places)
    return tuple(places)[:_MOST_SOURCES]


def _missing(parts: Sequence[Part]) -> str:
    words = tuple(dict.fromkeys(word for part in parts for word in part.missing))
    return f"{NOT_FOUND} {', '.join(words)}. " if words else ""
