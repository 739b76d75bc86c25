"""The day as text: what was said when something happened, and the reports of the evening."""

from examples.long_chat.day import BREAK_BEFORE, RENEWALS, SAID, Day, Exchange

_TURNING = {1, 2, BREAK_BEFORE + 1, BREAK_BEFORE + 2, *RENEWALS, *(k + 1 for k in RENEWALS), len(SAID)}
"""Exchanges that are shown although nothing was noted beside their answers."""


def exchange(told: Exchange, *, whole: bool = False) -> str:
    """The message, the notes and what was used; "" for one in which nothing happened, unless all are wanted."""
    notes = told.notes[:-1]
    if not (whole or notes or told.number in _TURNING):
        return ""
    lines = (f"{told.at:%H:%M} ({told.number}) > {told.said}", *notes, told.usage)
    return "\n           ".join(lines) + "\n"


def evening(day: Day) -> str:
    """The reports, each below its command."""
    return "".join(f"\n$ {command}\n{printed}" for command, printed in day.reports.items())
