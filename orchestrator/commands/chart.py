"""A small bar chart for a terminal: a name, a bar, a figure; plain characters, and no colour."""

from collections.abc import Sequence

from .text import pad, width

WIDEST = 40
_NARROWEST = 8
_EIGHTHS = " ▏▎▍▌▋▊▉"
_FULL = "█"


def bars(rows: Sequence[tuple[str, float, str]], columns: int) -> str:
    """Rows of name, amount and figure, the bars to scale; "" where nothing is worth a bar or no bar would fit."""
    largest = max((amount for _, amount, _ in rows), default=0.0)
    if largest <= 0 or len(rows) < 2:
        return ""
    names, figures = max(width(name) for name, _, _ in rows), max(width(figure) for _, _, figure in rows)
    room = min(WIDEST, columns - names - figures - 4)
    if room < _NARROWEST:
        return ""
    lines = (
        f"{pad(name, names)}  {pad(_bar(amount / largest * room), room)}  {figure}" for name, amount, figure in rows
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _bar(length: float) -> str:
    """A bar of so many columns, to the eighth; what is there at all shows."""
    eighths = round(length * 8)
    eighths = max(eighths, 1) if length > 0 else 0
    return _FULL * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
