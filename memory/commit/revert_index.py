"""The indexes after a commit was taken back: they follow the cards as they are now, and say again what they said.

An index is not put back as text, since other cards were changed in it meanwhile. Entry by entry: one that still says
what the commit made it say, says what it said before; one that somebody has changed since stays. Pure.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ..history import TextChange
from ..index.entry import IndexEntry, entry_key, parse_entry
from ..index.index import ARCHIVED, Index
from ..index.one_block import changed_block
from ..index.reconcile import reconcile
from ..text.document import Document

_HEADING = re.compile(r"## \[.*\]\(([^\s()<>/#?]+)\.md\)")


@dataclass
class Said:
    """What an index said of one card before a commit, and what the commit made it say."""

    before: dict[str, IndexEntry] = field(default_factory=dict)
    after: dict[str, IndexEntry] = field(default_factory=dict)


@dataclass(frozen=True)
class Turned:
    """A card before a commit was taken back and after; None where it isn't there."""

    before: Document | None
    after: Document | None


def said_of(changes: Iterable[TextChange]) -> Mapping[str, Said]:
    """What the pieces of an index tell, card by card."""
    found: dict[str, Said] = {}
    for change in changes:
        for entries, text in (("before", change.old), ("after", change.new)):
            for line in text.splitlines():
                heading = _HEADING.match(line)
                if heading is not None:
                    found.setdefault(heading[1], Said())
                key, entry = entry_key(line), parse_entry(line)
                if key is not None and entry is not None:
                    getattr(found.setdefault(key[0], Said()), entries)[key[1]] = entry[0]
    return found


def reverted_index(text: str, said: Mapping[str, Said], cards: Mapping[str, Turned], gone: Iterable[str]) -> str:
    """The index as it will be; `cards` are all that it is about, `gone` the places of files ("card/path") that go."""
    dropped = {tuple(one.split("/", 1)) for one in gone}
    for card in sorted({*said, *cards}):
        turned = cards.get(card, Turned(None, None))
        files = frozenset(path for owner, path in dropped if owner == card)
        text = changed_block(text, card, _change(card, said.get(card, Said()), turned, files))
    return text


def _change(card: str, said: Said, turned: Turned, files: frozenset[str]) -> Callable[[Index], Index]:
    def change(index: Index) -> Index:
        if turned.after is None:
            return index.without_card(card) if turned.before is not None else index
        standing = _entries(index, card)
        # First, so that the entry of a heading that gets its old name back keeps its place.
        index = reconcile(index, {card: turned.after}, only=card)
        if _rests(turned.after) and not _rests(turned.before):
            return index.without_entries(card)
        index = _with_old(index, card, said, standing, turned.after)
        index = _without_orphans(index, card, turned, files)
        return _without_new(index, card, said)

    return change


def _rests(document: Document | None) -> bool:
    return document is not None and document.front.text("status") == ARCHIVED


def _entries(index: Index, card: str) -> dict[str, IndexEntry]:
    block = index.card(card)
    return {} if block is None else {entry.section_id: entry for entry in block.entries}


def _with_old(index: Index, card: str, said: Said, standing: Mapping[str, IndexEntry], document: Document) -> Index:
    """With what the index said before, where it says what the commit made of it or what was just made by itself."""
    known = {section.id for section in document.sections}
    now = _entries(index, card)
    made = {(entry.summary, entry.keywords) for entry in said.after.values()}
    for name, entry in said.before.items():
        was, there = standing.get(name), now.get(name)
        if was is not None:
            ours = was == said.after.get(name)
        else:
            ours = there is None or there.auto or (there.summary, there.keywords) in made
        if ours and (entry.link is not None or name in known):
            index = index.with_entry(card, entry, link=entry.link)
    return index


def _without_new(index: Index, card: str, said: Said) -> Index:
    """Without the entries that the commit made and nobody changed."""
    for name, entry in _entries(index, card).items():
        if name not in said.before and said.after.get(name) == entry and not entry.auto:
            index = index.without_entry(card, name)
    return index


def _without_orphans(index: Index, card: str, turned: Turned, files: frozenset[str]) -> Index:
    """Without the entries of sections and files that go with this, whatever they say by now."""
    left = {section.id for section in turned.after.sections} if turned.after is not None else set()
    went = {section.id for section in turned.before.sections} - left if turned.before is not None else set()
    for name, entry in _entries(index, card).items():
        if name in (files if entry.link is not None else went):
            index = index.without_entry(card, name)
    return index
