"""What the history tells of a changed file: the text that went and came, with the section it stands in."""

from collections.abc import Iterator, Sequence

from ..history import UPDATED, TextChange, is_index
from ..target import CardTarget
from ..text.card import CardEdit
from ..text.document import Document, parse_document
from ..workspace import Space
from .passage import Lines
from .revert import is_document
from .splice import Splice, splices


def text_changes(
    path: str,
    before: bytes | None,
    after: bytes | None,
    pieces: Sequence[Splice],
    edit: CardEdit | None,
    space: Space,
) -> tuple[TextChange, ...]:
    """The pieces of a file as text; none for a file that is no text.

    A file that is new or goes is one piece. Pieces of an index are told with the id of the card that `edit` is about.
    """
    try:
        if before is None or after is None:
            return (TextChange(path, None, (before or b"").decode(), (after or b"").decode(), whole=True),)
        if is_document(path.removeprefix(space.prefix)):
            return (*_of_document(path, before.decode(), after.decode(), pieces),)
        if is_index(path):
            return index_changes(path, pieces, edit)
        return _of_lines(path, before, after.decode(), pieces)
    except UnicodeDecodeError:
        return ()


def index_changes(path: str, pieces: Sequence[Splice], edit: CardEdit | None) -> tuple[TextChange, ...]:
    """The pieces of an index: it follows the cards, so nothing of it is ever looked for by its place."""
    section = edit.target.card if edit is not None and isinstance(edit.target, CardTarget) else None
    return tuple(TextChange(path, section, piece.old.decode(), piece.new.decode()) for piece in pieces)


def _of_document(path: str, before: str, after: str, pieces: Sequence[Splice]) -> Iterator[TextChange]:
    old, new = parse_document(before), parse_document(after)
    front, front_after = before[: old.body_start], after[: new.body_start]
    body = old.body.encode()
    if front == front_after and (not front or front.endswith("\n")):
        # The same lines differ, with or without the same lines before them.
        ahead = len(front.encode())
        pieces = [Splice(piece.offset - ahead, piece.old, piece.new) for piece in pieces]
    else:
        yield from _of_front(path, front, front_after)
        pieces = splices(body, new.body.encode())
    yield from _of_body(path, old, new, body, pieces)


def _of_front(path: str, before: str, after: str) -> tuple[TextChange, ...]:
    """The pieces of the front matter; the date in it is the pen's own."""
    old, new = UPDATED.sub("", before), UPDATED.sub("", after)
    return _of_lines(path, old.encode(), new, splices(old.encode(), new.encode()))


def _of_lines(path: str, before: bytes, after: str, pieces: Sequence[Splice]) -> tuple[TextChange, ...]:
    changes: list[TextChange] = []
    shift = 0
    for piece in pieces:
        old, new = piece.old.decode(), piece.new.decode()
        behind = None if new.strip() else _behind(after, len(before[: piece.offset].decode()) + shift)
        changes.append(TextChange(path, None, old, new, behind=behind))
        shift += len(new) - len(old)
    return tuple(changes)


def _of_body(
    path: str, before: Document, after: Document, body: bytes, pieces: Sequence[Splice]
) -> Iterator[TextChange]:
    """The pieces of a body, whose bytes these are; places in the documents are counted in characters."""
    shift = after.body_start
    for piece in pieces:
        old, new = piece.old.decode(), piece.new.decode()
        at = len(body[: piece.offset].decode())
        if new.strip():
            section = _section_at(after, at + shift + _blank(new))
        else:
            section = _section_at(before, at + before.body_start + _blank(old))
        behind = None if new.strip() else _behind(after.text, at + shift, is_document=True)
        yield TextChange(path, section, old, new, behind=behind)
        shift += len(new) - len(old)


def _behind(text: str, at: int, *, is_document: bool = False) -> str:
    """The lines before a place at which nothing stands now, by which it can be found again."""
    return Lines(text, is_document=is_document).anchor(at)


def _blank(text: str) -> int:
    """How many blank characters a text begins with: a blank line belongs to what follows it."""
    return len(text) - len(text.lstrip())


def _section_at(document: Document, offset: int) -> str | None:
    """The id of the section that a char offset lies in; None before the first one."""
    return next((section.id for section in reversed(document.sections) if section.start <= offset), None)
