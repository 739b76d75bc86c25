"""Edits of cards and notes: one passage changes, every other byte stays.

Rules, the same for every file:
- old text must stand exactly once in its section (overlapping places count); line ends match whichever they are;
- new text gets the line ends of the file;
- a line that was not edited stays a line of its own (to join two lines, name both), and a file that ended with a
  newline still does;
- a last line without a newline can be named with or without one; the newline of the new text counts;
- appended text starts on a line of its own and ends with a newline;
- `updated` changes only where front matter has such a line and can be read; nothing else in the block ever does.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import date
from typing import Literal

from ..target import CardTarget, NoteTarget
from .block import FrontMatterUnreadable
from .document import Document, line_at, newline_of, parse_document
from .frontmatter import render_front_matter, with_value
from .outline import anchors, kind_of
from .passage_match import Place, find_once
from .refusal import (
    CardExists,
    EditRefused,
    FenceOpen,
    NoSuchCard,
    NoSuchSection,
    NothingToChange,
    OldTextAmbiguous,
    OldTextEmpty,
    OldTextNotFound,
    SectionMovedOn,
    SectionsHidden,
    TextRefused,
)

__all__ = [
    "CardEdit",
    "CardExists",
    "CardTarget",
    "EditKind",
    "EditRefused",
    "FenceOpen",
    "NoSuchCard",
    "NoSuchSection",
    "NoteTarget",
    "NothingToChange",
    "OldTextAmbiguous",
    "OldTextEmpty",
    "OldTextNotFound",
    "SectionMovedOn",
    "SectionsHidden",
    "TextRefused",
    "apply_edit",
    "dated",
    "section_sha",
    "with_status",
]

EditKind = Literal["create", "append", "replace", "remove"]

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t\r]|\Z)")
# The kinds of block whose lines go on without a blank line between them.
_RUN = re.compile(r"[ \t]*(?:(?P<item>[-*+][ \t]|\d{1,9}[.)][ \t])|(?P<quote>>)|(?P<row>\|))")


@dataclass(frozen=True)
class CardEdit:
    """One change of a card or note.

    `section` is a section id; None means the whole document (for append: its end). `old_text` is for replace and
    remove, `title` for create only. `shown` is the `section_sha` of what was shown to whoever decided
    (None: not compared).
    """

    target: CardTarget | NoteTarget
    kind: EditKind
    section: str | None = None
    old_text: str = ""
    text: str = ""
    title: str | None = None
    shown: str | None = None


def section_sha(document_text: str, section: str | None) -> str:
    """The sha256 (hex) of a section's text; None: of the whole body; of nothing where there is no such section."""
    document = parse_document(document_text)
    try:
        text = document.body if section is None else document.section_text(section)
    except NoSuchSection:
        text = ""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def apply_edit(before: str | None, edit: CardEdit, today: date) -> str:
    """The whole text after an edit; raises an EditRefused, which says what to do instead."""
    if edit.kind == "create":
        if before is not None:
            raise CardExists(str(edit.target))
        return _created(edit, today)
    if before is None:
        raise NoSuchCard(str(edit.target))
    document = parse_document(before)
    if edit.kind == "append":
        start, end, new = _appended(document, edit)
        _check_fences(document, edit, start, before[:start] + new + before[end:])
    else:
        start, end, new = _replaced(document, edit)
    after = before[:start] + new + before[end:]
    if after == before:
        raise NothingToChange("the text is the same before and after")
    _check_headings(document, after, start, end)
    return _dated(document, after, today)


def with_status(before: str, status: str, today: date) -> str:
    """A card's text with that word for its status in the front matter, and dated; raises an EditRefused."""
    document = parse_document(before)
    if document.front.problem is not None:
        problem = document.front.problem
        raise TextRefused(f"its front matter can't be read, line {problem.line}: {problem.message}")
    if document.front.text("status") == status:
        raise NothingToChange(f"its status is {status} already")
    if document.front.present:
        return _dated(document, _with_value(before, "status", status), today)
    newline = document.newline
    return render_front_matter({"status": status}).replace("\n", newline) + newline + before.removeprefix("\ufeff")


def _created(edit: CardEdit, today: date) -> str:
    text = edit.text.removeprefix("\ufeff")
    if isinstance(edit.target, NoteTarget):
        return _ended(text, newline_of(text))
    document = parse_document(text)
    front = document.front
    if front.present and front.problem is not None:
        raise TextRefused(f"its front matter can't be read, line {front.problem.line}: {front.problem.message}")
    newline = document.newline
    title = _one_line(
        edit.title or document.title or next((s.title for s in document.sections), "") or edit.target.card
    )
    dates = {"status": "active", "created": today.isoformat(), "updated": today.isoformat()}
    if front.present:
        block = text[: front.end]
        for key, value in {"title": title, **dates}.items():
            if key == "updated" or not front.words(key):
                block = _with_value(block, key, value)
    else:
        block = render_front_matter({"title": title, **dates}).replace("\n", newline) + newline
    body = text[document.body_start :]
    # A title that would take a section's id away from it stands in the front matter only.
    ids = {section.id for section in document.sections}
    if not any(section.level == 1 for section in document.sections) and anchors([title])[0] not in ids:
        gap = "" if not body.strip() or body.startswith(("\n", "\r\n")) else newline
        body = f"# {title}{newline}{gap}{body}" if not front.present else f"{newline}# {title}{newline}{gap}{body}"
    return _ended(block + body, newline)


