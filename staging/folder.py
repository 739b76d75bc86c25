"""staging/<task>/ on disk: where things lie, and how what a worker left there is read.

What lies in drafts/ was made by a stranger, and can change while it is being looked at. So each file is opened
beneath the task's folder without following anything, read once into memory, and from then on only those bytes are
parsed, hashed, shown and judged. Whatever is no plain file is named to the reviewer and never opened.
"""

import os
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..memory.files import is_tmp
from ..memory.guard import UnsafeFile, list_beneath, read_beneath
from ..memory.ids import CardId, DraftId, TaskId, shown
from . import inputs as _inputs
from .draft import MAX_BYTES, Draft, draft_sha, parse_draft
from .finding import Finding
from .inputs import NoSuchInput as NoSuchInput
from .inputs import look_at_inputs as look_at_inputs
from .sheet import SheetUnreadable as SheetUnreadable
from .sheet import TaskSheet as TaskSheet
from .sheet import parse_sheet as parse_sheet
from .sheet import render_sheet as render_sheet

MAX_ENTRIES = 4_000
"""The most files that one attempt may leave; beyond it none is read."""
MAX_TOTAL = 32 << 20
"""The most bytes of one attempt that are read; what lies beyond is named."""
_MAX_SHEET = 4 << 20
_NAME_MARKS = frozenset("._- ")


class TaskFolder:
    """The folder of one task; making one touches nothing on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def inputs(self) -> Path:
        return self.path / "inputs"

    @property
    def sheet_file(self) -> Path:
        return self.path / "task.md"

    @property
    def run_journal(self) -> Path:
        return self.path / "run.jsonl"

    @property
    def review_file(self) -> Path:
        return self.path / "review.md"

    @property
    def report_file(self) -> Path:
        return self.path / "report.md"

    def attempt(self, number: int) -> Path:
        return self.path / str(number)

    def drafts(self, number: int) -> Path:
        return self.attempt(number) / "drafts"

    def transcript(self, number: int) -> Path:
        return self.attempt(number) / "transcript.jsonl"

    def worker_log(self, number: int) -> Path:
        return self.attempt(number) / "worker.log"

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
    draft: Draft | None
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


def read_input(folder: TaskFolder, name: str) -> str:
    """The text of an input by its name below inputs/; raises NoSuchInput."""
    return _inputs.read_input(folder.inputs, name)


def collect(folder: TaskFolder, task: TaskId, attempt: int, known: Sequence[str] = ()) -> tuple[Collected, ...]:
    """Everything that an attempt left in drafts/, each thing once and numbered from 1.

    Numbers go to the names in `known` first (those of an earlier look, so that a file which came later shifts no id),
    then to `.md` files by name, then to what is no draft. A file that a draft names by `file:` belongs to that draft.
    """
    try:
        names = _names(folder, attempt)
    except UnsafeFile as e:
        found = Finding(e.kind, "block", f"drafts/: {e.message.rpartition(': ')[2]}; none was read")
        return (Collected(DraftId.of(task, 1), "drafts/", None, (found,), ""),)
    reader = _Reader(folder, attempt, names)
    read = {name: reader.entry(name) for name in names if reader.is_draft(name)}
    beside = {draft.file for draft, _, _ in read.values() if draft is not None and draft.file is not None}
    for name in names:
        if name not in read and name not in beside:
            read[name] = (None, (reader.stray(name),), None)
    first = [name for name in known if name in read]
    order = [*first, *(name for name in read if name not in set(first))]
    return tuple(
        Collected(
            DraftId.of(task, k),
            name,
            draft,
            findings,
            draft.sha256 if draft is not None else "" if raw is None else draft_sha(raw, None),
            raw,
        )
        for k, name in enumerate(order, 1)
        for draft, findings, raw in (read[name],)
    )


_Entry = tuple[Draft | None, tuple[Finding, ...], bytes | None]


class _Reader:
    """Reads entries of one drafts/ folder, each at most once, within a budget of bytes."""

    def __init__(self, folder: TaskFolder, attempt: int, names: Sequence[str]) -> None:
        self._folder = folder
        self._prefix = f"{attempt}/drafts/"
        self._left = MAX_TOTAL
        self._refused = dict(_refused_names(names))

    def is_draft(self, name: str) -> bool:
        return name.endswith(".md") and name not in self._refused

    def entry(self, name: str) -> _Entry:
        """A draft's file: what it says, or why it is none."""
        raw = self._bytes(name)
        if isinstance(raw, Finding):
            return None, (raw,), None
        result = parse_draft(name, raw, self._beside)
        return (result, (), raw) if isinstance(result, Draft) else (None, result, raw)

    def stray(self, name: str) -> Finding:
        """Why something in drafts/ is no draft; it is not opened for long, only asked what it is."""
        if name in self._refused:
            return self._refused[name]
        kind = self._kind(name)
        if kind is not None:
            return kind
        return Finding(
            "no_draft", "block", f"{shown(name)}: no draft names this file (`file:`), and it is no .md itself"
        )

    def _beside(self, name: str) -> bytes | None:
        if name in self._refused:
            return None
        data = self._bytes(name)
        return None if isinstance(data, Finding) else data

    def _bytes(self, name: str) -> bytes | Finding:
        if self._left <= 0:
            return Finding(
                "too_large", "block", f"{shown(name)}: the drafts have more than {MAX_TOTAL >> 20} MiB in all"
            )
        try:
            data = read_beneath(self._folder.path, self._prefix + name, max_bytes=MAX_BYTES)
        except UnsafeFile as e:
            return Finding(e.kind, "block", f"{shown(name)}: {e.message.rpartition(': ')[2]}")
        except OSError as e:
            return Finding("unreadable", "block", f"{shown(name)}: {e.strerror or 'can not be read'}")
        self._left -= len(data)
        return data

    def _kind(self, name: str) -> Finding | None:
        """A finding when the entry is anything but a plain file; asked by name, nothing is opened."""
        try:
            found = os.lstat(self._folder.path / (self._prefix + name))
        except OSError as e:
            return Finding("missing", "block", f"{shown(name)}: {e.strerror or 'is not there'}")
        if stat.S_ISLNK(found.st_mode):
            return Finding("link", "block", f"{shown(name)}: is a link")
        if not stat.S_ISREG(found.st_mode):
            return Finding("not_regular", "block", f"{shown(name)}: is no regular file")
        if found.st_nlink > 1:
            return Finding("hard_link", "block", f"{shown(name)}: has {found.st_nlink} names (hard links)")
        return None


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit() and name[0] != "0"


