"""Which lines of a card are only onepen's own frame around quotes, and so no source of anything.

A finding of the offline researcher holds quotes and, around them, the words of the question. Who quoted those could
make a statement of a question: only its quotes count. In a project's card this goes for the sections in which such a
finding stands; in a card under `research/`, for all of it.
"""

from bisect import bisect_right
from collections.abc import Sequence

from ..memory.text.document import parse_document
from .phrases import is_fixed
from .quotes import parse_quote


def framing_lines(path: str, lines: Sequence[str]) -> frozenset[int]:
    """The numbers of the lines, counted from 1, that are frame; none in a file that is no card."""
    shelf, _, name = path.partition("/")
    if shelf not in ("research", "projects") or "/" in name or not name.endswith(".md"):
        return frozenset()
    quoted = {n for n, line in enumerate(lines, 1) if parse_quote(line) is not None}
    frame = {n for n, line in enumerate(lines, 1) if is_fixed(line.strip()) or is_fixed(line.strip("# \t\r"))}
    if not quoted and not frame:
        return frozenset()
    if shelf == "research":
        return frozenset(range(1, len(lines) + 1)) - quoted
    return _of_sections(lines, sorted(quoted | frame)) - quoted


def _of_sections(lines: Sequence[str], marked: Sequence[int]) -> frozenset[int]:
    """The lines of the sections in which a marked line stands, and the headings above them."""
    sections = parse_document("\n".join(lines)).sections
    starts = [section.line for section in sections]
    found: set[int] = set()
    for number in marked:
        k = bisect_right(starts, number) - 1
        first = starts[k] if k >= 0 else 1
        found.update(range(first, starts[k + 1] if k + 1 < len(starts) else len(lines) + 1))
        level = sections[k].level if k >= 0 else 0
        for above in reversed(sections[: max(k, 0)]):
            if above.level < level:
                level = above.level
                found.add(above.line)
    return frozenset(found)
