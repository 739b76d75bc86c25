"""What a card, its block in the index and its own links are under another name. Pure: texts in, texts out.

Only what is the card's own follows it: the file, its folder with what is in it, its block in the index, and the links
by which the card leads to itself and to its files. What others say of it is theirs, and is found, not rewritten.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from datetime import date
from typing import Protocol

from ..change import Rename
from ..ids import CardId
from ..index.index import Index, parse_index
from ..index.reconcile import reconcile
from ..target import CardTarget, FileTarget
from ..text.card import dated
from ..text.document import Document, parse_document
from ..text.frontmatter import FrontMatterUnreadable, with_value
from ..text.outline import outline
from ..text.refusal import EditRefused, NoSuchCard, NothingToChange, TextRefused
from ..view import HEADINGS
from ..workspace import Space

_MOST_MIB = 16


class Desk(Protocol):
    """The files of one commit while it is worked out; paths are workspace paths."""

    @property
    def source(self) -> "Names": ...
    def read(self, path: str) -> bytes | None: ...
    def text(self, path: str) -> str | None: ...
    def write(self, path: str, data: bytes) -> None: ...
    def remove(self, path: str) -> None: ...
    def index(self, path: str, heading: str) -> Index: ...


class Names(Protocol):
    """What lies in the folders of a workspace."""

    def names(self, folder: str) -> set[str]: ...


class RenameRefused(EditRefused):
    """Raised when a card can't have the new name, or what belongs to it can't go along; nothing was changed."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}; nothing was changed")
        self.path = path


def move(
    desk: Desk, space: Space, rename: Rename, today: date, check_free: Callable[[CardTarget], None]
) -> frozenset[str]:
    """Moves a card and what is its own; the paths of its files, whose text stays as it is and need not be told.

    `check_free` refuses a name that is taken. Raises NoSuchCard, RenameRefused, TextRefused or NothingToChange.
    """
    old, new = rename.old, CardTarget(rename.old.shelf, rename.new)
    text = desk.text(space.path(old))
    if text is None:
        raise NoSuchCard(space.path(old))
    after = renamed_card(text, old.card, new.card, rename.title, today)
    moved: set[str] = set()
    if new != old:
        if desk.read(space.path(new)) is not None:
            raise RenameRefused(space.path(new), "this card is there already")
        check_free(new)
        desk.remove(space.path(old))
    elif parse_document(after).title == parse_document(text).title:
        raise NothingToChange(f"{old} has this name already")
    desk.write(space.path(new), after.encode())
    if new != old:
        moved = _move_files(desk, space, rename)
    path = space.index_path(old.shelf)
    index = desk.index(path, HEADINGS[old.shelf])
    desk.write(path, renamed_block(index, old, new.card, parse_document(after)).text.encode())
    return frozenset(moved)


def _move_files(desk: Desk, space: Space, rename: Rename) -> set[str]:
    """The files of a project, moved; both paths of each."""
    folder = f"{rename.old.shelf}/{rename.new}"
    if desk.source.names(space.path(folder)):
        raise RenameRefused(space.path(folder), "a folder of this name is there already")
    moved: set[str] = set()
    size = 0
    for path in rename.files:
        source, target = (space.path(FileTarget(card, path)) for card in (rename.old.card, rename.new))
        data = desk.read(source)
        if data is None:
            raise RenameRefused(source, "this file is gone")
        size += len(data)
        if size > _MOST_MIB << 20:
            reason = f"one commit moves at most {_MOST_MIB} MiB of files: move large ones away first, and back after it"
            raise RenameRefused(space.path(f"{rename.old.shelf}/{rename.old.card}"), reason)
        desk.write(target, data)
        desk.remove(source)
        moved |= {source, target}
    return moved


def renamed_card(text: str, old: CardId, new: CardId, title: str | None, today: date) -> str:
    """The card's text under its new id and, where one is given, its new title; raises TextRefused."""
    text = _with_links(text, old, new)
    document = parse_document(text)
    if title is not None:
        text = _titled(document, title)
    return dated(text, today)


def renamed_block(index: Index, old: CardTarget, new: CardId, card: Document) -> Index:
    """The index in which the card's block and its entries lead to the new file; the card is as it will be."""
    place = index.lines.place(old.card)
    if place is not None:
        lines = list(index.lines.lines)
        leads = re.compile(rf"(\]\((?:\./)?){re.escape(place.id)}(?=\.md[)#]|/)")
        for at in (place.heading, *(entry.line for entry in place.entries.values())):
            lines[at] = leads.sub(rf"\g<1>{new}", lines[at])
        index = parse_index("".join(lines))
    return reconcile(index, {new: card}, only=new)


def _with_links(text: str, old: CardId, new: CardId) -> str:
    """The text with its links to the card and its folder made so; front matter, code and comments stay as they are."""
    body = parse_document(text).body_start
    hidden = outline(text, body).hidden
    starts = [span.start for span in hidden]

    def led(match: re.Match[str]) -> str:
        at = bisect_right(starts, match.start()) - 1
        inside = match.start() < body or (at >= 0 and match.start() < hidden[at].end)
        return match[0] if inside else f"{match[1]}{new}"

    links = rf"(\]\(<?(?:\./)?|^ {{0,3}}\[[^\]\n]+\]:[ \t]*<?(?:\./)?){re.escape(old)}(?=\.md[)#> \t]|\.md$|/)"
    return re.sub(links, led, text, flags=re.MULTILINE)


def _titled(document: Document, title: str) -> str:
    """The text with another title: in the front matter, and in the heading that says the same."""
    text, before = document.text, document.title
    heading = next((section for section in document.sections if section.level == 1), None)
    if heading is not None and heading.title == before:
        line = text[heading.start : heading.body]
        end = line[len(line.rstrip("\r\n")) :]
        text = f"{text[: heading.start]}# {title}{end}{text[heading.body :]}"
    front = document.front
    if front.present and (front.text("title") is not None or text == document.text):
        try:
            return with_value(text, "title", title)
        except FrontMatterUnreadable as e:
            raise TextRefused(f"its front matter can't be used: {e.message}") from e
    if text == document.text:
        raise TextRefused("it has no title that could be changed: begin it with '# ' and a title")
    return text
