"""Text for people: what came from outside is shown without power over the screen, and cut by columns.

A title, a draft or a file name may hold escape sequences, or characters that turn the text around them (Unicode
Technical Report 36, section 3): they are shown as escapes, so that what a person reads is what there is.
"""

import re
import unicodedata
from collections.abc import Sequence

from ..amounts import count as count

_BREAKS = {"\n", "\t"}
_INK = re.compile(r"\x1b\[[0-9;]*m")


def visible(text: str) -> str:
    """`text` with every control, bidirectional, zero-width and tag character written as an escape; newline, tab stay.

    A carriage return that ends a line is kept quiet: it is a line end, not a trick.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if _harmless(c) else _escape(c) for c in text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """`text` made visible on one line."""
    return " ".join(visible(text).split())


def because(status: str, reason: str) -> str:
    """What follows a status: why it is so, without saying the status again."""
    if not reason:
        return ""
    words = one_line(reason)
    return words.removeprefix(status) if words.startswith(f"{status} ") else f": {words}"


def _harmless(c: str) -> bool:
    if c in _BREAKS:
        return True
    if "\U000e0000" <= c <= "\U000e007f":  # tags: invisible copies of ASCII
        return False
    category = unicodedata.category(c)
    if category == "Cf":
        return c in "\u00ad\u200c\u200d"  # a soft hyphen and the joiners of Persian, Hindi and family emoji
    return category not in {"Cc", "Cs", "Zl", "Zp"}


def _escape(c: str) -> str:
    return c.encode("ascii", "backslashreplace").decode() if ord(c) > 0x7F else f"\\x{ord(c):02x}"


def width(text: str) -> int:
    """How many columns a terminal gives to `text`: two for a wide character, none for one that combines."""
    text = _INK.sub("", text)
    if text.isascii():
        return len(text)
    return sum(_columns_of(c) for c in text)


def _columns_of(c: str) -> int:
    if unicodedata.combining(c) or unicodedata.category(c) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


def cut(text: str, columns: int) -> str:
    """`text` in at most `columns` columns (at least 1), with an ellipsis where it was cut."""
    if width(text) <= columns:
        return text
    room, kept = columns - 1, ""
    for c in text:
        room -= _columns_of(c)
        if room < 0:
            break
        kept += c
    return kept.rstrip() + "…"


def excerpt(text: str, columns: int, words: Sequence[str]) -> str:
    """`text` in about `columns` columns around the first of `words` that stands in it, with an ellipsis at each cut."""
    if width(text) <= columns:
        return text
    places = [place for word in words if (place := text.casefold().find(word.casefold())) >= 0]
    start = max(0, min(places, default=0) - columns // 3)
    start = text.find(" ", start) + 1 if start else 0
    return ("…" if start else "") + cut(text[start:], columns - 1)


def wrap(text: str, columns: int, indent: str = "  ") -> str:
    """Each line of `text` in at most `columns` columns where its blanks allow it.

    Broken at blanks only, so that paths and ids stay whole; what goes on begins with the line's blanks and `indent`.
    """
    lines = text.splitlines(keepends=True)
    return "".join(line if width(line.rstrip("\n")) <= columns else _wrapped(line, columns, indent) for line in lines)


def _wrapped(line: str, columns: int, indent: str) -> str:
    bare = line.rstrip("\n")
    lead = bare[: len(bare) - len(bare.lstrip(" "))]
    rows, row = [], lead
    for gap, word in re.findall(r"( *)([^ ]+)", bare[len(lead) :]):
        if row.strip() and width(row + gap + word) > columns:
            rows.append(row)
            row = lead + indent + word
        else:
            row += gap + word
    return "\n".join([*rows, row]) + line[len(bare) :]


def pad(text: str, columns: int) -> str:
    """`text` filled with blanks up to `columns`."""
    return text + " " * max(0, columns - width(text))


def table(rows: Sequence[tuple[str, ...]], columns: int) -> str:
    """Rows as aligned columns, the last one cut to fit; where that leaves it too little room, one field a line.

    Every field but the last is kept whole, however narrow the screen: ids and paths are there to be copied.
    """
    if not rows:
        return ""
    widths = [max(width(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    room = columns - sum(widths) - 2 * len(widths)
    if room < 12 and widths:
        return "".join(_stacked(row, columns) for row in rows)
    lines = []
    for row in rows:
        fields = [pad(field, w) for field, w in zip(row, widths, strict=False)]
        lines.append("  ".join([*fields, cut(row[-1], room)]).rstrip() + "\n")
    return "".join(lines)


def _stacked(row: tuple[str, ...], columns: int) -> str:
    head, *rest, last = row
    return f"{head}\n" + "".join(f"  {field}\n" for field in (*rest, cut(last, columns - 2)) if field)
