"""What changed between two versions of a file, as few and small pieces, so that a redo record stays small.

Pieces are whole lines: a piece can be read in a log, and "does the new text stand here?" can be asked of a file that
somebody edited meanwhile. Lines that stand once in each version are taken as fixed points, in the longest order that
both share; what lies between two of them is one piece (B. Cohen's patience diff, without its recursion).
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Splice:
    """At byte `offset` of the old version, `old` gives way to `new`."""

    offset: int
    old: bytes
    new: bytes


def splices(before: bytes, after: bytes) -> tuple[Splice, ...]:
    """The pieces, in order of offset, that make `after` out of `before`; none if they are equal."""
    if before == after:
        return ()
    head = _whole_lines(before, _common_head(before, after))
    tail = _common_tail(before[head:], after[head:])
    old = before[head : len(before) - tail].splitlines(keepends=True)
    new = after[head : len(after) - tail].splitlines(keepends=True)
    if not old or not new or len(old) == len(new) == 1:
        return (Splice(head, b"".join(old), b"".join(new)),)
    found: list[Splice] = []
    offset, i, j = head, 0, 0
    for fixed_i, fixed_j in (*_unique_pairs(old, new), (len(old), len(new))):
        piece_old, piece_new = old[i:fixed_i], new[j:fixed_j]
        if piece_old != piece_new:
            found.append(_piece(offset, piece_old, piece_new))
        offset += sum(map(len, old[i : fixed_i + 1]))
        i, j = fixed_i + 1, fixed_j + 1
    return tuple(found)


def spliced(before: bytes, pieces: Iterable[Splice]) -> bytes:
    """`before` with the pieces put in; raises ValueError when one of them doesn't stand where it should."""
    parts: list[bytes] = []
    at = 0
    for piece in pieces:
        end = piece.offset + len(piece.old)
        if piece.offset < at or before[piece.offset : end] != piece.old:
            raise ValueError(f"the text at byte {piece.offset} is not the one that was to be replaced")
        parts += (before[at : piece.offset], piece.new)
        at = end
    return b"".join((*parts, before[at:]))


def _piece(offset: int, old: Sequence[bytes], new: Sequence[bytes]) -> Splice:
    """The lines between two fixed points, without those that are the same at their beginning and end."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    changed_old = b"".join(old[head : len(old) - tail])
    changed_new = b"".join(new[head : len(new) - tail])
    return Splice(offset + sum(map(len, old[:head])), changed_old, changed_new)


def _common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _common_head(one: bytes, other: bytes) -> int:
    """How many bytes two texts share at their beginning."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _whole_lines(text: bytes, length: int) -> int:
    """The part of the first `length` bytes that is whole lines."""
    return text.rfind(b"\n", 0, length) + 1


def _common_tail(one: bytes, other: bytes) -> int:
    """How many bytes of whole lines two texts share at their end."""
    end, other_end = len(one), len(other)
    low, high = 0, min(end, other_end)
    if one[end - high :] == other[other_end - high :]:
        low = high
    while low < high:
        middle = (low + high + 1) // 2
        if one[end - middle : end - low] == other[other_end - middle : other_end - low]:
            low = middle
        else:
            high = middle - 1
    # Cut to where a line begins in both: behind the first newline of the shared part, or all of it.
    if _begins_line(one, end - low) and _begins_line(other, other_end - low):
        return low
    newline = one.find(b"\n", end - low)
    return 0 if newline < 0 else end - newline - 1


def _begins_line(text: bytes, at: int) -> bool:
    return at == 0 or text[at - 1 : at] == b"\n"


def _unique_pairs(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    counts_old, counts_new = Counter(old), Counter(new)
    place = {line: i for i, line in enumerate(old) if counts_old[line] == 1}
    pairs = [(place[line], j) for j, line in enumerate(new) if counts_new[line] == 1 and line in place]
    # The longest rising run of old line numbers, by patience sorting.
    tops: list[int] = []
    owners: list[int] = []
    previous: list[int | None] = []
    for at, (i, _) in enumerate(pairs):
        pile = bisect_left(tops, i)
        previous.append(owners[pile - 1] if pile else None)
        if pile == len(tops):
            tops.append(i)
            owners.append(at)
        else:
            tops[pile] = i
            owners[pile] = at
    run: list[tuple[int, int]] = []
    at_pair = owners[-1] if owners else None
    while at_pair is not None:
        run.append(pairs[at_pair])
        at_pair = previous[at_pair]
    return run[::-1]
