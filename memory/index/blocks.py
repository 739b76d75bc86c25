"""An index as its blocks, so that a change of one card costs what that card's block costs.

Whoever commits again and again keeps an index so: the bytes between two headings are a part, and which parts mention a
card is known. Changing a part gives the same text as changing the whole (one_block.py says where that is certain).
Where it isn't, there is no such form, or the change is not made here: `None`, and the whole is changed.

Some parts that follow one another are a run, and two forms of an index share the runs in which they are the same: so
neither a change nor the search for what changed looks at each of 10,000 cards.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from ..files import sha256
from .index import Index, parse_index

_HEADING = re.compile(rb"^ {0,3}#{1,6}(?=[ \t\n]|\Z)", re.MULTILINE)
_ODD = ("\u212a".encode(), "\u0130".encode())  # letters that become ASCII, or longer, in small letters
_HARD = (b"```", b"~~~", b"<!--", b"\r", b"\0", *_ODD)
_MENTION = re.compile(rb"(?<![a-z0-9-])([a-z0-9][a-z0-9-]*)(?=\.md|/)")
_FOREIGN_LINK = re.compile(rb"\]\([^)\n]*[\x80-\xff]")


_RUN = 32


class _Run:
    """Some parts that follow one another, and how many bytes they are. Never changed."""

    def __init__(self, parts: Sequence[bytes], size: int | None = None) -> None:
        self.parts = parts
        self.size = sum(map(len, parts)) if size is None else size

    def changed(self, at: int, part: bytes) -> "_Run":
        parts = [*self.parts]
        parts[at] = part
        return _Run(parts, self.size - len(self.parts[at]) + len(part))


class Blocks:
    """An index in parts; `mentions` are the numbers of the parts in which a card's name stands. Never changed.

    Every run but the last is full, so a part's number says where it is.
    """

    def __init__(self, runs: Sequence[_Run], mentions: Mapping[bytes, tuple[int, ...]], foreign: bool) -> None:
        self._runs = runs
        self._count = (len(runs) - 1) * _RUN + len(runs[-1].parts)
        self._mentions = mentions
        self._foreign = foreign

    @classmethod
    def of(cls, data: bytes) -> "Blocks | None":
        """The parts of an index; None where they can't be told at a glance, or it is no text."""
        try:
            data.decode()
        except UnicodeDecodeError:
            return None
        if not _is_plain(data):
            return None
        starts = [0, *(found.start() for found in _HEADING.finditer(data) if found.start())]
        parts = [data[start:end] for start, end in zip(starts, [*starts[1:], len(data)], strict=True)]
        mentions: dict[bytes, tuple[int, ...]] = {}
        for at, part in enumerate(parts):
            for name in _names(part):
                mentions[name] = (*mentions.get(name, ()), at)
        made = cls(_in_runs(parts), mentions, _FOREIGN_LINK.search(data) is not None)
        made.__dict__["data"] = data
        return made

    @property
    def parts(self) -> list[bytes]:
        """All parts in order."""
        return [part for run in self._runs for part in run.parts]

    @cached_property
    def data(self) -> bytes:
        return b"".join(self.parts)

    @cached_property
    def sha256(self) -> str:
        return sha256(self.data)

    def changed(self, card: str, change: Callable[[Index], Index]) -> "Blocks | None":
        """The index after a change that touches or adds this card's block only; None where that is not certain."""
        at = self._place(card)
        if at is None:
            return None
        number, within = divmod(at, _RUN)
        run = self._runs[number]
        old = run.parts[within]
        new = change(parse_index(old.decode())).text.encode()
        if new == old:
            return self
        if not _is_plain(new) or (at and not _HEADING.match(new)):
            return None
        more = [found.start() for found in _HEADING.finditer(new) if found.start()]
        if more and at < self._count - 1:
            return None
        runs = [*self._runs]
        came = [new[a:b] for a, b in zip([0, *more], [*more, len(new)], strict=True)]
        runs[number : number + 1] = _in_runs([*run.parts[:within], *came]) if more else [run.changed(within, new)]
        foreign = self._foreign or _FOREIGN_LINK.search(new) is not None
        return Blocks(runs, self._mentioned(at, old, came), foreign)

    def pieces(self, before: "Blocks") -> Iterator[tuple[int, bytes, bytes]]:
        """Where this is another than an earlier form of the same index: byte offset there, what went, what came."""
        grown = before._count != self._count
        end = min(before._count, self._count) - grown
        offset = 0
        for number, (old, new) in enumerate(zip(before._runs, self._runs, strict=False)):
            if old is not new:
                at = offset
                for one, other in islice(zip(old.parts, new.parts, strict=False), max(end - number * _RUN, 0)):
                    if one is not other:
                        yield at, one, other
                    at += len(one)
            offset += old.size
        if grown:  # what is new at the end begins with the last that was there
            went = b"".join(before.parts[end:])
            yield sum(run.size for run in before._runs) - len(went), went, b"".join(self.parts[end:])

    def _place(self, card: str) -> int | None:
        found = self._mentions.get(card.encode(), ())
        if not found:
            return None if self._foreign else self._count - 1
        return found[0] if len(found) == 1 and self._part(found[0]).startswith(b"## [") else None

    def _part(self, at: int) -> bytes:
        return self._runs[at // _RUN].parts[at % _RUN]

    def _mentioned(self, at: int, old: bytes, new: Sequence[bytes]) -> Mapping[bytes, tuple[int, ...]]:
        if len(new) == 1 and _same_names(old, new[0]):
            return self._mentions
        before, after = _names(old), [_names(part) for part in new]
        mentions = dict(self._mentions)
        for name in before:
            mentions[name] = tuple(place for place in mentions[name] if place != at)
        for k, names in enumerate(after):
            for name in names:
                mentions[name] = (*mentions.get(name, ()), at + k)
        return mentions


def _in_runs(parts: Sequence[bytes]) -> list[_Run]:
    return [_Run(parts[start : start + _RUN]) for start in range(0, len(parts), _RUN)]


def _is_plain(data: bytes) -> bool:
    return not any(mark in data for mark in _HARD)


def _same_names(one: bytes, other: bytes) -> bool:
    """Whether the lines that two parts don't share name the same."""
    lines, others = set(one.split(b"\n")), set(other.split(b"\n"))
    return _names(b"\n".join(lines - others)) == _names(b"\n".join(others - lines))


def _names(part: bytes) -> set[bytes]:
    return set(_MENTION.findall(part.lower()))
