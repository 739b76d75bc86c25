"""Takes back what a commit did to files: the text that came goes, and the text that went stands there again.

Nothing is put back by its place. What came is looked for by what it says, in its section, and has to stand there just
once; everything else, whoever wrote it since, stays. Where it can't be found, or stands twice, or has become part of
something else, nothing is done: whoever asked is told, and can look. A file that came goes only as long as it is what
it was; one that went comes back only where nothing has taken its place. Pure.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from ..history import UPDATED, TextChange, is_index
from ..ids import BadId
from ..target import BadTarget, CardTarget, NoteTarget, parse_target
from ..text.card import dated, with_newlines
from ..text.document import newline_of, parse_document
from ..text.refusal import EditRefused
from .passage import Lines, Place, bare_lines


class RevertRefused(EditRefused):
    """Raised when what a commit did can't be taken back, since the file is another by now; nothing was written."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}; nothing was written")
        self.path = path


@dataclass(frozen=True)
class _Cut:
    """A place in the text as it is, and what is to stand there."""

    place: Place
    text: str


def is_document(path: str) -> bool:
    """Whether a path within a space is that of a card or a note, which have sections."""
    try:
        return isinstance(parse_target(path), CardTarget | NoteTarget)
    except (BadTarget, BadId):
        return False


def reverted_files(
    changes: Iterable[TextChange], read: Callable[[str], str | None], within: Callable[[str], str], today: date
) -> Mapping[str, str | None]:
    """What each file will be, None for one that goes; indexes, which follow the cards, are not among them.

    `read` gives a file as it is by its workspace path, `within` a path as its space has it. Raises RevertRefused.
    """
    by_path: dict[str, list[TextChange]] = {}
    for change in changes:
        if not is_index(change.path):
            by_path.setdefault(change.path, []).append(change)
    return {path: _reverted(path, found, read(path), within(path), today) for path, found in by_path.items()}


def _reverted(path: str, changes: Sequence[TextChange], now: str | None, inner: str, today: date) -> str | None:
    change = changes[0]
    if len(changes) == 1 and _is_whole(change, now):
        return _whole(path, change, now)
    if now is None:
        raise RevertRefused(path, "it is gone")
    lines = Lines(now, is_document=is_document(inner))
    cuts = [cut for change in changes if (cut := _cut(path, lines, change)) is not None]
    after = _joined(path, now, cuts)
    return dated(after, today) if is_document(inner) and after != now else after


def _is_whole(change: TextChange, now: str | None) -> bool:
    """Whether a piece is about all of a file; a history of before this was told shows it by what stands there now."""
    if change.whole or change.section is not None or change.behind is not None:
        return change.whole
    return (now is None and not change.new) or (now is not None and not change.old and _same(now, change.new))


def _whole(path: str, change: TextChange, now: str | None) -> str | None:
    """A file that came goes again, one that went comes back."""
    if change.new:
        if now is None:
            raise RevertRefused(path, "it is gone already")
        if not _same(now, change.new):
            raise RevertRefused(path, "it has changed since it was made")
        return None
    if now is not None:
        raise RevertRefused(path, "another one stands there now")
    return change.old


def _same(one: str, other: str) -> bool:
    """Whether two texts are the same, line ends and the date of the last change aside."""
    return UPDATED.sub("", one.replace("\r\n", "\n")) == UPDATED.sub("", other.replace("\r\n", "\n"))


def _cut(path: str, lines: Lines, change: TextChange) -> _Cut | None:
    """Where one piece stands, and what stood there; None for one that is about the date alone."""
    old, new = change.old, change.new
    if change.section is None and lines.is_document:
        old, new = UPDATED.sub("", old), UPDATED.sub("", new)
        if old == new:
            return None
    where = path if change.section is None else f"{path}, section {change.section}"
    place = _place(lines, new, change, where)
    _check_rest(lines, place, old, where)
    return _Cut(place, _fitted(lines.text, place, old))


def _place(lines: Lines, new: str, change: TextChange, where: str) -> Place:
    """Where what came stands, or, where text only went, the place between the lines where it stood."""
    if new.strip():
        return _only(lines.places(new, change.section), where, "what was written there")
    if change.behind is None:
        raise RevertRefused(where, "the history doesn't tell where the text stood that was taken out")
    if not change.behind.strip():
        return lines.beginning(change.behind, new)
    around = lines.places(change.behind + new, change.section)
    found = _only(around, where, "the line behind which the text stood")
    return lines.behind(found, len(bare_lines(change.behind)))


def _only(places: Sequence[Place], where: str, what: str) -> Place:
    if not places:
        raise RevertRefused(where, f"{what} doesn't stand there any more")
    if len(places) > 1:
        raise RevertRefused(where, f"{what} stands there {len(places)} times, so nobody can tell which is meant")
    return places[0]


def _check_rest(lines: Lines, place: Place, old: str, where: str) -> None:
    """Refuse to take a heading from above text that isn't taken, too: it would become part of the section before."""
    if not lines.is_document or parse_document(old).sections:
        return
    for section in lines.document.sections:
        if place.start <= section.start < place.end < section.end and lines.text[place.end : section.end].strip():
            raise RevertRefused(where, f"section {section.id} holds text that was added since")


def _fitted(text: str, place: Place, old: str) -> str:
    """The old text with the line ends of the file, and as lines of their own."""
    fitted = with_newlines(old, newline := newline_of(text))
    at_end = place.end == len(text)
    if fitted and not fitted.endswith("\n") and not (at_end and place.start < place.end):
        fitted += newline
    if fitted and place.start == place.end and text[: place.start] and not text[: place.start].endswith("\n"):
        fitted = newline + (fitted if not at_end else fitted.removesuffix(newline))
    return fitted


def _joined(path: str, text: str, cuts: Sequence[_Cut]) -> str:
    parts: list[str] = []
    at = 0
    for cut in sorted(cuts, key=lambda cut: cut.place.start):
        if cut.place.start < at:
            raise RevertRefused(path, "two pieces of what was written are one by now")
        parts += (text[at : cut.place.start], cut.text)
        at = cut.place.end
    return "".join((*parts, text[at:]))
