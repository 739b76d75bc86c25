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
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    found: list[Splice] = []
    offset = i = j = 0
    for fixed_i, fixed_j in (*_fixed_points(old, new), (len(old), len(new))):
        piece_old, piece_new = old[i:fixed_i], new[j:fixed_j]
        if piece_old != piece_new:
            skip = _common(piece_old, piece_new)
            tail = _common(piece_old[skip:][::-1], piece_new[skip:][::-1])
            start = offset + sum(map(len, piece_old[:skip]))
            changed_old = b"".join(piece_old[skip : len(piece_old) - tail])
            changed_new = b"".join(piece_new[skip : len(piece_new) - tail])
            found.append(Splice(start, changed_old, changed_new))
        offset += sum(map(len, piece_old))
        if fixed_i < len(old):
            offset += len(old[fixed_i])
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


def _common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _fixed_points(old: Sequence[bytes], new: Sequence[bytes]) -> list[tuple[int, int]]:
    """Pairs of line numbers that are kept: the common head and tail, and unique lines in the middle."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    points = [(k, k) for k in range(head)]
    points += [(head + i, head + j) for i, j in _unique_pairs(middle_old, middle_new)]
    points += [(len(old) - k, len(new) - k) for k in range(tail, 0, -1)]
    return points


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
