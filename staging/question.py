"""The questions of a task and how they read as headings: one reading, for who writes them and for who checks them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..memory.recall.analysis import asked
from ..memory.text.clip import clip
from .sentence import Paragraphs, ends

MOST_PARTS = 4
"""The most questions that are answered one by one."""
LONGEST = 80
"""The most characters of a heading; a longer one is cut, with a mark of omission behind."""

_ASKS = (
    r"who|whom|whose|what|when|where|which|why|how|wer|wen|wem|was|wann|wo|wie|warum|welche[rsnm]?|qui|quand|où|"
    r"comment|pourquoi|quel(?:le)?s?|quién|qué|cuándo|dónde|cómo|cuál(?:es)?"
)
_PART_END = re.compile(rf"(?P<and>[\s,;]+(?:and|und|et|y)\s+)(?=(?:{_ASKS})\b)|(?<=;)\s+", re.IGNORECASE)
_MARKS = re.compile(r"[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)]|>|#{1,6})[ \t]+)*")
_ASKING = ("?", "？", ";?")
_ENDED = (*_ASKING, ".", "!", "…", ":", "。", "！")
_LOOSE = " \t,;–—-"


@dataclass(frozen=True)
class Question:
    """A part of a task: `text` as it stands there, but for line ends, and `heading` as it reads by itself."""

    text: str
    heading: str

    @property
    def asks(self) -> bool:
        return self.heading.endswith(_ASKING)


def questions(task: str) -> tuple[Question, ...]:
    """The questions that a task holds, in order; the whole task where it is one question, or more than four.

    A part that says too little by itself stays with the one before it.
    """
    found: list[list[_Part]] = []
    for part in _parts(task):
        if found and len(asked(part.text)) < 2:
            before = found[-1][-1]
            if before.paragraph == part.paragraph:
                found[-1][-1] = _Part(part.paragraph, before.start, part.stop, part.whole, asking=part.asking)
            else:
                found[-1].append(part)
        else:
            found.append([part])
    parts = [_question(each) for each in found]
    asking = [part for part in parts if part.asks]
    if len(parts) > MOST_PARTS and 0 < len(asking) <= MOST_PARTS:
        parts = asking
    return tuple(parts) if 1 < len(parts) <= MOST_PARTS else (Question(task.strip(), heading_of(task)),)


def heading_of(text: str) -> str:
    """What a text begins with, its first line or the sentence that runs over it, as a heading; cut when it is long."""
    return next((shortened(line) for paragraph in _paragraphs(text) if (line := _well(paragraph))), "")


def headings(task: str) -> frozenset[str]:
    """Everything that repeats the task, or a paragraph or a question of it, as a whole."""
    whole = {folded(task), *(_paragraphs(task))}
    whole.update(sentence for part in _parts(task) if (sentence := part.sentence).endswith(_ASKING))
    parts = questions(task)
    said = {*whole, *map(_well, whole), *(part.heading for part in parts), *(folded(part.text) for part in parts)}
    return frozenset(said - {""})


def folded(text: str) -> str:
    """Text as one line, with one blank between two words."""
    return " ".join(text.split())


def shortened(line: str) -> str:
    """A heading of at most 80 characters, cut between words."""
    if len(line) <= LONGEST:
        return line
    cut = clip(line, LONGEST, "")
    return cut[: cut.rfind(" ")].rstrip(" ,;:") + "…" if " " in cut else cut + "…"


@dataclass(frozen=True)
class _Part:
    """Characters `start` to `stop` of a paragraph; `whole` is the sentence around them, which asks or doesn't."""

    paragraph: str
    start: int
    stop: int
    whole: tuple[int, int]
    asking: bool

    @property
    def text(self) -> str:
        return self.paragraph[self.start : self.stop].strip()

    @property
    def sentence(self) -> str:
        return self.paragraph[self.whole[0] : self.whole[1]].strip()


def _question(parts: Sequence[_Part]) -> Question:
    text = " ".join(part.text for part in parts)
    return Question(text, shortened(_well(text, asking=parts[-1].asking)))


def _well(text: str, *, asking: bool = False) -> str:
    """Text as it reads by itself: with a capital letter, and the mark that its sentence had further on."""
    line = folded(text)
    line = line[_leading(line) :].lstrip("#> ").rstrip(_LOOSE)
    if asking and not line.endswith(_ENDED):
        line += "?"
    return line[:1].upper() + line[1:] if line[:1].islower() and line[1:2].islower() else line


def _leading(line: str) -> int:
    marks = _MARKS.match(line)
    return marks.end() if marks else 0


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a text, each as one line without its marks; one that ends a sentence at a line's end is two."""
    lines = text.replace("\r\n", "\n").split("\n")
    cut = Paragraphs("task.md", lines)
    number = 1
    while number <= len(lines):
        paragraph = cut.at(number)
        number += len(paragraph.lines)
        begin = 0
        for at in range(paragraph.first, number):
            stop = paragraph.span(at)[1]
            if stop in paragraph.stops and (piece := folded(paragraph.text[begin:stop])):
                yield piece
                begin = stop


def _parts(task: str) -> Iterator[_Part]:
    for paragraph in _paragraphs(task):
        begin = 0
        for stop in (*ends(paragraph, 0, len(paragraph)), len(paragraph)):
            whole = (begin, stop)
            asking = paragraph[begin:stop].rstrip().endswith(_ASKING)
            for match in _PART_END.finditer(paragraph, begin, stop):
                if begin < match.start():
                    yield _Part(paragraph, begin, match.start(), whole, asking)
                begin = match.end()
            if paragraph[begin:stop].strip():
                yield _Part(paragraph, begin, stop, whole, asking)
            begin = stop
