"""What a draft would change, as text that a person or a model can read: bounded, whatever the draft holds.

A difference is a unified diff. At most `max_lines` lines are shown, each cut at 2,000 characters (never inside a
character), and what is hidden is counted and said. Harmful characters are shown as escapes, so that a diff can be
printed as it is.
"""

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..memory.text.clip import clip
from .characters import visible
from .draft import Draft

MAX_LINES = 2_000
MAX_WIDTH = 2_000
_CONTEXT = 3
_DIFFLIB_LINES = 2_000
_DIFFLIB_MATCHES = 100_000  # pairs of equal lines; difflib's time grows with them
_RAPIDFUZZ_CELLS = 100_000_000  # cells of the matrix; a quarter of a second

Opcode = tuple[str, int, int, int, int]


@dataclass(frozen=True)
class DraftDiff:
    """The change to the target (`text`) and to the index; `hidden` lines of the changes are not shown.

    `index_before` and `index_after` are the lines of the index that differ.
    """

    target: str
    text: str
    index_before: str
    index_after: str
    hidden: int

    def plain(self) -> str:
        """All of it as plain text, with what is hidden said at the end."""
        parts = [self.text or f"(no difference in {self.target})\n"]
        if self.index_before or self.index_after:
            parts.append("index:\n")
            parts.extend(f"-{line}\n" for line in self.index_before.splitlines())
            parts.extend(f"+{line}\n" for line in self.index_after.splitlines())
        if self.hidden:
            parts.append(f"… {self.hidden:,} more lines or cut lines are not shown; the draft's file holds all\n")
        return "".join(parts)


def diff(
    draft: Draft,
    before: str | None,
    after: str,
    index_before: str | None = None,
    index_after: str | None = None,
    max_lines: int = MAX_LINES,
) -> DraftDiff:
    """The difference that the draft makes: `before` is None for a target that is absent, the index texts likewise."""
    shown = _Shown(max_lines)
    shown.compare(str(draft.target) if before is not None else "(absent)", before or "", str(draft.target), after)
    text = shown.text()
    gone, come = _changed(_lines(index_before or ""), _lines(index_after or ""))
    left, right = _Shown(max_lines), _Shown(max_lines)
    for line in gone:
        left.add(line.removesuffix("\n"))
    for line in come:
        right.add(line.removesuffix("\n"))
    return DraftDiff(str(draft.target), text, left.text(), right.text(), shown.hidden + left.hidden + right.hidden)


def between(name: str, one: str, other_name: str, other: str, max_lines: int = MAX_LINES) -> str:
    """How one text differs from another, each under its name; "" for texts that are the same."""
    shown = _Shown(max_lines)
    shown.compare(name, one, other_name, other)
    return shown.text() + (f"… {shown.hidden:,} more lines or cut lines are not shown\n" if shown.hidden else "")


def describe_bytes(data: bytes) -> str:
    """What to show of a file that is no text: its size, and how it begins."""
    return f"(no text: {len(data):,} bytes, beginning with {data[:16].hex(' ')})\n"


class _Shown:
    """Collects lines up to a limit and counts the others."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: list[str] = []
        self.hidden = 0

    def compare(self, name: str, old_text: str, new_name: str, new_text: str) -> None:
        """Adds the difference of two texts, with their names above it; nothing where there is none."""
        old, new = _lines(old_text), _lines(new_text)
        if all(line.endswith("\r\n") for line in (*old[:-1], *new[:-1])):
            old, new = [line.replace("\r\n", "\n") for line in old], [line.replace("\r\n", "\n") for line in new]
        if old != new:
            self.add(f"--- {name}")
            self.add(f"+++ {new_name}")
            for line in _unified(old, new):
                self.add(line)

    def add(self, line: str) -> None:
        if len(self._kept) >= self._limit:
            self.hidden += 1
            return
        if len(line) > MAX_WIDTH:
            self.hidden += 1
            line = f"{clip(line, MAX_WIDTH)} [{len(line) - MAX_WIDTH + 1:,} more characters]"
        self._kept.append(visible(line))

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._kept)


def _lines(text: str) -> list[str]:
    """The lines of a text with their line feeds; the last one may have none."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _unified(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for group in _grouped(_opcodes(old, new)):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@"
        for tag, a1, a2, b1, b2 in group:
            if tag == "equal":
                yield from _marked(" ", old[a1:a2])
            else:
                yield from _marked("-", old[a1:a2])
                yield from _marked("+", new[b1:b2])


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield mark + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _range(start: int, stop: int) -> str:
    count = stop - start
    return f"{start + 1 if count else start}" if count == 1 else f"{start + 1 if count else start},{count}"


def _grouped(opcodes: Sequence[Opcode]) -> Iterator[list[Opcode]]:
    """Groups of changes with three equal lines around them."""
    group: list[Opcode] = []
    for tag, a1, a2, b1, b2 in opcodes:
        if tag != "equal":
            group.append((tag, a1, a2, b1, b2))
            continue
        if group and a2 - a1 > 2 * _CONTEXT:
            group.append((tag, a1, a1 + _CONTEXT, b1, b1 + _CONTEXT))
            yield group
            group = []
        if not group:
            a1, b1 = max(a1, a2 - _CONTEXT), max(b1, b2 - _CONTEXT)
        group.append((tag, a1, a2, b1, b2))
    if group and group[-1][0] == "equal":
        tag, a1, a2, b1, b2 = group.pop()
        if group:
            group.append((tag, a1, min(a2, a1 + _CONTEXT), b1, min(b2, b1 + _CONTEXT)))
    if any(tag != "equal" for tag, *_ in group):
        yield group


def _opcodes(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    """How one list of lines becomes the other, in bounded time: exact for what people write, coarse for giants."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    middle = [(tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in _middle(a, b)]
    before: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
    after: list[Opcode] = [("equal", len(old) - tail, len(old), len(new) - tail, len(new))] if tail else []
    return [*before, *middle, *after]


def _middle(a: Sequence[str], b: Sequence[str]) -> list[Opcode]:
    if not a and not b:
        return []
    if not a or not b:
        return [("insert" if not a else "delete", 0, len(a), 0, len(b))]
    counts = Counter(b)
    if len(a) + len(b) <= _DIFFLIB_LINES and sum(counts[line] for line in a) <= _DIFFLIB_MATCHES:
        return list(difflib.SequenceMatcher(None, a, b).get_opcodes())
    if len(a) * len(b) <= _RAPIDFUZZ_CELLS:
        from rapidfuzz.distance import Indel

        return [(op.tag, op.src_start, op.src_end, op.dest_start, op.dest_end) for op in Indel.opcodes(a, b)]
    return [("replace", 0, len(a), 0, len(b))]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines the two begin with in common."""
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


def _changed(old: Sequence[str], new: Sequence[str]) -> tuple[list[str], list[str]]:
    """The lines that go and those that come."""
    gone: list[str] = []
    come: list[str] = []
    for tag, a1, a2, b1, b2 in _opcodes(old, new):
        if tag != "equal":
            gone.extend(old[a1:a2])
            come.extend(new[b1:b2])
    return gone, come