def _names(folder: TaskFolder, attempt: int) -> tuple[str, ...]:
    """Names of what lies in drafts/, drafts first; raises UnsafeFile when drafts/ itself is no folder of ours."""
    for place in (folder.attempt(attempt), folder.drafts(attempt)):
        try:
            mode = os.lstat(place).st_mode
        except FileNotFoundError:
            return ()
        if not stat.S_ISDIR(mode):
            raise UnsafeFile("link" if stat.S_ISLNK(mode) else "not_regular", place.name, "is no folder of its own")
    listed = list_beneath(folder.drafts(attempt), max_files=MAX_ENTRIES)
    names = [name for name in listed if not is_tmp(name)]  # what a worker was writing when it was ended
    return tuple(sorted(names, key=lambda name: (not name.endswith(".md"), name.startswith("."), name)))


def _refused_names(names: Sequence[str]) -> Iterator[tuple[str, Finding]]:
    """Names that no draft may have: nested, hidden, unsafe to copy elsewhere, or equal to another but for case."""
    folded: dict[str, list[str]] = {}
    for name in names:
        folded.setdefault(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()), []).append(
            name
        )
        if (rule := _broken_rule(name)) is not None:
            yield name, Finding("name", "block", f"{shown(name)}: {rule}")
    for twins in folded.values():
        if len(twins) > 1:
            for name in twins:
                others = ", ".join(shown(other) for other in twins if other != name)
                yield name, Finding("twin", "block", f"{shown(name)}: differs from {others} only in case or form")


def _broken_rule(name: str) -> str | None:
    """The rule that a file name in drafts/ breaks; None when it is fine."""
    if "/" in name:
        return "drafts lie side by side, in no folder of their own"
    if name.startswith("."):
        return "hidden, so no draft"
    if not (name[0].isalnum() or name[0] == "_") or name[-1] in ". ":
        return "a name begins with a letter or digit and doesn't end with a dot or blank"
    if len(name) > 100 or not all(
        char.isalnum() or char in _NAME_MARKS or unicodedata.combining(char) for char in name
    ):
        return "a name is at most 100 letters, digits, '.', '_', '-' and blanks"
    if name.split(".")[0].casefold() in CardId.reserved:
        return "a reserved name"
    return None
