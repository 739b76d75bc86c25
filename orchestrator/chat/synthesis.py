"""The text of a synthesis: what the synthesizer answered, checked; and what is extracted where it can't be had. Pure.

…the whole new synthesis…

## Log
- what belongs in the day log, a line each
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...memory.budget import fitting, lines_of
from ...memory.layers import SYNTHESIS_TOKENS
from ...memory.text.clip import clip
from ...memory.text.daylog import BadLogText, log_line
from ...memory.tokens import estimate
from ...staging.characters import visible
from .said import Exchange

MOST_LINES = 12
_MOST_LINE = 400
_NOTE = 30
_LOG = re.compile(r"^#{1,3}[ \t]*Log[ \t]*:?[ \t]*$", re.IGNORECASE | re.MULTILINE)
_FENCED = re.compile(r"\A```[a-z]*\n(?P<text>.*)\n```\Z", re.DOTALL)
_HEAD = """\
# Where things stand

(Put together without a model: what was asked, and what was done. The answers stand in the chats.)
"""
_EARLIER = "## Before that\n"
_LATELY = "## What was asked and done\n"


class NoSynthesis(ValueError):
    """Raised when a text is no synthesis; says why."""


@dataclass(frozen=True)
class Synthesis:
    """A new synthesis, and lines for the day log."""

    text: str
    log: tuple[str, ...] = ()


def parse_synthesis(answer: str) -> Synthesis:
    """What the synthesizer answered; raises NoSynthesis for nothing, or too much."""
    answer = answer.strip()
    if found := _FENCED.match(answer):
        answer = found["text"].strip()
    places = list(_LOG.finditer(answer))
    text = answer[: places[-1].start()] if places else answer
    lines = answer[places[-1].end() :].splitlines() if places else []
    log = [row.strip()[1:].strip() for row in lines if row.strip().startswith(("- ", "* "))]
    if not text.strip():
        raise NoSynthesis("it is empty")
    if (tokens := estimate(text)) > SYNTHESIS_TOKENS:
        raise NoSynthesis(f"it has about {tokens:,} tokens, and at most {SYNTHESIS_TOKENS:,} fit")
    return Synthesis(text.strip() + "\n", tuple(clip(visible(row), _MOST_LINE) for row in log if row)[:MOST_LINES])


def extracted(every: Sequence[Exchange], before: str) -> Synthesis:
    """A synthesis without a model: the latest questions and what was done, with their places, then what stood before.

    What was asked and done is listed, the newest as far as it fits; none of it is left out without a word.
    """
    rows: list[str] = []
    left = SYNTHESIS_TOKENS * 2 // 3 - estimate(_HEAD + _LATELY)
    for one in reversed(every):
        row = _row(one)
        left -= estimate(row)
        if rows and left < 0:
            break
        rows.insert(0, row)
    more = len(every) - len(rows)
    if more:
        rows.insert(0, f"- … {more} earlier exchanges; search_history finds them\n")
    lately = f"{_HEAD}\n{_LATELY}{''.join(rows)}"
    old = "".join(line for line in _without_frame(before).splitlines(keepends=True) if line.strip())
    earlier = _before(lines_of(old), SYNTHESIS_TOKENS - estimate(lately))
    return Synthesis(lately + earlier)


def _before(lines: Sequence[str], room: int) -> str:
    """What stood in the synthesis before, as far as it fits; the history has the rest."""
    if not lines:
        return ""
    fit = fitting(lines, room - estimate(_EARLIER) - _NOTE)
    more = len(lines) - fit
    note = f"(… {more} more lines of the synthesis before; onepen history shows them)\n" if more else ""
    return f"\n{_EARLIER}{''.join(lines[:fit])}{note}"


def _without_frame(text: str) -> str:
    """A synthesis without the headings that an extracted one has, so that one made of another has them once."""
    for part in (_HEAD, _LATELY, _EARLIER):
        text = text.replace(part, "")
    return text


def _row(one: Exchange) -> str:
    asked = clip(" ".join(one.asked.split()), 160)
    done = f" → {clip('; '.join(one.done), 240)}" if one.done else ""
    return f'- {one.at[:16].replace("T", " ")} "{asked}"{done} (chats/{one.session}.jsonl, exchange {one.turn})\n'


def loggable(kind: str, text: str) -> bool:
    """Whether the day log takes a line."""
    from datetime import UTC, datetime

    try:
        log_line(datetime(2000, 1, 1, tzinfo=UTC), kind, text)
    except BadLogText:
        return False
    return True
