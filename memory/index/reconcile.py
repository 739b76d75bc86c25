"""Whether an index says what the cards say, and making it so after somebody edited the cards by hand.

Nothing is deleted here: an entry whose section is gone, or a card whose file is gone, stays for a person to decide.
A card that is archived needs no entries; those it has follow its sections as any do.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..text.document import Document, Section
from .entry import IndexEntry, auto_entry
from .index import ARCHIVED, Index, parse_index
from .lines import CardPlace, EntryPlace
from .sheet import Sheet

# Words that tell: in scripts without blanks a whole run counts as one.
_WORD = re.compile(r"\w{4,}")

DriftKind = Literal["card_missing", "card_unindexed", "entry_missing", "entry_orphan", "section_renamed"]


@dataclass(frozen=True)
class Drift:
    """One thing in which an index and its cards differ; `section` is None where it is about the whole card."""

    card: str
    kind: DriftKind
    section: str | None
    message: str


@dataclass(frozen=True)
class _Match:
    """How the sections of a card and its entries in the index go together."""

    renamed: Mapping[str, str]
    missing: tuple[Section, ...]
    orphans: tuple[str, ...]


def drift(index: Index, cards: Mapping[str, Document]) -> tuple[Drift, ...]:
    """Where an index and the cards of its shelf differ, cards in the order of their ids."""
    found = list(_missing_cards(index, cards))
    for card in sorted(cards):
        block = index.lines.place(card)
        if block is None or block.id != card:
            found.append(Drift(card, "card_unindexed", None, f"{card}.md has no block in the index"))
            continue
        match = _match(block, cards[card])
        for section in match.missing:
            found.append(Drift(card, "entry_missing", section.id, f"{card}.md#{section.id} has no entry"))
        for orphan in match.orphans:
            found.append(Drift(card, "entry_orphan", orphan, f"entry {card}.md#{orphan}: no such section"))
        for old, new in match.renamed.items():
            found.append(Drift(card, "section_renamed", old, f"section {old} of {card}.md is now {new}"))
    return tuple(found)


def reconcile(index: Index, cards: Mapping[str, Document], only: str | None = None) -> Index:
    """The index with what the cards (or the card `only`) have and it lacks.

    Cards without a block get one, sections without an entry get an `(auto)` one, `(auto)` entries follow their
    section, the entry of a renamed heading leads to its new name, title, status and date follow the front matter.
    """
    sheet = Sheet(index.lines)
    for card in sorted(cards) if only is None else [only]:
        document = cards.get(card)
        if document is not None:
            _put(sheet, index, card, document)
    if sheet.is_clean:
        return index
    text = sheet.text()
    return index if text == index.text else parse_index(text)


def _put(sheet: Sheet, index: Index, card: str, document: Document) -> None:
    block = index.lines.place(card)
    front = document.front
    status, updated = front.text("status"), front.text("updated")
    if block is None:
        sheet.put_card(card, document.title or card, status or "active", updated or "")
        for section in () if status == ARCHIVED else document.entry_sections():
            sheet.put_entry(card, auto_entry(document, section))
        return
    sheet.put_card(card, document.title or block.title, status or block.status or "", updated or block.updated or "")
    match = _match(block, document)
    names = {new: old for old, new in match.renamed.items()}
    before: str | None = None
    for section in document.sections:
        name = names.get(section.id, section.id)
        old = block.entries.get(name)
        if section in match.missing:
            sheet.put_entry(card, auto_entry(document, section), after=before)
        elif old is not None and not old.of_file:
            before = name
            if old.auto:
                new = auto_entry(document, section)
                kept = IndexEntry(new.section_id, new.summary, old.entry.keywords, True)
                if kept != old.entry:
                    sheet.put_entry(card, kept, instead=name)
            elif section.id in names:
                sheet.rename_entry(card, name, section.id)


def _missing_cards(index: Index, cards: Mapping[str, Document]) -> Iterator[Drift]:
    for block in index.cards:
        if block.id not in cards:
            yield Drift(block.id, "card_missing", None, f"the index has a block for {block.id}.md, which isn't there")


def _match(block: CardPlace, document: Document) -> _Match:
    sections = {section.id: section for section in document.entry_sections()}
    # The title's heading is a section too, if somebody made an entry for it.
    known = {section.id for section in document.sections}
    entries = {name: found for name, found in block.entries.items() if not found.of_file}
    lost = [name for name in entries if name not in known]
    new = [name for name in sections if name not in entries]
    renamed = _renamed(document, entries, lost, [*sections], new) if lost and new else {}
    rests = document.front.text("status") == ARCHIVED
    missing = () if rests else tuple(sections[name] for name in new if name not in renamed.values())
    return _Match(renamed, missing, tuple(name for name in lost if name not in renamed))


def _renamed(
    document: Document,
    entries: Mapping[str, EntryPlace],
    lost: Sequence[str],
    sections: Sequence[str],
    new: Sequence[str],
) -> dict[str, str]:
    """The new names of lost entries: of each whose place was taken by exactly one new section.

    The place of an entry is between the nearest entries before and behind it whose sections are still there. Where
    several came or went in one place, the words of the entry must say which is which.
    """
    gaps: dict[tuple[str | None, str | None], list[str]] = {}
    for name in lost:
        gaps.setdefault(_neighbours([*entries], name, sections), []).append(name)
    pairs: list[tuple[str, str]] = []
    for (before, behind), names in gaps.items():
        took = [name for name in _between(sections, before, behind) if name in new]
        if len(names) == 1 and len(took) == 1:
            pairs.append((names[0], took[0]))
            continue
        for name in names:
            likely = [one for one in took if _tells_of(entries[name].entry, document.section_text(one))]
            pairs.extend((name, one) for one in likely if len(likely) == 1)
    taken = Counter(one for _, one in pairs)
    return {name: one for name, one in pairs if taken[one] == 1}


def _tells_of(entry: IndexEntry, text: str) -> bool:
    """Whether most words of an entry stand in a text."""
    words = set(_WORD.findall(f"{entry.summary} {' '.join(entry.keywords)}".casefold()))
    there = set(_WORD.findall(text.casefold()))
    return bool(words) and len(words & there) * 2 > len(words)


def _neighbours(entries: Sequence[str], name: str, sections: Sequence[str]) -> tuple[str | None, str | None]:
    at = entries.index(name)
    before = next((entry for entry in reversed(entries[:at]) if entry in sections), None)
    behind = next((entry for entry in entries[at + 1 :] if entry in sections), None)
    return before, behind


def _between(sections: Sequence[str], before: str | None, behind: str | None) -> Sequence[str]:
    start = sections.index(before) + 1 if before is not None else 0
    end = sections.index(behind) if behind is not None else len(sections)
    return sections[start:end]
