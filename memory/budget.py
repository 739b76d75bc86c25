"""Texts that would outgrow a prompt, cut to a number of tokens; what is left out is always said, in the text itself."""

import re
from dataclasses import dataclass
from itertools import accumulate

from .tokens import estimate

_BLOCK = re.compile(r"^## ", re.MULTILINE)
_STATUS = re.compile(r"^status: *([\w-]+)", re.MULTILINE)
_UPDATED = re.compile(r"\bupdated: *(\d{4}-\d\d-\d\d)")
_RESTING = frozenset({"archived", "done", "closed", "cancelled", "dropped"})
_NOTE_TOKENS = 40


@dataclass(frozen=True)
class Budgeted:
    """A text within its budget, and how much of it was left out; 0 means that it is whole."""

    text: str
    left_out: int


def within_budget(index: str, tokens: int, *, what: str = "cards") -> Budgeted:
    """An index with as many of its blocks as fit; those at work and changed last come first, their order stays.

    Blocks are whole, but for the last that fits in part: it ends after an entry. `left_out` counts blocks.
    """
    if estimate(index) <= tokens:
        return Budgeted(index, 0)
    starts = [m.start() for m in _BLOCK.finditer(index)]
    if not starts:
        return first_lines(index, tokens)
    head = first_lines(index[: starts[0]], tokens // 3).text
    blocks = [index[a:b] for a, b in zip(starts, [*starts[1:], len(index)], strict=True)]
    left = tokens - _NOTE_TOKENS - estimate(head)
    kept: dict[int, str] = {}
    for k in sorted(range(len(blocks)), key=lambda k: (*_rank(blocks[k]), k)):
        cost = estimate(blocks[k])
        if cost > left:
            if part := _part(blocks[k], left):
                kept[k] = part
            break
        kept[k] = blocks[k]
        left -= cost
    missing = len(blocks) - len(kept)
    body = "".join(kept[k] for k in sorted(kept))
    note = f"\n(… {missing} more {what} are not shown here; search finds them)\n" if missing else ""
    return Budgeted(_closed(head + body) + note, missing or 1)


def first_lines(text: str, tokens: int) -> Budgeted:
    """The beginning of a text, cut at a line end; `left_out` counts lines."""
    return _lines(text, tokens, from_end=False)


def last_lines(text: str, tokens: int) -> Budgeted:
    """The end of a text, such as the newest lines of a day log; `left_out` counts lines."""
    return _lines(text, tokens, from_end=True)


def _lines(text: str, tokens: int, *, from_end: bool) -> Budgeted:
    if estimate(text) <= tokens:
        return Budgeted(text, 0)
    lines = text.splitlines(keepends=True)
    if from_end:
        lines.reverse()
    fit = sum(1 for total in accumulate(estimate(line) for line in lines) if total <= tokens - _NOTE_TOKENS)
    kept = lines[:fit]
    missing = len(lines) - fit
    note = f"(… {missing} {'earlier' if from_end else 'more'} lines are not shown here; search finds them)\n"
    if from_end:
        return Budgeted(note + "".join(kept[::-1]), missing)
    return Budgeted(_closed("".join(kept)) + note, missing)


def _rank(block: str) -> tuple[bool, int]:
    """Sorts what is at work before what rests, and the newest first."""
    status = _STATUS.search(block)
    updated = _UPDATED.search(block)
    return (
        status is not None and status[1].lower() in _RESTING,
        -int(updated[1].replace("-", "")) if updated else 0,
    )


def _part(block: str, tokens: int) -> str:
    """The heading, the status and as many entries as fit, with a line that says how many more there are; "" if none."""
    lines = block.splitlines(keepends=True)
    entries = [k for k, line in enumerate(lines) if line.startswith("- ")]
    if not entries:
        return ""
    spent = list(accumulate(estimate(line) for line in lines))
    fit = [k for k in entries if spent[k] <= tokens - _NOTE_TOKENS]
    if not fit:
        return ""
    more = len(entries) - len(fit)
    return _closed("".join(lines[: fit[-1] + 1])) + f"- … {more} more sections of this card; read_card shows them\n"


def _closed(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"
