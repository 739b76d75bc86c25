"""Front matter: the lines between two `---` at the top of a file, read as text and changed one line at a time.

The YAML here is a strict, small part of YAML: no tags, anchors, aliases, merges or duplicate keys, at most 8 KiB.
Values stay the text that was typed (`0123`, `no` and `2026-11-29` are those characters), since a number or a date that
is written back in another spelling is a change that nobody asked for. A file is never loaded and dumped.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from frontmatter.default_handlers import BaseHandler

from ..ids import shown
from .block import FrontMatterUnreadable, Value, line_at, read_block
from .scalar import render_key, render_scalar, render_value

__all__ = [
    "FrontMatter",
    "FrontMatterProblem",
    "FrontMatterUnreadable",
    "StrictHandler",
    "Value",
    "lenient_values",
    "parse_front_matter",
    "render_front_matter",
    "with_value",
]

_BOM = "\ufeff"
_CLOSE = re.compile(r"^---(?:\r?\n|\Z)", re.MULTILINE)
_ALMOST = re.compile(r"^---[ \t]+(?=\r?\n|\Z)", re.MULTILINE)
_KEY_LINE = re.compile(r"^[\w\"'][^\n:]*:(?:[ \t\r\n]|\Z)", re.MULTILINE)
# The fast path: lines that read alike in every YAML, so no parser is needed for them.
_PLAIN = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_-]{0,63}:(?: [^\W_](?:[\w ./()+%;'-]*[\w.)%])?)?\r?\n)*")
_REMEMBERED = 32 << 10  # the longest block that is remembered with what it says
_PLAIN_LIMIT = 2_000
_PLAIN_LINE = re.compile(r"([A-Za-z0-9_-]+):(?: ([^\r\n]*))?\r?\n")
_LENIENT = re.compile(r"([A-Za-z][\w-]*):(?:[ \t]+(.*))?")


@dataclass(frozen=True)
class FrontMatterProblem:
    """Why a block can't be read; `line` counts from 1 in the file."""

    line: int
    message: str


@dataclass(frozen=True)
class FrontMatter:
    """The block at the top of a file.

    `block` is the text between the fences; `start` and `end` are the char span of the block with its fences and the
    newline after it (0, 0 without a block; a byte order mark stands before `start`). Text between two rules in which no
    line looks like `key: value` is no block but text, and is said to be so in `problem`.
    """

    present: bool
    block: str = ""
    start: int = 0
    end: int = 0
    values: Mapping[str, Value] = field(default_factory=dict)
    problem: FrontMatterProblem | None = None

    def text(self, key: str) -> str | None:
        """The value of a key if it is a single text, else None."""
        value = self.values.get(key)
        return value if isinstance(value, str) else None

    def words(self, key: str) -> tuple[str, ...]:
        """The value as a list: absent or empty is none, a text is one, a list is each text in it."""
        value = self.values.get(key)
        if isinstance(value, str):
            return (value,) if value.strip() else ()
        if isinstance(value, tuple):
            return tuple(item for item in value if isinstance(item, str) and item.strip())
        return ()


class StrictHandler(BaseHandler):
    """A handler for python-frontmatter that splits exactly and keeps every value as text.

    `load` raises FrontMatterUnreadable with the line in the file.
    """

    FM_BOUNDARY = _CLOSE
    START_DELIMITER = END_DELIMITER = "---"

    def detect(self, text: str) -> bool:
        return _span(text) is not None

    def split(self, text: str) -> tuple[str, str]:
        span = _span(text)
        if span is None:
            raise FrontMatterUnreadable(1, "no block of front matter stands at the top")
        _, first, last, end = span
        return text[first:last], text[end:]

    def load(self, fm: str) -> dict[str, Value]:
        if len(fm) <= _PLAIN_LIMIT and _PLAIN.fullmatch(fm):
            pairs = _PLAIN_LINE.findall(fm)
            values: dict[str, Value] = dict(pairs)
            if len(values) == len(pairs):
                return values
        return read_block(fm).values


_HANDLER = StrictHandler()


def parse_front_matter(text: str) -> FrontMatter:
    """The front matter of a file's text; never raises, what is wrong stands in `problem`."""
    span = _span(text)
    if span is None:
        return FrontMatter(False, problem=_unopened(text))
    start, first, last, end = span
    read = _read if last - first <= _REMEMBERED else _read.__wrapped__
    return read(text[first:last], start, end)


