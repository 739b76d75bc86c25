"""How what a worker left in drafts/ is read: each thing once, as a stranger's, beneath the task's folder."""

import os
import stat
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from ..memory.files import is_tmp
from ..memory.guard import UnsafeFile, list_beneath, read_beneath
from ..memory.ids import CardId, DraftId, TaskId, shown
from .draft import MAX_BYTES, Draft, draft_sha, parse_draft
from .finding import Finding
from .folder import MAX_ENTRIES, MAX_TOTAL, Collected, TaskFolder

_NAME_MARKS = frozenset("._- ")


def collected(folder: TaskFolder, task: TaskId, attempt: int, known: Sequence[str]) -> tuple[Collected, ...]:
    """What `folder.collect` gives."""
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
    seen = {_told(name): name for name in read}
    first = [seen[name] for name in known if name in seen]
    order = [*first, *(name for name in read if name not in set(first))]
    return tuple(
        Collected(
            DraftId.of(task, k),
            _told(name),
            draft,
            findings,
            draft.sha256 if draft is not None else "" if raw is None else draft_sha(raw, None),
            raw,
        )
        for k, name in enumerate(order, 1)
        for draft, findings, raw in (read[name],)
    )


def _told(name: str) -> str:
    """A name as journals and answers can hold it: bytes that are no UTF-8 escaped. Such a file is never opened."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


_Entry = tuple[Draft | None, tuple[Finding, ...], bytes | None]


class _Reader:
    """Reads entries of one drafts/ folder, each at most once, within a budget of bytes."""

    def __init__(self, folder: TaskFolder, attempt: int, names: Sequence[str]) -> None:
        self._folder = folder
        self._prefix = f"{attempt}/drafts/"
        self._left = MAX_TOTAL
        self._refused = _refused(tuple(names))

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


@lru_cache(maxsize=64)
def _refused(names: tuple[str, ...]) -> Mapping[str, Finding]:
    """The names that no draft may have; remembered, since the same few are looked at again and again."""
    return dict(_refused_names(names))


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
