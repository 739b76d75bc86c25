"""What is wrong in a person's files, as a value: shown by `doctor`, never raised."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Problem:
    """One thing a person should know; `path` is relative to the workspace, `line` counts from 1 (0: the whole file).

    `kind` is a stable word for programs (docs/reference/problems.md lists them); `error` makes `doctor` exit with 1,
    `warning` is shown, `info` is only information.
    """

    path: str
    line: int
    kind: str
    level: Level
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.message}"
