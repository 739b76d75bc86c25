"""One text of memory, examined: what a person should put right in it, each with its line. Pure."""

import re
from collections.abc import Iterator

from ..problem import Problem
from ..text.document import Document

BOM = "\ufeff"
_MARKERS = re.compile(r"^<<<<<<<(?: .*)?\r?\n(?:.*\n)*?=======\r?\n(?:.*\n)*?>>>>>>>(?: .*)?$", re.MULTILINE)
_CLOSING = re.compile(r"^---\r?$", re.MULTILINE)


def text_problems(path: str, text: str) -> Iterator[Problem]:
    """What can be wrong with any text: a byte order mark, conflict markers of a merge."""
    if text.startswith(BOM):
        message = "begins with a byte order mark, which some editors add; it is kept and passed over"
        yield Problem(path, 1, "byte_order_mark", "info", message)
    if "<<<<<<<" in text:
        for found in _MARKERS.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            message = "a merge left its conflict markers here: keep the right lines and remove the markers"
            yield Problem(path, line, "conflict_markers", "error", message)


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
