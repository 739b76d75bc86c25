"""What the history tells of a changed file: the text that went and came, with the section it stands in."""

from collections.abc import Sequence

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
            old, new = before.decode(), after.decode()
            return (*_of_front(path, old, new), *_of_body(path, old, new))
        if is_index(path):
            return index_changes(path, pieces, edit)
        return _of_lines(path, before, after.decode(), pieces)
    except UnicodeDecodeError:
        return ()


def index_changes(path: str, pieces: Sequence[Splice], edit: CardEdit | None) -> tuple[TextChange, ...]:
    """The pieces of an index: it follows the cards, so nothing of it is ever looked for by its place."""
    section = edit.target.card if edit is not None and isinstance(edit.target, CardTarget) else None
    return tuple(TextChange(path, section, piece.old.decode(), piece.new.decode()) for piece in pieces)


def _of_front(path: str, before: str, after: str) -> tuple[TextChange, ...]:
    """The pieces of the front matter; the date in it is the pen's own."""
    old, new = (UPDATED.sub("", text[: parse_document(text).body_start]) for text in (before, after))
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


def _of_body(path: str, before: str, after: str) -> tuple[TextChange, ...]:
    old_document, new_document = parse_document(before), parse_document(after)
    body = old_document.body.encode()
    changes: list[TextChange] = []
    shift = new_document.body_start
    for piece in splices(body, new_document.body.encode()):
        old, new = piece.old.decode(), piece.new.decode()
        at = len(body[: piece.offset].decode())
        if new.strip():
            section = _section_at(new_document, at + shift + _blank(new))
        else:
            section = _section_at(old_document, at + old_document.body_start + _blank(old))
        behind = None if new.strip() else _behind(after, at + shift, is_document=True)
        changes.append(TextChange(path, section, old, new, behind=behind))
        shift += len(new) - len(old)
    return tuple(changes)


def _behind(text: str, at: int, *, is_document: bool = False) -> str:
    """The lines before a place at which nothing stands now, by which it can be found again."""
    return Lines(text, is_document=is_document).anchor(at)


def _blank(text: str) -> int:
    """How many blank characters a text begins with: a blank line belongs to what follows it."""
    return len(text) - len(text.lstrip())


def _section_at(document: Document, offset: int) -> str | None:
    """The id of the section that a char offset lies in; None before the first one."""
    return next((section.id for section in reversed(document.sections) if section.start <= offset), None)
