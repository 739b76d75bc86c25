"""Changes one card's part of an index without reading the rest of it: with 10,000 cards, that is what takes the time.

The result is the same as that of changing the whole. Where that isn't certain at a glance (a fence or a comment,
Windows line ends, a mention of the card outside its block), the whole is changed.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise

from .index import Index, IndexedCard, parse_index

_HEADING = re.compile(r"^ {0,3}#{1,6}(?=[ \t\n]|\Z)", re.MULTILINE)
_CARD_LINK = re.compile(r"## \[.*\]\(([^()/]+)\.md\)[ \t]*$", re.MULTILINE)
_HARD = ("```", "~~~", "<!--", "\r")
_FOREIGN_LINK = re.compile(r"\]\([^)\n]*[^\x00-\x7f)\n]")


def changed_block(text: str, card: str, change: Callable[[Index], Index]) -> str:
    """The text of an index after `change`, which may touch or add this card's block only."""
    start, end = _span(text, card) or (0, len(text))
    return text[:start] + change(parse_index(text[start:end])).text + text[end:]


def block_change(text: str, card: str, change: Callable[[Index], Index]) -> tuple[str, str]:
    """The same, as the part of the text that holds the card's block, and what it becomes."""
    start, end = _span(text, card) or (0, len(text))
    return text[start:end], change(parse_index(text[start:end])).text


def block_of(text: str, card: str) -> IndexedCard | None:
    """The block of a card, as the whole index would tell it, but for the number of its line."""
    start, end = _span(text, card) or (0, len(text))
    return parse_index(text[start:end]).card(card)


def block_text(text: str, card: str) -> str:
    """The lines of a card's block, "" if it has none, and the whole text if that isn't certain."""
    span = _span(text, card)
    if span is None:
        return text
    part = text[slice(*span)].rstrip("\n")
    return part if next(_mentioned(part.lower(), card), None) is not None else ""


def same_blocks(text: str, other: str) -> frozenset[str]:
    """The cards whose blocks are the same in both; none of which there are two, and none where that isn't certain."""
    if _folded(text) is None or _folded(other) is None:
        return frozenset()
    blocks, others = _blocks(text), _blocks(other)
    return frozenset(card for card, found in blocks.items() if len(found) == 1 and others.get(card) == found)


def _blocks(text: str) -> dict[str, list[str]]:
    """The blocks under headings that link a card, by its name in small letters, without blank lines at their ends."""
    starts = [found.start() for found in _HEADING.finditer(text)]
    blocks: dict[str, list[str]] = {}
    for start, end in pairwise([*starts, len(text)]):
        part = text[start:end].rstrip("\n")
        if (link := _CARD_LINK.match(part)) is not None:
            blocks.setdefault(link[1].lower(), []).append(part)
    return blocks


def _span(text: str, card: str) -> tuple[int, int] | None:
    """Where the card's block stands, or the last line if it has none; None if that can't be told for certain."""
    spans = _spans(text)
    if card not in spans:
        spans[card] = _found(text, card)
    return spans[card]


@lru_cache(maxsize=4)
def _spans(text: str) -> dict[str, tuple[int, int] | None]:
    """What was found in a text until now: each of many drafts asks a few times about the same index."""
    return {}


def _found(text: str, card: str) -> tuple[int, int] | None:
    folded = _folded(text)
    if folded is None:
        return None
    mentions = sorted(set(_mentioned(folded, card)))
    if not mentions:
        return None if _has_foreign_link(text) else (text.rfind("\n", 0, -1) + 1, len(text))
    start = text.rfind("\n", 0, mentions[0]) + 1
    if not text.startswith("## [", start):
        return None
    following = _HEADING.search(text, text.find("\n", start) + 1 or len(text))
    end = following.start() if following else len(text)
    return (start, end) if mentions[-1] < end else None


@lru_cache(maxsize=4)
def _folded(text: str) -> str | None:
    """The text in small letters, remembered since it is asked about many cards; None where nothing is certain in it."""
    if any(mark in text for mark in _HARD):
        return None
    folded = text.lower()
    return folded if len(folded) == len(text) else None


@lru_cache(maxsize=4)
def _has_foreign_link(text: str) -> bool:
    return _FOREIGN_LINK.search(text) is not None


def _mentioned(text: str, card: str) -> Iterator[int]:
    """Where a card is named, or what lies in its folder."""
    yield from _mentions(text, f"{card}.md")
    yield from _mentions(text, f"{card}/")


def _mentions(text: str, name: str) -> Iterator[int]:
    """Where a name stands that isn't the end of a longer one."""
    at = text.find(name)
    while at >= 0:
        if at == 0 or not (text[at - 1].isalnum() or text[at - 1] == "-"):
            yield at
        at = text.find(name, at + 1)
