"""Quotes: what a draft says stands somewhere, in a form that can be checked byte by byte.

    - fire at 1220
      > "cone 6 was reached at 1222 degrees" (inputs/cones.md:14)

A quote is one line: blanks or a list marker, `> "`, the exact text, `" (`, path, `:`, line number, `)`. The text
holds whatever stands in the source, quotation marks included; the last `" (path:line)` of the line ends it. The path
is `inputs/<name>` or that of a file of the space (`projects/kiln.md`); lines are counted from 1 and end at a line
feed (a carriage return before it is no part of the line).

A quote holds when its text stands in the cited line with the same bytes, and is not cut out of a word. To pass
without a reader (`verbatim`) more is asked: whole sentences, since half a sentence can say the opposite.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..memory.ids import shown
from ..memory.text.clip import boundary
from .errors import StagingFault
from .finding import Finding, at_most
from .secret import mask
from .sentence import Paragraph, Paragraphs

_OPEN = re.compile(r'[ \t]*(?:[-*+][ \t]+)?>[ \t]?"')
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")
_MEANT = re.compile(r'[ \t]*(?:[-*+][ \t]+)?>[ \t]?["“„«]')  # begins like a quote
_PATH = re.compile(r'[^"\x00-\x1f\x7f]+')

MOST_QUOTES = 1_000
"""The most quotes that one draft may ask to be checked."""

Read = Callable[[str], str | None]
"""Gives the text of a path that the task was allowed to read, None for any other."""


class QuoteImpossible(StagingFault):
    """Raised when text can't be quoted in one line."""

    def __init__(self, path: str, line: int, reason: str) -> None:
        super().__init__(f"{shown(path)}:{line}: can't be quoted: {reason}")


@dataclass(frozen=True)
class Quote:
    """One quote; `line` is the cited line of `path`, `at` the line of the body where it stands, both from 1."""

    text: str
    path: str
    line: int
    at: int


def render_quote(text: str, path: str, line: int) -> str:
    """The quote as one line, without indent or line end; raises QuoteImpossible."""
    if "\n" in text or text.strip() != text or not text:
        raise QuoteImpossible(path, line, "a quote is the text of one line without blanks around it")
    if not _PATH.fullmatch(path) or path.strip() != path or line < 1:
        raise QuoteImpossible(path, line, "no such place")
    rendered = f'> "{text}" ({path}:{line})'
    if parse_quote(rendered) != Quote(text, path, line, 1):
        raise QuoteImpossible(path, line, "it would read as another quote")
    return rendered


def parse_quote(line: str, at: int = 1) -> Quote | None:
    """The quote that a line is, if it is one; in time linear to its length."""
    opening = _OPEN.match(line)
    rest = line.rstrip(" \t\r")
    if opening is None or not rest.endswith(")"):
        return None
    end = rest.rfind('" (', opening.end())
    path, _, number = rest[end + 3 : -1].rpartition(":")
    if end <= opening.end() or not _NUMBER.fullmatch(number) or not _PATH.fullmatch(path):
        return None
    return Quote(rest[opening.end() : end], path, int(number), at)


def quotes(body: str) -> tuple[Quote, ...]:
    """The quotes of a body, in order."""
    found = (parse_quote(line, at) for at, line in enumerate(body.split("\n"), 1))
    return tuple(quote for quote in found if quote is not None)


def check_quotes(body: str, read: Read, first_line: int = 1) -> tuple[Finding, ...]:
    """A blocking finding for each quote that doesn't stand where it says; a warning for what only looks like a quote.

    `read` gives the text of a path that the worker was allowed to read, None for any other. Findings carry the line
    of the body, counted from `first_line`.
    """
    return at_most(_failures(body, Lines(read), first_line))


