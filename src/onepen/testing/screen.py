"""What a terminal shows for the bytes that it is sent: enough of one to see what a person sees.

It knows the sequences that line editors and progress lines use, and fails on one that it doesn't know, so that a test
sees nothing that isn't there.
"""

import re
import unicodedata

_SEQUENCE = re.compile(r"\x1b(?:\[(?P<args>[?>]?[\d;]*)(?P<final>[@-~])|(?P<short>[=>78M]))")
_BEGUN = re.compile(r"\x1b(?:\[[?>]?[\d;]*)?\Z")
_IGNORED = {"m", "h", "l"}
"""Colours, and modes such as bracketed paste."""


class UnknownSequence(AssertionError):
    """Raised for a control sequence that this terminal doesn't know."""


class Screen:
    """A grid of cells; lines that scrolled off are kept. A wide character takes two cells, the second one empty."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.columns, self.rows = columns, rows
        self.sent = ""
        self._above: list[str] = []
        self._grid = [self._blank() for _ in range(rows)]
        self._row = self._column = 0
        self._wraps = True
        self._rest = ""

    def feed(self, text: str) -> str:
        """Shows the text; gives what the terminal answers, such as where its cursor stands."""
        self.sent += text
        answer, text = "", self._rest + text
        self._rest = ""
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self._put(text[at])
                at += 1
            elif (found := _SEQUENCE.match(text, at)) is not None:
                answer += self._control(found)
                at = found.end()
            elif _BEGUN.match(text, at):
                self._rest = text[at:]
                break
            else:
                raise UnknownSequence(repr(text[at : at + 12]))
        return answer

    def resize(self, columns: int, rows: int) -> None:
        """Another size; what no longer fits is cut, as some terminals do."""
        while self._row >= rows:
            self._scroll()
            self._row -= 1
        self.columns, self.rows = columns, rows
        fitted = [(line + [" "] * columns)[:columns] for line in self._grid[:rows]]
        self._grid = fitted + [self._blank() for _ in range(rows - len(fitted))]
        self._column = min(self._column, columns - 1)

    @property
    def lines(self) -> list[str]:
        """The lines that can be seen now, without blanks at their ends."""
        return ["".join(row).rstrip() for row in self._grid]

    @property
    def text(self) -> str:
        """All lines that were shown, those that scrolled off, too."""
        return "\n".join([*self._above, *self.lines]).rstrip("\n")

    def _blank(self) -> list[str]:
        return [" "] * self.columns

    def _put(self, c: str) -> None:
        if c == "\n":
            self._down()
        elif c == "\r":
            self._column = 0
        elif c == "\b":
            self._column = max(0, self._column - 1)
        elif unicodedata.combining(c):
            self._grid[self._row][max(0, self._column - 1)] += c
        elif c >= " ":
            self._write(c, 2 if unicodedata.east_asian_width(c) in "WF" else 1)

    def _write(self, c: str, cells: int) -> None:
        if self._column + cells > self.columns:
            if self._wraps:
                self._column = 0
                self._down()
            else:
                self._column = self.columns - cells
        self._grid[self._row][self._column : self._column + cells] = [c, ""][:cells]
        self._column += cells

    def _down(self) -> None:
        if self._row == self.rows - 1:
            self._scroll()
        else:
            self._row += 1

    def _scroll(self) -> None:
        self._above.append("".join(self._grid.pop(0)).rstrip())
        self._grid.append(self._blank())

    def _control(self, found: "re.Match[str]") -> str:
        final, given = found["final"], found["args"] or ""
        if found["short"] or final in _IGNORED:
            self._wraps = final != "l" if given == "?7" else self._wraps
            return ""
        numbers = [int(n or 0) for n in given.split(";")] if given else []
        n = max(1, numbers[0]) if numbers else 1
        match final:
            case "A":
                self._row = max(0, self._row - n)
            case "B":
                self._row = min(self.rows - 1, self._row + n)
            case "C":
                self._column = min(self.columns - 1, self._column + n)
            case "D":
                self._column = max(0, min(self._column, self.columns) - n)
            case "H":
                row, column = (*numbers, 1, 1)[:2]
                self._row, self._column = min(max(row, 1), self.rows) - 1, min(max(column, 1), self.columns) - 1
            case "J":
                self._clear(numbers[0] if numbers else 0)
            case "K":
                start, end = ((self._column, self.columns), (0, self._column + 1), (0, self.columns))[
                    numbers[0] if numbers else 0
                ]
                self._grid[self._row][start:end] = [" "] * (end - start)
            case "n":
                return f"\x1b[{self._row + 1};{min(self._column, self.columns - 1) + 1}R"
            case _:
                raise UnknownSequence(repr(found[0]))
        return ""

    def _clear(self, how: int) -> None:
        if how == 0:
            self._grid[self._row][self._column :] = [" "] * (self.columns - self._column)
        first = self._row + 1 if how == 0 else 0
        for row in range(first, self.rows):
            self._grid[row] = self._blank()
