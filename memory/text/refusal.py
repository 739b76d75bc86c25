"""Why an edit of a card can't be made: one class for each cause, all of them `EditRefused`."""

from ..errors import MemoryFault
from ..ids import shown


class EditRefused(MemoryFault):
    """Raised when an edit doesn't fit the text as it is; nothing was changed."""


class CardExists(EditRefused):
    """Raised when a card that is to be created is there already."""

    def __init__(self, target: str) -> None:
        super().__init__(f"{target}: it exists already; append to it or replace a passage of it")
        self.target = target


class NoSuchCard(EditRefused):
    """Raised when a card that is to be changed isn't there."""

    def __init__(self, target: str) -> None:
        super().__init__(f"{target}: not found; create it first")
        self.target = target


class NoSuchSection(EditRefused):
    """Raised when a document has no section of that id; `near` holds the ids that come closest."""

    def __init__(self, section: str, near: tuple[str, ...] = ()) -> None:
        offer = f"; closest: {', '.join(near)}" if near else "; the document has no sections"
        super().__init__(f"section {shown(section)}: not found{offer}")
        self.section = section
        self.near = near


class OldTextEmpty(EditRefused):
    """Raised when the text to be replaced or removed is empty, since an empty text stands everywhere."""

    def __init__(self) -> None:
        super().__init__("old_text: it is empty, which is not allowed here; give the exact text that is to go")


class OldTextNotFound(EditRefused):
    """Raised when the old text stands nowhere in the section; `closest` is the nearest line, at `line` (0: none)."""

    def __init__(self, where: str, closest: str = "", line: int = 0) -> None:
        near = f"; closest is line {line}: {shown(closest, 120)}" if line else ""
        super().__init__(f"old_text: found 0 times in {where}{near}; copy it exactly, with more context")
        self.closest = closest
        self.line = line


class OldTextAmbiguous(EditRefused):
    """Raised when the old text stands more than once in the section, overlapping places counted."""

    def __init__(self, where: str, count: int) -> None:
        super().__init__(f"old_text: found {count} times in {where}; give more context, so that it stands there once")
        self.count = count


class NothingToChange(EditRefused):
    """Raised when an edit would leave the text as it is."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"nothing to change: {reason}")


class SectionMovedOn(EditRefused):
    """Raised when the section is no longer the text that was shown."""

    def __init__(self, where: str) -> None:
        super().__init__(f"{where}: it has changed since it was shown; look at it again")


class SectionsHidden(EditRefused):
    """Raised when new text opens a code fence or a comment that would swallow the headings behind it."""

    def __init__(self, titles: tuple[str, ...]) -> None:
        lost = ", ".join(shown(title) for title in titles[:3])
        super().__init__(f"text: it opens a code fence or a comment without closing it, which hides {lost}")
        self.titles = titles


class FenceOpen(EditRefused):
    """Raised when appended text would stand inside a code fence or comment that was never closed."""

    def __init__(self, target: str, line: int, what: str) -> None:
        super().__init__(f"{target}: line {line} opens a {what} that nothing closes; close it first")
        self.line = line


class TextRefused(EditRefused):
    """Raised when the text of a new card can't be its text: no title, or front matter that can't be read."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"text: {reason}")
