"""Text that comes in pieces, broken at blanks, so that no word is torn at the edge of the screen.

A word is shown once it is whole. What stands between fences of code is left as it is: it is there to be copied.
"""

import re

from .text import width

_BULLET = re.compile(r" *(?:[-*+] |\d{1,3}[.)] )?")
_FENCE = ("```", "~~~")


class Flow:
    """One text on a screen of `columns`; a line that goes on begins where its words begin, behind a bullet, say."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._line = ""  # what of the line stands on the screen, breaks left out
        self._used = 0  # columns of the row on which the cursor stands
        self._gap = self._word = ""
        self._code = self._torn = False  # between fences; within a word that no row can hold

    def feed(self, text: str) -> str:
        """What can be shown now."""
        return "".join(map(self._next, text))

    def end(self) -> str:
        """What was held back."""
        return self._placed() + self._gap_as_it_is()

    def _next(self, c: str) -> str:
        if self._torn and c not in " \n":
            self._take(c)
            return c
        if c in " \n":
            self._torn = False
        if c == "\n":
            shown = self._placed() + self._gap_as_it_is() + "\n"
            if self._line.lstrip().startswith(_FENCE):
                self._code = not self._code
            self._line, self._used = "", 0
            return shown
        if c == " ":
            shown = self._placed()
            self._gap += c
            return shown
        if width(c) == 2:  # scripts that have no blanks break anywhere
            shown = self._placed()
            self._word = c
            return shown + self._placed()
        self._word += c
        self._torn = width(self._word) >= self._columns
        return self._placed() if self._torn else ""

    def _placed(self) -> str:
        """The word that is whole, on this row or on the next."""
        gap, word = self._gap, self._word
        if not word:
            return ""
        self._gap = self._word = ""
        fits = self._used + len(gap) + width(word) <= self._columns
        if fits or self._code or not self._line.strip():
            self._take(gap + word)
            return gap + word
        self._line += gap
        match = _BULLET.match(self._line)
        lead = " " * min(len(match[0]) if match else 0, self._columns // 2)
        self._used = len(lead)
        self._take(word)
        return "\n" + lead + word

    def _take(self, text: str) -> None:
        """What is shown now, on as many rows as the screen makes of it."""
        self._line += text
        self._used = (self._used + width(text) - 1) % self._columns + 1

    def _gap_as_it_is(self) -> str:
        gap, self._gap = self._gap, ""
        if gap:
            self._take(gap)
        return gap
