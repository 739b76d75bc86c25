"""The outline of a Markdown text: its ATX headings, and the code fences and comments in which nothing is a heading.

Rules: CommonMark 0.31, sections 4.2 (ATX headings), 4.5 (fenced code) and 4.6 (HTML comments). Ids: GitHub's anchors.
"""

import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

_MARK = re.compile(
    r"^(?P<line>) {0,3}(?:(?P<level>#{1,6})(?=[ \t\r\n]|\Z)|(?P<comment><!--)"
    r"|(?P<item>(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*))",
    re.MULTILINE,
)
_HIDING = ("```", "~~~", "<!--")
_FIRST_HEADING = re.compile(r"(?P<line>) {0,3}(?P<level>#{1,6})(?=[ \t\r\n]|\Z)")
_NEXT_HEADING = re.compile(rf"\n{_FIRST_HEADING.pattern}")  # begins with a fixed sign, so lines are found quickly
_CLOSING_HASHES = re.compile(r"(?:^|[ \t]+)#+$")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\s]*(?:\s[^()]*)?\)|\[[^\[\]]*\])")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_EMPHASIS = re.compile(r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_ASCII_DROP = re.compile(r"[^a-z0-9 _-]")
_ID_LIMIT = 200
_TITLE_LIMIT = 2_000


class Heading(NamedTuple):
    """One heading: `start` is where its line begins, `body` where the next line does."""

    level: int
    title: str
    start: int
    body: int


@dataclass(frozen=True)
class Hidden:
    """A code fence or comment, as char span of whole lines; `closed` is false if it runs to the end of the text."""

    start: int
    end: int
    closed: bool


@dataclass(frozen=True)
class Outline:
    headings: tuple[Heading, ...]
    hidden: tuple[Hidden, ...]

    @property
    def unclosed(self) -> Hidden | None:
        """The fence or comment that runs to the end of the text because nothing closes it."""
        return next((span for span in self.hidden if not span.closed), None)


def outline(text: str, start: int = 0) -> Outline:
    """The headings and hidden spans of a text from `start` on; never raises."""
    headings: list[Heading] = []
    hidden: list[Hidden] = []
    if text.startswith("\ufeff"):
        text = "\n" + text[1:]  # the first line begins behind the mark; offsets stay
    if not hides(text):
        return Outline(tuple(_headings(text, start)), ())
    at = start
    while mark := _MARK.search(text, at):
        line_end = _line_end(text, mark.start())
        if mark["level"]:
            headings.append(_heading(text, mark))
            at = line_end
        elif mark["fence"] and "`" in mark["info"] and mark["fence"][0] == "`":
            at = line_end  # code within a line, no fence
        else:
            end = _comment_end(text, mark.start("comment")) if mark["comment"] else _fence_end(text, mark, line_end)
            hidden.append(Hidden(mark.start(), len(text) if end is None else end, end is not None))
            at = len(text) if end is None else end
        if at >= len(text):
            break
    return Outline(tuple(headings), tuple(hidden))


def hides(text: str) -> bool:
    """Whether a text may have fences or comments: where it has none, each line is what it looks like."""
    return any(mark in text for mark in _HIDING)


def is_heading(line: str) -> bool:
    """Whether a line that nothing hides is a heading."""
    return _FIRST_HEADING.match(line) is not None


def _headings(text: str, start: int) -> Iterator[Heading]:
    """The headings of a text in which nothing is hidden, as nearly every one is."""
    first = None if start else _FIRST_HEADING.match(text)
    if first:
        yield _heading(text, first)
    for mark in _NEXT_HEADING.finditer(text, max(start - 1, 0)):
        yield _heading(text, mark)


def _heading(text: str, mark: re.Match[str]) -> Heading:
    line_end = _line_end(text, mark.start("level"))
    title = text[mark.end() : line_end].strip()
    if title.endswith("#"):
        title = _CLOSING_HASHES.sub("", title).strip()
    return Heading(len(mark["level"]), title, mark.start("line"), line_end)


def kind_of(text: str, span: Hidden) -> str:
    """What hides a span, in words."""
    return "comment" if text[span.start : span.end].lstrip().startswith("<!--") else "code fence"


def anchors(titles: list[str]) -> list[str]:
    """The id of each heading in order, as GitHub makes them: "-1" and so on for doubles."""
    seen: dict[str, int] = {}
    ids: list[str] = []
    for title in titles:
        base = name = _anchor(title)
        while name in seen:
            seen[base] += 1
            name = f"{base}-{seen[base]}"
        seen[name] = 0
        ids.append(name)
    return ids


def plain(title: str) -> str:
    """A heading's text without its markup: links become their text, tags and emphasis go; cut if very long."""
    if not any(c in title for c in "[<_&"):
        return title
    text = _TAG.sub("", _LINK.sub(r"\1", title[:_TITLE_LIMIT]))
    return html.unescape(_EMPHASIS.sub(r"\2", text))


@lru_cache(maxsize=1024)  # a card's headings stay the same from one version to the next
def _anchor(title: str) -> str:
    text = plain(title).strip().lower()
    kept = _ASCII_DROP.sub("", text) if text.isascii() else "".join(c for c in text if c in " -" or _is_kept(c))
    return kept.replace(" ", "-")[:_ID_LIMIT] or "section"


def _is_kept(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LMN" or category == "Pc"


def _line_end(text: str, at: int) -> int:
    """The offset behind the line in which `at` lies, its newline included."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _comment_end(text: str, start: int) -> int | None:
    close = text.find("-->", start + 2)
    return None if close < 0 else _line_end(text, close)


def _fence_end(text: str, mark: re.Match[str], body: int) -> int | None:
    indent = mark.start("fence") - mark.start() if mark["item"] else 0
    close = _closing(mark["fence"][0], len(mark["fence"]), indent).search(text, body)
    if close is None:
        return None
    # A fence inside a list item also ends where the item does; that line is read again.
    return close.start() if close["left"] is not None else _line_end(text, close.start())


@lru_cache(maxsize=128)
def _closing(character: str, length: int, indent: int) -> re.Pattern[str]:
    reach = r"[ \t]*" if indent else r" {0,3}"
    close = rf"^{reach}{character}{{{length},}}[ \t]*(?=\r?\n|\Z)"
    left = rf"^(?P<left> {{0,{indent - 1}}}(?=[^\s`~]))" if indent else r"(?P<left>(?!))"
    return re.compile(f"{close}|{left}", re.MULTILINE)
