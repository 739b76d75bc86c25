"""Whether the lines of a log in logs/ can still be read: each is one JSON object, and none is ever taken out.

What the commit log says is judged by `history.py`; here are those of which only the form is known in this room.
"""

import json
from collections.abc import Callable, Iterator, Mapping

from ..problem import Level, Problem
from ..tombstone import TOMBSTONES, parse_tombstone

USAGE, SEALS, COMMITS = "usage-", "seals-", "commits-"


def record_problems(path: str, text: str) -> Iterator[Problem]:
    """What is wrong with the log at `path`, given with its text."""
    name = path.rpartition("/")[2]
    if not text and name.startswith((USAGE, SEALS, COMMITS)):
        message = "is empty, and lines are only ever added to it: put it back from a backup or from git, or remove it"
        yield Problem(path, 0, "log_empty", "warning" if name.startswith(SEALS) else "error", message)
    elif path == TOMBSTONES:
        lost = "a client that it says was removed is read again if its files come back: put the line back from git"
        yield from _bad_lines(path, text, "tombstone_unreadable", "error", f"{lost}, or remove it")
    elif name.startswith(USAGE):
        lost = "what it cost is in no sum and in no budget: put the line back from a backup or from git, or remove it"
        yield from _bad_lines(path, text, "usage_unreadable", "error", lost)
    elif name.startswith(SEALS):
        lost = "what it sealed is sealed again by the next commit: put the line back or remove it"
        yield from _bad_lines(path, text, "seal_unreadable", "warning", lost)


def is_record(line: str) -> bool:
    """Whether a line is one JSON object of a version."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "v" in found


def _bad_lines(path: str, text: str, kind: str, level: Level, lost: str) -> Iterator[Problem]:
    from ..text.daylog import parse_seals  # pydantic: more than `status` takes

    reads: Mapping[str, Callable[[str], object]] = {
        "seal_unreadable": parse_seals,
        "tombstone_unreadable": parse_tombstone,
    }
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not reads.get(kind, is_record)(line):
            yield Problem(path, number, kind, level, f"this line can't be read, so {lost}")