def _failures(body: str, lines: "Lines", first_line: int) -> Iterator[Finding]:
    count = 0
    for at, line in enumerate(body.split("\n"), 1):
        quote = parse_quote(line, at)
        here = first_line + at - 1
        if quote is None:
            if _MEANT.match(line):
                yield Finding(
                    "quote_form", "warn", 'a quote without its place: `> "text" (path:line)` is the form', here
                )
            continue
        count += 1
        if count > MOST_QUOTES:
            yield Finding("quote", "block", f"a draft has at most {MOST_QUOTES:,} quotes", here)
            return
        if (reason := lines.denies(quote)) is not None:
            yield Finding("quote", "block", reason, here)


class Lines:
    """Lines of sources, each source read and split once."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._known: dict[str, tuple[str, ...] | None] = {}
        self._paragraphs: dict[str, Paragraphs] = {}

    def line(self, path: str, number: int) -> str | None:
        """The line without its end; None when there is no such path or line."""
        lines = self.of(path)
        return lines[number - 1] if lines is not None and 1 <= number <= len(lines) else None

    def of(self, path: str) -> tuple[str, ...] | None:
        """The lines of a source; None when the worker was given no such file."""
        if path not in self._known:
            text = self._read(path)
            self._known[path] = None if text is None else tuple(_lines(text))
        return self._known[path]

    def denies(self, quote: Quote) -> str | None:
        """Why the quote doesn't hold, None when it does."""
        place = mask(f"{shown(quote.path)}:{quote.line}")
        lines = self.of(quote.path)
        if lines is None:
            return f"quote: {place} is no file that this task could read"
        if quote.line > len(lines):
            return f"quote: {place} does not exist, the file has {len(lines)} lines"
        line = lines[quote.line - 1]
        if not quote.text.strip():
            return f"quote: nothing is quoted from {place}"
        places = tuple(_found(line, quote.text))
        if not places:
            return f"quote: the text does not stand in {place}, byte for byte"
        if not any(_between_words(line, start, start + len(quote.text)) for start in places):
            return f"quote: the text is cut out of a word of {place}"
        return None

    def paragraph(self, quote: Quote) -> Paragraph:
        """The paragraph in which the quoted line stands, which must be there."""
        if quote.path not in self._paragraphs:
            self._paragraphs[quote.path] = Paragraphs(quote.path, self.of(quote.path) or ())
        return self._paragraphs[quote.path].at(quote.line)

    def spans(self, quote: Quote) -> tuple[tuple[int, int], ...]:
        """Where in its paragraph's text the quote may stand."""
        paragraph, line = self.paragraph(quote), self.line(quote.path, quote.line) or ""
        offset, size = paragraph.offset, len(quote.text)
        spans = ((offset(quote.line, at), offset(quote.line, at + size)) for at in _found(line, quote.text))
        return tuple(dict.fromkeys(spans))


def _lines(text: str) -> list[str]:
    """The lines of a text without their ends; an end at the very end begins no further line."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[-1] == "":
        lines.pop()
    return lines


def _found(line: str, text: str) -> Iterator[int]:
    """Where the text stands in the line, the first 100 places."""
    start = line.find(text)
    for _ in range(100):
        if start < 0:
            return
        yield start
        start = line.find(text, start + 1)


def _between_words(line: str, start: int, end: int) -> bool:
    """Whether a cut here parts neither a word nor a character; scripts without blanks have no words to part."""
    return _clean_cut(line, start) and _clean_cut(line, end)


def _clean_cut(line: str, at: int) -> bool:
    if at <= 0 or at >= len(line):
        return True
    if boundary(line, at) != at:
        return False
    before, after = line[at - 1], line[at]
    return not (before.isalnum() and after.isalnum()) or not (_spaced(before) and _spaced(after))


def _spaced(char: str) -> bool:
    """Whether the character belongs to a script that puts blanks between words."""
    code = ord(char)
    return not (0x0E00 <= code <= 0x0EFF or 0x1000 <= code <= 0x109F or 0x1780 <= code <= 0x17FF or code >= 0x2E80)