@lru_cache(maxsize=128)  # what is read again mostly has the block that it had, also where its body is another
def _read(block: str, start: int, end: int) -> FrontMatter:
    try:
        return FrontMatter(True, block, start, end, _HANDLER.load(block))
    except FrontMatterUnreadable as e:
        if not _KEY_LINE.search(block):
            return FrontMatter(
                False, problem=FrontMatterProblem(1, "'---' opens front matter, but no 'key: value' line follows: text")
            )
        return FrontMatter(True, block, start, end, {}, FrontMatterProblem(e.line, e.reason))


def with_value(text: str, key: str, value: str) -> str:
    """The text with one value of its front matter changed, or one line added before the closing fence.

    Every other byte stays, the remark behind the value too. Raises FrontMatterUnreadable if there is no block, if it
    can't be read, or if the value spans several lines.
    """
    front = parse_front_matter(text)
    if front.problem is not None:
        raise FrontMatterUnreadable(front.problem.line, front.problem.message)
    if not front.present:
        raise FrontMatterUnreadable(1, "no block of front matter stands at the top")
    if front.text(key) == value:
        return text
    first = text.index("\n", front.start) + 1
    layout = read_block(front.block)
    place = layout.places.get(key)
    if place is None:
        newline = "\r\n" if text[first - 2 : first] == "\r\n" else "\n"
        at = after = first + len(front.block)
        new = f"{' ' * layout.indent}{render_key(key)}: {render_scalar(value)}{newline}"
    else:
        old = front.block[place.start : place.end]
        if not place.scalar or "\n" in old:
            raise FrontMatterUnreadable(place.line, f"the value of {shown(key)} spans several lines; change it by hand")
        at, after = first + place.start, first + place.end
        new = render_scalar(value, style=place.style, flow=layout.flow)
        if not old and text[at - 1] not in " \t":
            new = " " + new
    changed = text[:at] + new + text[after:]
    again = parse_front_matter(changed)
    if again.problem is not None or again.values != {**front.values, key: value}:
        raise FrontMatterUnreadable(1, f"{shown(key)} can't be changed in this block; change it by hand")
    return changed


def render_front_matter(values: Mapping[str, object]) -> str:
    """A block with fences for a file that onepen itself makes; parsing it gives the same texts back.

    Texts that YAML would take for something else are quoted; lists and mappings are written in flow style.
    """
    lines = [f"{render_key(key)}:{_spaced(render_value(value))}\n" for key, value in values.items()]
    return "".join(("---\n", *lines, "---\n"))


def lenient_values(text: str) -> Mapping[str, str]:
    """The block of another tool's file read line by line: `key: rest of the line`, indented lines belong to the key."""
    span = _span(text)
    if span is None:
        return {}
    values: dict[str, str] = {}
    key = ""
    for raw in text[span[1] : span[2]].split("\n"):
        line = raw.rstrip()
        match = _LENIENT.fullmatch(line)
        if match:
            key = match[1]
            values[key] = _unquoted(match[2] or "")
        elif key and line.strip():
            more = line.strip()
            item = more.startswith("- ")
            joint = (", " if item else "\n") if values[key] else ""
            values[key] += joint + (_unquoted(more[2:]) if item else more)
    return values


def _unquoted(text: str) -> str:
    clean = text.strip()
    if clean in ("|", ">", "|-", ">-", "|+", ">+"):
        return ""
    if len(clean) >= 2 and clean[0] == clean[-1] and clean[0] in "'\"":
        return clean[1:-1]
    return clean


def _spaced(text: str) -> str:
    return f" {text}" if text else ""


def _span(text: str) -> tuple[int, int, int, int] | None:
    """Start of the block, start and end of what stands between its fences, end; None without a closed block."""
    start = 1 if text.startswith(_BOM) else 0
    if text.startswith("---\n", start):
        first = start + 4
    elif text.startswith("---\r\n", start):
        first = start + 5
    else:
        return None
    close = _CLOSE.search(text, first)
    return (start, first, close.start(), close.end()) if close else None


def _unopened(text: str) -> FrontMatterProblem | None:
    """What is wrong with a text that has no closed block; None if it never began one."""
    top = text.removeprefix(_BOM)
    if top.startswith(("---\n", "---\r\n")):
        almost = _ALMOST.search(top, 4)
        if almost:
            line = line_at(top, almost.start())
            return FrontMatterProblem(line, "blanks stand behind the closing '---', so the front matter never ends")
        return FrontMatterProblem(1, "'---' opens front matter that no line '---' closes")
    if _ALMOST.match(top) and _CLOSE.search(top):
        return FrontMatterProblem(1, "blanks stand behind the opening '---', so no front matter is read")
    return None
