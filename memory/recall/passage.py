"""A text cut into passages: the pieces that a search finds and a draft can cite by line.

A passage is a paragraph, a list item, a table row, a block of code, or a line of a file that is made of lines. What
stands around it and says what it is about (title, headings, the line a list hangs on, the head of a table) goes along
as its context: the line "- 1220 °C" under "## Firing" answers a question about firing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

MAX_LINES = 12
MAX_CODE_LINES = 30

_MARKDOWN = frozenset({"", ".md", ".markdown", ".mdx", ".txt", ".text", ".rst", ".adoc", ".org"})
_BY_LINE = frozenset({".csv", ".tsv", ".jsonl", ".ndjson", ".log"})
_HEADED = frozenset({".csv", ".tsv"})
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r"([=\-~^*+\"#])\1{2,}[ \t]*$")
_FENCE = re.compile(r" {0,3}(?:[-*+] +|\d+[.)] +)?(`{3,}|~{3,})")
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])(?=[ \t])")
_FRONT_LINE = re.compile(r"[\w-]+[ \t]*:(?:[ \t]|$)|[ \t]|[-#\]}]|$")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")


@dataclass(frozen=True)
class Passage:
    """Lines `line` to `end` of `path`, counted from 1, both included.

    `text` is those lines exactly, without their line ends, joined by "\\n". `path` is what a person can cite. `date` is
    the day it speaks of or was last changed, as YYYY-MM-DD. `context` is what stands around it and helps to find it.
    `front` marks a line that was taken out of front matter. `head` is the line that names the columns of a table's row
    (of that line itself, its own number).
    """

    path: str
    line: int
    end: int
    text: str
    date: str | None = None
    context: str = ""
    front: bool = False
    head: int | None = None


@dataclass
class _Cutter:
    """Walks the lines once; `trail` holds the open headings, `items` the open list items, each with its depth."""

    path: str
    lines: list[str]
    date: str | None
    at: int = 0
    title: str = ""
    trail: list[tuple[int, str]] = field(default_factory=list)
    items: list[tuple[int, str]] = field(default_factory=list)
    lead: str = ""
    heading: int | None = None

    def passages(self) -> Iterator[Passage]:
        if end := _front_matter_end(self.lines):
            block = self.lines[:end]
            self.title = " ".join(line.partition(":")[2] for line in block if line.startswith(("title:", "name:")))
            self.at = end
            yield self._made(0, end)
        while self.at < len(self.lines):
            yield from self._next()
        if self.heading is not None:
            yield self._made(self.heading, self._last_filled(self.heading, len(self.lines)))

    def _next(self) -> Iterator[Passage]:
        line = self.lines[self.at]
        if not line.strip() or _RULE.match(line):
            self.at += 1
        elif heading := _HEADING.match(line):
            yield from self._open(len(heading[1]), heading[2] or "", 1)
        elif self._underlined():
            yield from self._open(1 if self.lines[self.at + 1][0] == "=" else 2, line.strip(), 2)
        elif fence := _FENCE.match(line):
            yield from self._code(fence[1])
        elif line.lstrip().startswith("|"):
            yield from self._table()
        elif item := _ITEM.match(line):
            yield from self._item(len(item[1].expandtabs(4)))
        else:
            yield from self._paragraph()

    def _open(self, level: int, title: str, height: int) -> Iterator[Passage]:
        if self.heading is not None and self.trail and level <= self.trail[-1][0]:
            yield self._made(self.heading, self._last_filled(self.heading, self.at))  # a heading with nothing under it
            self.heading = None
        if self.heading is None:
            self.heading = self.at
        self.trail = [(depth, text) for depth, text in self.trail if depth < level]
        self.trail.append((level, title))
        self.items, self.lead = [], ""
        self.at += height

    def _code(self, mark: str) -> Iterator[Passage]:
        start = self.at
        end = start + 1
        while end < len(self.lines) and not self._closes(self.lines[end], mark):
            end += 1
        end = min(end + 1, len(self.lines))
        yield from self._chunks(start, end, MAX_CODE_LINES)
        self.at = end

    @staticmethod
    def _closes(line: str, mark: str) -> bool:
        bare = line.strip()
        return len(bare) >= len(mark) and not bare.strip(mark[0])

    def _table(self) -> Iterator[Passage]:
        start = self.at
        while self.at < len(self.lines) and self.lines[self.at].lstrip().startswith("|"):
            self.at += 1
        rows = range(start, self.at)
        head = self.lines[start] if len(rows) > 1 and _TABLE_RULE.match(self.lines[start + 1]) else ""
        if head and len(rows) == 2:
            yield self._made(start, start + 1)
        for row in rows[2:] if head else rows:
            yield replace(self._made(row, row + 1, head), head=start + 1 if head else None)

    def _item(self, depth: int) -> Iterator[Passage]:
        start = self.at
        self.at += 1
        while self.at < len(self.lines) and self._goes_on(self.lines[self.at]):
            self.at += 1
        self.items = [(d, text) for d, text in self.items if d < depth]
        yield from self._chunks(start, self.at, MAX_LINES, " ".join(text for _, text in self.items))
        self.items.append((depth, " ".join(self.lines[start : self.at])))

    def _paragraph(self) -> Iterator[Passage]:
        start = self.at
        indented = self.lines[start].startswith((" ", "\t"))
        self.at += 1
        while self.at < len(self.lines) and self._goes_on(self.lines[self.at]) and not self._underlined():
            self.at += 1
        around = " ".join(text for _, text in self.items) if indented else ""
        if not indented:
            self.items = []
        yield from self._chunks(start, self.at, MAX_LINES, around)
        last = self.lines[self.at - 1].rstrip("*_ \t")
        self.lead = " ".join(self.lines[start : self.at]) if last.endswith((":", "：", "?", "？")) else ""

    def _goes_on(self, line: str) -> bool:
        starts_new = _HEADING.match(line) or _FENCE.match(line) or _ITEM.match(line) or _RULE.match(line)
        return bool(line.strip()) and not starts_new and not line.lstrip().startswith("|")

    def _underlined(self) -> bool:
        """A line with a rule of "=" or "-" under it and a blank line or the beginning above it is a heading."""
        if self.at + 1 >= len(self.lines) or (self.at and self.lines[self.at - 1].strip()):
            return False
        line, rule = self.lines[self.at], self.lines[self.at + 1]
        return bool(_UNDERLINE.match(rule)) and not line.startswith((" ", "\t", "|")) and not _ITEM.match(line)

    def _chunks(self, start: int, end: int, limit: int, around: str = "") -> Iterator[Passage]:
        parts = -(-(end - start) // limit)
        size = -(-(end - start) // parts)
        for first in range(start, end, size):
            yield self._made(first, min(first + size, end), around)

    def _made(self, start: int, end: int, around: str = "") -> Passage:
        """The passage of lines `start` up to `end` (from 0); the heading right above becomes its first lines."""
        context = " ".join(filter(None, (self.title, *(text for _, text in self.trail), self.lead, around)))
        if self.heading is not None:
            start, self.heading = min(start, self.heading), None
        return Passage(self.path, start + 1, end, "\n".join(self.lines[start:end]), self.date, context)

    def _last_filled(self, start: int, end: int) -> int:
        while end > start + 1 and not self.lines[end - 1].strip():
            end -= 1
        return end


def passages(path: str, text: str, date: str | None = None) -> tuple[Passage, ...]:
    """Every passage of a text in reading order; no line belongs to two of them, only blank lines and rules to none.

    The ending of `path` decides how it is cut: prose (Markdown, reStructuredText, plain text), one passage a line
    (CSV, JSON lines, logs), or blocks between blank lines (code and everything else).
    """
    lines = split_lines(text)
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _BY_LINE:
        return tuple(_by_line(path, lines, date, headed=suffix in _HEADED))
    if suffix in _MARKDOWN:
        return tuple(_Cutter(path, lines, date).passages())
    return tuple(_by_block(path, lines, date))


def split_lines(text: str) -> list[str]:
    """The lines as editors count them: ended by LF or CRLF, nothing else; the last one may be empty."""
    lines = text.removeprefix("\ufeff").split("\n")
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def is_headed(path: str) -> bool:
    """Whether the first line of such a file names the columns of the others."""
    return PurePosixPath(path).suffix.lower() in _HEADED


def is_heading(line: str) -> bool:
    """Whether the line only names what follows: a heading or the rule under one."""
    return bool(_HEADING.match(line) or _UNDERLINE.match(line))


def is_front_matter(passage: Passage) -> bool:
    """Whether the passage is the block at the top of a file, or a line of it."""
    return passage.front or (passage.line == 1 and passage.text.startswith("---\n") and passage.text.endswith("\n---"))


def title_alone(passage: Passage) -> Passage | None:
    """Of front matter, the line with the title, None if it has none; any other passage as it is.

    A block whose lines are not all those of front matter is text between two rules, and stays whole.
    """
    if not is_front_matter(passage):
        return passage
    lines = passage.text.split("\n")
    if not all(_FRONT_LINE.match(line) for line in lines[1:-1]):
        return passage
    for k, line in enumerate(lines[1:-1], start=passage.line + 1):
        if line.startswith("title:"):
            return replace(passage, line=k, end=k, text=line, context="", front=True)
    return None


def is_rule(line: str) -> bool:
    """Whether the line only draws: the rule under a heading or under the head of a table."""
    return bool(_UNDERLINE.match(line)) or ("-" in line and bool(_TABLE_RULE.match(line)))


def _front_matter_end(lines: list[str]) -> int:
    """The number of lines of a closed front matter block at the top; 0 without one."""
    if not lines or lines[0] != "---":
        return 0
    for k, line in enumerate(lines[1:200], start=1):
        if line == "---":
            return k + 1
    return 0


def _by_line(path: str, lines: list[str], date: str | None, *, headed: bool) -> Iterator[Passage]:
    head = lines[0] if headed and lines else ""
    for k, line in enumerate(lines):
        if line.strip():
            yield Passage(path, k + 1, k + 1, line, date, head if k else "", head=1 if headed else None)


def _by_block(path: str, lines: list[str], date: str | None) -> Iterator[Passage]:
    start = 0
    for k in range(len(lines) + 1):
        if k < len(lines) and lines[k].strip() and k - start < MAX_CODE_LINES:
            continue
        if k > start:
            yield Passage(path, start + 1, k, "\n".join(lines[start:k]), date)
        start = k if k < len(lines) and lines[k].strip() else k + 1
