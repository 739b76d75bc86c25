"""What the history tells of a changed file: the text that went and came, with the section it stands in."""

from ..history import TextChange
from ..target import CardTarget
from ..text.card import CardEdit
from ..text.document import Document, parse_document
from ..workspace import Space
from .record import Removal, Turn
from .splice import splices


def text_changes(
    turn: Turn, before: bytes, after: bytes, edit: CardEdit | None, space: Space
) -> tuple[TextChange, ...]:
    """The pieces of a file as text; none for a file that is no text.

    A file that is new or goes is one piece. Pieces of an index are told with the id of the card that `edit` is about.
    """
    path = turn.path
    try:
        if turn.before is None or isinstance(turn, Removal):
            return (TextChange(path, None, before.decode(), after.decode()),)
        if edit is not None and path == space.path(edit.target):
            return _of_document(path, before.decode(), after.decode())
        section = edit.target.card if edit is not None and isinstance(edit.target, CardTarget) else None
        return tuple(TextChange(path, section, p.old.decode(), p.new.decode()) for p in turn.pieces)
    except UnicodeDecodeError:
        return ()


def _of_document(path: str, before: str, after: str) -> tuple[TextChange, ...]:
    """The pieces of the body: the dates in the front matter are the pen's own."""
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
        changes.append(TextChange(path, section, old, new))
        shift += len(new) - len(old)
    return tuple(changes)


def _blank(text: str) -> int:
    """How many blank characters a text begins with: a blank line belongs to what follows it."""
    return len(text) - len(text.lstrip())


def _section_at(document: Document, offset: int) -> str | None:
    """The id of the section that a char offset lies in; None before the first one."""
    return next((section.id for section in reversed(document.sections) if section.start <= offset), None)
