"""Whether a draft holds nothing but quotes: what may become memory on a person's word alone, without a reader.

Each line of the body is blank, a heading, a fixed phrase, the path of something that was read, a question of the
task, or a quote. A quote holds when it is made of whole sentences, together with the quotes right above and below it
(a sentence may run over several lines of its source), and when its line is no frame that onepen put around quotes of
an earlier finding. Under "Not found in what I read:" there may be list items, each a word of the task that stands in
no quote. A heading (and a title) repeats the task or a question of it, or visibly begins so. Nothing in the front
matter says more: a summary is whole sentences of the quotes, a keyword a word of them. And nothing that stands in
memory goes: the draft creates or appends.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice

from ..memory.target import FileTarget
from .draft import Draft
from .finding import Finding, at_most
from .own import framing_lines
from .phrases import NOT_FOUND, is_fixed
from .question import folded, headings
from .quotes import MOST_QUOTES, Lines, Quote, Read, parse_quote
from .statement import statements
from .summary import sums_up, words_of

_MOST_FAULTS = 1_000  # lines that are looked at after they can't stand: more would tell nobody more
_MARK = re.compile(r"(?P<heading>#{1,6})[ \t]+|(?P<item>[-*+])[ \t]+")
_WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")
_HALF = "quote: not made of whole sentences"
_FRAME = "quote: this line is only the frame of an earlier finding, which quotes others"


def verbatim(draft: Draft, task_text: str, read: Read) -> tuple[Finding, ...]:
    """What keeps the draft from being verbatim, with the draft's lines; () when it is."""
    if draft.edit not in ("create", "append"):
        return (Finding("not_verbatim", "block", f"{draft.edit} takes text away that stands in memory"),)
    if isinstance(draft.target, FileTarget) and draft.file is not None:
        return (Finding("not_verbatim", "block", "the file beside the draft is not made of quotes"),)
    words = _Words(task_text, Lines(read))
    said = _Said()
    faults = chain(islice(_body(draft.body, words, said), _MOST_FAULTS), _front(draft, words, said))
    return at_most(Finding("not_verbatim", "block", reason, at and draft.body_line + at - 1) for at, reason in faults)


@dataclass
class _Said:
    """What the body quotes, once it has been gone through: its quotes and the statements that they make."""

    quotes: list[Quote] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)

    @cached_property
    def words(self) -> frozenset[str]:
        texts = (*self.statements, *(quote.text for quote in self.quotes))
        return frozenset(word.casefold() for text in texts for word in (*words_of(text), *_WORD.findall(text)))


def _body(body: str, words: "_Words", said: _Said) -> Iterator[tuple[int, str]]:
    """Line of the body and reason for each that may not stand; what it quotes goes to `said`."""
    listing = False  # whether the task's words that were not found are being listed
    listed: list[tuple[int, str]] = []
    for at, line in enumerate(body.split("\n"), 1):
        text = line.strip()
        if not text:
            continue
        quote = parse_quote(line, at)
        mark = _MARK.match(text)
        if quote is not None:
            listing = False
            if len(said.quotes) == MOST_QUOTES:
                yield at, f"a draft has at most {MOST_QUOTES:,} quotes"
                return
            reason = words.denies(quote)
            if reason is None:
                said.quotes.append(quote)
            else:
                yield at, reason
        elif mark and mark["item"]:
            item = text[mark.end() :]
            if listing:
                listed.append((at, item.strip("\"`'“”«»")))
            elif not words.names(item):
                yield at, "this line is no quote"
        else:
            listing = text == NOT_FOUND
            if mark and not words.titles(text[mark.end() :].rstrip("#").rstrip()):
                yield at, "this heading is not from the task"
            elif not mark and not words.names(text):
                yield at, "this line is no quote"
    whole, halves = statements(said.quotes, words.sources)
    said.statements.extend(whole)
    yield from ((quote.at, _HALF) for quote in halves)
    for at, word in listed:
        if not words.lacks(word, said):
            yield at, "this is no word of the task that stands in no quote"


class _Words:
    """What may be said without being a quote: the task's own questions, names of sources, fixed phrases."""

    def __init__(self, task: str, sources: Lines) -> None:
        self._task = task
        self.sources = sources
        self._frames: dict[str, frozenset[int]] = {}

    @cached_property
    def _headings(self) -> frozenset[str]:
        return headings(self._task)

    @cached_property
    def _asked(self) -> frozenset[str]:
        return frozenset(word.casefold() for word in _WORD.findall(self._task))

    def denies(self, quote: Quote) -> str | None:
        """Why the quote can't stand, None when it can."""
        reason = self.sources.denies(quote)
        if reason is not None:
            return reason
        if quote.path not in self._frames:
            self._frames[quote.path] = framing_lines(quote.path, self.sources.of(quote.path) or ())
        return _FRAME if quote.line in self._frames[quote.path] else None

    def repeats(self, text: str) -> bool:
        """Whether text is a fixed phrase, or the task or a question of it as a whole."""
        return is_fixed(text) or folded(text) in self._headings

    def names(self, text: str) -> bool:
        """Whether text is what `repeats` allows, or the path of something that was read."""
        return self.repeats(text) or self._is_source(text)

    def titles(self, text: str) -> bool:
        """Whether text may be a heading: what `names` allows, or a visibly cut beginning of a heading."""
        if self.names(text):
            return True
        line = folded(text)
        stem = line.removesuffix("…").rstrip()
        return (
            line.endswith("…")
            and bool(stem)
            and any(whole.startswith(stem) and not whole[len(stem) :][:1].isalnum() for whole in self._headings)
        )

    def lacks(self, word: str, said: _Said) -> bool:
        """Whether this is one word, and one of the task's, that stands in no quote."""
        told = word.casefold()
        return bool(_WORD.fullmatch(word)) and told in self._asked and told not in said.words

    def _is_source(self, text: str) -> bool:
        path, _, line = text.rpartition(":")
        name = path if path and line.isascii() and line.isdigit() else text
        return bool(name) and self.sources.of(name) is not None


def _front(draft: Draft, words: _Words, said: _Said) -> Iterator[tuple[int, str]]:
    """What the front matter says that neither the task nor the quotes say; it has no line of the body."""
    if draft.title is not None and not words.titles(draft.title):
        yield 0, "the title is not from the task"
    for entry in draft.index:
        if not (words.repeats(entry.summary) or sums_up(entry.summary, said.statements)):
            yield 0, f"the summary of {entry.section_id} is no whole sentence of the quotes"
        for keyword in entry.keywords:
            if keyword.casefold() not in said.words:
                yield 0, f"a keyword of {entry.section_id} is no word of the quotes"
    cited = {quote.path for quote in said.quotes} | {f"{quote.path}:{quote.line}" for quote in said.quotes}
    for source in draft.sources:
        if source not in cited and not words.names(source):
            yield 0, "a source is named that was not read"
