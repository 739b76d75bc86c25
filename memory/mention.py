"""Where other texts name a card by its file or its folder: what a person looks at after it got another name. Pure."""

import re
from collections.abc import Iterator

from .target import CardTarget


def mentions(text: str, card: CardTarget) -> Iterator[int]:
    """The lines (from 1) in which a text names a card's file, or leads into its folder."""
    id_ = re.escape(card.card)
    whole = rf"(?<![\w/.-])(?:\.\.?/)*(?:clients/[a-z0-9-]+/)?{card.shelf}/{id_}(?:\.md\b|/)"
    named = re.compile(rf"{whole}|\]\(<?(?:\.\.?/)*{id_}(?:\.md\b|/)|(?<![\w/.-]){id_}\.md\b")
    for number, line in enumerate(text.split("\n"), 1):
        if named.search(line):
            yield number
