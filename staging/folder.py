"""staging/<task>/ on disk: where things lie, and how what a worker left there is read.

What lies in drafts/ was made by a stranger, and can change while it is being looked at. So each file is opened
beneath the task's folder without following anything, read once into memory, and from then on only those bytes are
parsed, hashed, shown and judged. Whatever is no plain file is named to the reviewer and never opened.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..memory.guard import read_beneath
from ..memory.ids import DraftId, TaskId
from . import inputs as _inputs
from .finding import Finding
from .inputs import NoSuchInput as NoSuchInput
from .inputs import look_at_inputs as look_at_inputs
from .sheet import SheetUnreadable as SheetUnreadable
from .sheet import TaskSheet as TaskSheet
from .sheet import parse_sheet as parse_sheet
from .sheet import render_sheet as render_sheet

if TYPE_CHECKING:
    from .draft import Draft

MAX_ENTRIES = 4_000
"""The most files that one attempt may leave; beyond it none is read."""
MAX_TOTAL = 32 << 20
"""The most bytes of one attempt that are read; what lies beyond is named."""
_MAX_SHEET = 4 << 20
_REVIEW = re.compile(r"review-([1-9][0-9]{0,5})\.jsonl")


class TaskFolder:
    """The folder of one task; making one touches nothing on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[str, Path] = {}  # those that were asked for: a task asks for few, and often

    @property
    def inputs(self) -> Path:
        return self._place("inputs")

    @property
    def sheet_file(self) -> Path:
        return self._place("task.md")

    @property
    def run_journal(self) -> Path:
        return self._place("run.jsonl")

    @property
    def review_file(self) -> Path:
        return self._place("review.md")

    @property
    def report_file(self) -> Path:
        return self._place("report.md")

    def attempt(self, number: int) -> Path:
        return self._place(str(number))

    def drafts(self, number: int) -> Path:
        return self._place(f"{number}/drafts")

    def work(self, number: int) -> Path:
        """Where commands of an attempt ran."""
        return self._place(f"{number}/work")

    def transcript(self, number: int) -> Path:
        return self._place(f"{number}/transcript.jsonl")

    def review(self, number: int, k: int) -> Path:
        """The k-th conversation with a reviewing model about drafts of an attempt."""
        return self._place(f"{number}/review-{k}.jsonl")

    def _place(self, name: str) -> Path:
        if name not in self._places:
            self._places[name] = self.path / name
        return self._places[name]

    def reviews(self, number: int) -> tuple[int, ...]:
        """The numbers of those that are there, in order."""
        try:
            names = os.listdir(self.attempt(number))  # noqa: PTH208
        except (FileNotFoundError, NotADirectoryError):
            return ()
        return tuple(sorted(int(match[1]) for name in names if (match := _REVIEW.fullmatch(name))))

    def attempts(self) -> tuple[int, ...]:
        """The attempts that have a folder, in order."""
        try:
            names = [e.name for e in os.scandir(self.path) if e.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return ()
        return tuple(sorted(int(name) for name in names if _is_number(name)))

    def highest(self) -> int:
        """The highest number that anything in the folder has for a name, whatever it is; 0 for none."""
        try:
            names = [path.name for path in self.path.iterdir()]
        except FileNotFoundError:
            return 0
        return max((int(name) for name in names if _is_number(name)), default=0)

    def sheet(self) -> TaskSheet:
        """What task.md says; raises SheetUnreadable, or UnsafeFile when it is no plain file."""
        return parse_sheet(read_beneath(self.path, "task.md", max_bytes=_MAX_SHEET).decode(errors="replace"))


@dataclass(frozen=True)
class Collected:
    """One thing that an attempt left in drafts/, as it was read once.

    `draft` is None when it is none, and `findings` say why. `raw` are the bytes that were read (None: never opened),
    so that a reviewer can be shown a draft that couldn't be parsed in full. `sha256` is "" for what was never opened.
    """

    id: DraftId
    name: str
    draft: "Draft | None"
    findings: tuple[Finding, ...]
    sha256: str
    raw: bytes | None = None

    @property
    def text(self) -> str:
        """What was read, as text that can be shown; bytes that are no UTF-8 are replaced."""
        return "" if self.raw is None else self.raw.decode(errors="replace")


def copy_inputs(folder: TaskFolder, paths: Sequence[Path]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Copy inputs into the task's folder; names of the copies, and a message for each thing left out."""
    return _inputs.copy_inputs(folder.inputs, paths)


def put_inputs(folder: TaskFolder, papers: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Write inputs that are given as texts into the task's folder; their names."""
    return _inputs.put_inputs(folder.inputs, papers)


def read_input(folder: TaskFolder, name: str) -> str:
    """The text of an input by its name below inputs/; raises NoSuchInput."""
    return _inputs.read_input(folder.inputs, name)


def collect(folder: TaskFolder, task: TaskId, attempt: int, known: Sequence[str] = ()) -> tuple[Collected, ...]:
    """Everything that an attempt left in drafts/, each thing once and numbered from 1.

    Numbers go to the names in `known` first (those of an earlier look, so that a file which came later shifts no id),
    then to `.md` files by name, then to what is no draft. A file that a draft names by `file:` belongs to that draft.
    """
    from .collecting import collected  # parsers of drafts: who only lists tasks does without them

    return collected(folder, task, attempt, known)


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit() and name[0] != "0"