def _with_value(block: str, key: str, value: str) -> str:
    try:
        return with_value(block, key, value)
    except FrontMatterUnreadable as e:
        raise TextRefused(f"its front matter can't be used: {e.message}") from e


def _appended(document: Document, edit: CardEdit) -> tuple[int, int, str]:
    text, newline = document.text, document.newline
    if not edit.text.strip():
        raise NothingToChange("the text to append is empty")
    new = _ended(with_newlines(edit.text, newline), newline)
    start, end = document.body_start, len(text)
    if edit.section is not None:
        section = document.section(edit.section)
        start, end = section.start, section.end
    own = text[start:end]
    # Blank lines between a section and the next heading stay where they are, behind the new text.
    at = start + len(own.rstrip()) if edit.section is not None else end
    if edit.section is not None and at < end:
        at = _after_newline(text, at, end)
    return at, at, _joint(text[:at], text[start:at], new, newline) + new


def _after_newline(text: str, at: int, end: int) -> int:
    found = text.find("\n", at, end)
    return end if found < 0 else found + 1


def _joint(before: str, existing: str, new: str, newline: str) -> str:
    """What must stand between existing text (all of it is `before`) and appended text so that each keeps its lines."""
    joint = "" if not before or before.endswith("\n") else newline
    if not existing:
        return joint
    lines = existing.removesuffix("\n").removesuffix("\r").split("\n")
    if not lines[-1].strip() or _starts_line(new) or (_HEADING.match(lines[-1]) and not _HEADING.match(new)):
        return joint
    run = len(lines) - 1
    while run > 0 and lines[run - 1].strip() and not _HEADING.match(lines[run - 1]):
        run -= 1
    first, second = _RUN.match(lines[run]), _RUN.match(new)
    goes_on = first is not None and second is not None and first.lastgroup == second.lastgroup
    return joint if goes_on else joint + newline


def _replaced(document: Document, edit: CardEdit) -> tuple[int, int, str]:
    text = document.text
    start, end, where = document.body_start, len(text), str(edit.target)
    if edit.section is not None:
        section = document.section(edit.section)
        start, end, where = section.start, section.end, f"{edit.target}, section {section.id}"
    if not edit.old_text:
        raise OldTextEmpty
    if edit.shown is not None and edit.shown != section_sha(text, edit.section):
        raise SectionMovedOn(where)
    new = "" if edit.kind == "remove" else edit.text
    if edit.kind == "replace" and with_newlines(new, "\n") == with_newlines(edit.old_text, "\n"):
        raise NothingToChange("old_text and the new text are the same")
    place = find_once(text, edit.old_text, start, end, where)
    return place.start, place.end, _kept_apart(text, place, with_newlines(new, document.newline), document)


def _kept_apart(text: str, place: Place, new: str, document: Document) -> str:
    """The new text with the newlines that keep the lines around it, which nobody edited, lines of their own."""
    old, behind = text[place.start : place.end], text[place.end :]
    before = text[document.body_start : place.start]
    mid_line = bool(before) and not before.endswith("\n")
    if mid_line and _starts_line(old) and (new or behind) and not _starts_line(new + behind):
        new = document.newline + new
    if old.endswith("\n") and (before or new) and not (new or before).endswith("\n"):
        new += document.newline
    return new


def _starts_line(text: str) -> bool:
    return text.startswith(("\n", "\r\n"))


def _check_headings(document: Document, after: str, start: int, end: int) -> None:
    """Refuse an edit after which headings behind it are headings no more."""
    behind = [section for section in document.sections if section.start >= end]
    if not behind:
        return
    shift = len(after) - len(document.text)
    left = {section.start for section in parse_document(after).sections}
    lost = tuple(section.title for section in behind if section.start + shift not in left)
    if lost:
        raise SectionsHidden(lost)


def _check_fences(document: Document, edit: CardEdit, at: int, after: str) -> None:
    """Refuse to append inside a fence or comment that nothing closes, unless the text closes it."""
    span = document.unclosed
    if span is None or span.start >= at:
        return
    later = parse_document(after)
    known = {section.start for section in later.sections}
    meant = len(parse_document(edit.text).sections) + sum(section.start < at for section in document.sections)
    if later.unclosed is not None or len(known) < meant:
        line = line_at(document.text, span.start)
        raise FenceOpen(str(edit.target), line, kind_of(document.text, span))


def _dated(document: Document, after: str, today: date) -> str:
    """What a document became, its date aside, with that day for the date."""
    front, day = document.front, today.isoformat()
    if front.problem is not None or "updated" not in front.values or front.text("updated") == day:
        return after
    try:
        return with_value(after, "updated", day)
    except FrontMatterUnreadable:
        # A value over several lines is the person's own; the edit of the body stands without it.
        return after


def dated(text: str, today: date) -> str:
    """A text that was changed, with that day for the date in its front matter, where it has one."""
    return _dated(parse_document(text), text, today)


def with_newlines(text: str, newline: str) -> str:
    """The text with every line end made `newline`."""
    unix = text.replace("\r\n", "\n")
    return unix if newline == "\n" else unix.replace("\n", newline)


def _ended(text: str, newline: str) -> str:
    return text if not text or text.endswith("\n") else text + newline


def _one_line(title: str) -> str:
    return " ".join(title.split())
