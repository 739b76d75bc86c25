"""One text of memory, examined: what a person should put right in it, each with its line. Pure."""

import re
from collections.abc import Iterator

from ..problem import Problem
from ..text.document import Document, line_at
from ..text.outline import kind_of, outline
from ..text.secret import secrets_in
from .sizes import card_size

BOM = "\ufeff"
_MARKERS = re.compile(r"^<<<<<<<(?: .*)?\r?\n(?:.*\n)*?=======\r?\n(?:.*\n)*?>>>>>>>(?: .*)?$", re.MULTILINE)
_HALF = re.compile(r"^(?:<<<<<<<|>>>>>>>) (?:\S+|Updated upstream|Stashed changes|[0-9a-f]{7,40} .*)\r?$", re.MULTILINE)
_LONE_CR = re.compile(r"\r(?!\n)")
_CLOSING = re.compile(r"^---\r?$", re.MULTILINE)


def text_problems(path: str, text: str) -> Iterator[Problem]:
    """What can be wrong with any text: a byte order mark, markers of a merge, line ends of long ago, a secret."""
    if text.startswith(BOM):
        message = "begins with a byte order mark, which some editors add; it is kept and passed over"
        yield Problem(path, 1, "byte_order_mark", "info", message)
    yield from _conflicts(path, text)
    if "\r" in text and (lone := _LONE_CR.search(text)) is not None:
        line = text.count("\n", 0, lone.start()) + 1
        message = "a line ends here with a carriage return alone, which ends no line today: save it with newlines"
        yield Problem(path, line, "lone_carriage_return", "warning", message)
    yield from _secrets(path, text)


def _secrets(path: str, text: str) -> Iterator[Problem]:
    """The first secret that stands here, written by hand or before onepen looked for them."""
    for seen in secrets_in(text):
        if seen.level == "block":
            message = f"this looks like {seen.kind}: keep its name here, not its value, and change it where it opens"
            yield Problem(path, seen.line + 1, "secret", "warning", message)
            return


def _conflicts(path: str, text: str) -> Iterator[Problem]:
    end = 0
    for found in _MARKERS.finditer(text) if "<<<<<<<" in text else ():
        end = found.end()
        message = "a merge left its conflict markers here: keep the right lines and remove the markers"
        yield Problem(path, line_at(text, found.start()), "conflict_markers", "error", message)
    half = _HALF.search(text, end)
    if half is not None:
        message = "this looks like half of a merge conflict: keep the right lines and remove the marker"
        yield Problem(path, line_at(text, half.start()), "conflict_marker", "warning", message)


def fence_problems(path: str, text: str, start: int = 0) -> Iterator[Problem]:
    """A code fence or comment that nothing closes, so that no heading behind it is one."""
    span = outline(text, start).unclosed
    if span is not None:
        message = f"a {kind_of(text, span)} opens here and nothing closes it: what stands behind it is no section"
        yield Problem(path, line_at(text, span.start), "fence_open", "warning", message)


def note_problems(path: str, text: str) -> Iterator[Problem]:
    """What can be wrong with a note."""
    yield from text_problems(path, text)
    yield from fence_problems(path, text)


def front_problems(path: str, document: Document) -> Iterator[Problem]:
    """What can be wrong with front matter: it can't be read, it never ends, or it is text between two rules."""
    problem = document.front.problem
    if problem is not None:
        is_text = not document.front.present and _CLOSING.search(document.text, 4) is not None
        yield Problem(path, problem.line, "front_matter", "warning" if is_text else "error", problem.message)


def card_problems(path: str, document: Document) -> Iterator[Problem]:
    """What can be wrong with a card."""
    yield from text_problems(path, document.text)
    yield from front_problems(path, document)
    yield from fence_problems(path, document.text, document.body_start)
    yield from card_size(path, document.text)
