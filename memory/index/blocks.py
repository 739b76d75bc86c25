"""A large index as its blocks, so that a change of one card costs what that card's block costs.

Whoever commits again and again keeps an index so: the bytes between two headings are a part, and which parts mention a
card is known. Changing a part gives the same text as changing the whole (one_block.py says where that is certain).
Where it isn't, there is no such form, or the change is not made here: `None`, and the whole is changed.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import is_not

from ..files import sha256
from .index import Index, parse_index

_HEADING = re.compile(rb"^ {0,3}#{1,6}(?=[ \t\n]|\Z)", re.MULTILINE)
_HARD = (b"```", b"~~~", b"<!--", b"\r", b"\0")
_ODD = ("\u212a".encode(), "\u0130".encode())  # letters that become ASCII, or longer, in small letters
_MENTION = re.compile(rb"(?<![a-z0-9-])([a-z0-9][a-z0-9-]*)(?=\.md|/)")
_FOREIGN_LINK = re.compile(rb"\]\([^)\n]*[\x80-\xff]")


class Blocks:
    """An index in parts; `mentions` are the numbers of the parts in which a card's name stands. Never changed."""

    def __init__(self, parts: Sequence[bytes], mentions: Mapping[bytes, tuple[int, ...]], foreign: bool) -> None:
        self.parts = parts
        self._mentions = mentions
        self._foreign = foreign

    @classmethod
    def of(cls, data: bytes) -> "Blocks | None":
        """The parts of an index; None where they can't be told at a glance, or it is no text."""
        if not _is_plain(data):
            return None
        starts = [0, *(found.start() for found in _HEADING.finditer(data) if found.start())]
        parts = [data[start:end] for start, end in zip(starts, [*starts[1:], len(data)], strict=True)]
        mentions: dict[bytes, tuple[int, ...]] = {}
        for at, part in enumerate(parts):
            for name in _names(part):
                mentions[name] = (*mentions.get(name, ()), at)
        made = cls(parts, mentions, _FOREIGN_LINK.search(data) is not None)
        made.__dict__["data"] = data
        return made

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
        old = self.parts[at]
        new = change(parse_index(old.decode())).text.encode()
        if new == old:
            return self
        if not _is_plain(new) or (at and not _HEADING.match(new)):
            return None
        after = [*self.parts]
        more = [found.start() for found in _HEADING.finditer(new) if found.start()]
        if more and at < len(after) - 1:
            return None
        after[at : at + 1] = [new[a:b] for a, b in zip([0, *more], [*more, len(new)], strict=True)]
        foreign = self._foreign or _FOREIGN_LINK.search(new) is not None
        return Blocks(after, self._mentioned(at, old, after[at:] if more else [new]), foreign)

    def pieces(self, before: "Blocks") -> Iterator[tuple[int, bytes, bytes]]:
        """Where this is another than an earlier form of the same index: byte offset there, what went, what came."""
        offset = last = 0
        end = min(len(before.parts), len(self.parts)) - (len(before.parts) != len(self.parts))
        for at, other in enumerate(map(is_not, before.parts[:end], self.parts)):
            if other:
                offset += sum(map(len, before.parts[last:at]))
                last = at
                yield offset, before.parts[at], self.parts[at]
        if len(before.parts) != len(self.parts):  # what is new at the end begins with the last that was there
            offset += sum(map(len, before.parts[last:end]))
            yield offset, b"".join(before.parts[end:]), b"".join(self.parts[end:])

    def _place(self, card: str) -> int | None:
        found = self._mentions.get(card.encode(), ())
        if not found:
            return None if self._foreign else len(self.parts) - 1
        return found[0] if len(found) == 1 and self.parts[found[0]].startswith(b"## [") else None

    def _mentioned(self, at: int, old: bytes, new: Sequence[bytes]) -> Mapping[bytes, tuple[int, ...]]:
        before, after = _names(old), [_names(part) for part in new]
        if [before] == after:
            return self._mentions
        mentions = dict(self._mentions)
        for name in before:
            mentions[name] = tuple(place for place in mentions[name] if place != at)
        for k, names in enumerate(after):
            for name in names:
                mentions[name] = (*mentions.get(name, ()), at + k)
        return mentions


def _is_plain(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return not any(mark in data for mark in (*_HARD, *_ODD))


def _names(part: bytes) -> set[bytes]:
    return set(_MENTION.findall(part.lower()))
