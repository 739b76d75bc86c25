"""batches/<batch>/ on disk: where things lie, how its tasks are written down, and how a prefix of its id finds it.

A batch may come from a clone of anybody's. So below `batches/` nothing is a link, what is read is checked like what a
stranger wrote, and nothing in it switches anything on.
"""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

from ...memory.errors import MemoryFault
from ...memory.ids import AgentId, BadId, CardId, ClientId, Id, shown
from ...memory.links import LinkLeadsOut
from ...memory.target import parse_target
from ...memory.workspace import Space
from ..errors import AmbiguousId, OrchestratorFault
from ..premises import own
from .item import Item
from .spec import SPEC, BatchId

BATCHES = "batches"
TASKS = "tasks.jsonl"
HOUSE = "_house"
LOST = "put it back from a backup or from git"
_VERSION = 1
_KEY = re.compile(r"[0-9a-f]{32}")
# Nearly every target is such a one, and taking it apart takes four times as long.
_CARD = re.compile(r"(?:projects|research)/([a-z0-9][a-z0-9-]{0,63})\.md")
_ALWAYS = ("v", "key", "line", "agent", "model", "text")
_AT_TIMES = ("id", "client", "project", "target", "twins")
_KNOWN = frozenset((*_ALWAYS, *_AT_TIMES))


class NoSuchBatch(OrchestratorFault):
    """Raised when no batch of the workspace has this id or prefix."""

    exit_code = 2

    def __init__(self, batch: str) -> None:
        super().__init__(f"batch {batch!r}: not in this workspace", hint="onepen batch list")


class TasksUnreadable(OrchestratorFault):
    """Raised when a batch's tasks.jsonl is not what onepen wrote; `line` is 0 for all of it."""

    def __init__(self, reason: str, line: int = 0, place: str = TASKS) -> None:
        super().__init__(f"{place}{f':{line}' if line else ''}: {reason}; {LOST}")
        self.reason = reason
        self.line = line


class BatchFolder:
    """The folder of one batch; making one touches nothing on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def batch(self) -> str:
        return self.path.name

    @property
    def spec_file(self) -> Path:
        return self.path / SPEC

    @property
    def tasks_file(self) -> Path:
        return self.path / TASKS

    @property
    def run_journal(self) -> Path:
        return self.path / "run.jsonl"

    @property
    def inputs(self) -> Path:
        """Copies of what each of its tasks gets."""
        return self.path / "inputs"

    @property
    def report_file(self) -> Path:
        return self.path / "report.md"

    @property
    def picture_file(self) -> Path:
        return self.path / "progress.svg"

    @property
    def sent_file(self) -> Path:
        """What was sent in Message Batches."""
        return self.path / "message-batches.jsonl"

    @property
    def replies(self) -> Path:
        """What came back of them."""
        return self.path / "replies"

    def context(self, client: str | None) -> Path:
        """What workers of a client's space (None: the house's own) start from, pinned."""
        return self.path / "context" / (client or HOUSE)


def batch_folder(root: Path, batch: BatchId) -> BatchFolder:
    """The folder of a batch, which need not exist; raises LinkLeadsOut."""
    return BatchFolder(own(Space(root, None), f"{BATCHES}/{batch}"))


def begun_ids(root: Path) -> tuple[BatchId, ...]:
    """Everything in batches/ that has an id for a name and is a folder, sorted, whether or not it became a batch.

    A link is named, too: who opens it is told that it is one.
    """
    found: list[BatchId] = []
    try:
        with os.scandir(own(Space(root, None), BATCHES)) as entries:
            for entry in entries:
                try:
                    if entry.is_dir(follow_symlinks=False) or entry.is_symlink():
                        found.append(BatchId(entry.name))
                except BadId:
                    continue
    except (FileNotFoundError, NotADirectoryError, PermissionError, LinkLeadsOut):
        return ()
    return tuple(sorted(found))


def batch_ids(root: Path) -> tuple[BatchId, ...]:
    """The ids of all batches of a workspace, sorted: batch.toml, which is written last, makes a folder one."""
    return tuple(batch for batch in begun_ids(root) if os.path.lexists(f"{root}/{BATCHES}/{batch}/{SPEC}"))


def find_batch(root: Path, prefix: str) -> BatchFolder:
    """The batch of an id or a prefix of one; raises NoSuchBatch, AmbiguousId or LinkLeadsOut."""
    known = batch_ids(root)
    found = [prefix] if prefix in known else [batch for batch in known if prefix and batch.startswith(prefix)]
    if not found:
        raise NoSuchBatch(prefix)
    if len(found) > 1:
        raise AmbiguousId("batch", prefix, tuple(found))
    return batch_folder(root, BatchId(found[0]))


# -- its tasks ---------------------------------------------------------------------------------------------------------


def tasks_jsonl(items: Iterable[Item]) -> bytes:
    """The tasks as tasks.jsonl has them, one a line; equal tasks give equal bytes."""
    return "".join(map(_line, items)).encode()


def _line(item: Item) -> str:
    said = {"v": _VERSION, **vars(item)}
    given = {name: said[name] for name in (*_ALWAYS[:3], *_AT_TIMES, *_ALWAYS[3:])}
    kept = {name: value for name, value in given.items() if name in _ALWAYS or value}
    return json.dumps(kept, ensure_ascii=False) + "\n"


def read_items(data: bytes) -> tuple[Item, ...]:
    """The tasks in a tasks.jsonl; raises TasksUnreadable at the first line that is none."""
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as e:
        raise TasksUnreadable("not UTF-8 text", data.count(b"\n", 0, e.start) + 1) from e
    if lines.pop():
        raise TasksUnreadable("this line was cut short", len(lines) + 1)
    found = list[Item]()
    keys = set[str]()
    names = _Names()
    for number, line in enumerate(lines, start=1):
        try:
            item = _item(json.loads(line), names)
        except (ValueError, RecursionError) as e:
            reason = "no line of JSON" if isinstance(e, json.JSONDecodeError | RecursionError) else str(e)
            raise TasksUnreadable(reason, number) from e
        except MemoryFault as e:
            raise TasksUnreadable(e.message, number) from e
        if item.key in keys:
            raise TasksUnreadable(f"key {item.key} stands twice", number)
        keys.add(item.key)
        found.append(item)
    return tuple(found)


class _Names:
    """Names that were found right: thousands of tasks have few of them."""

    def __init__(self) -> None:
        self._known: set[tuple[type[Id], str]] = set()

    def check(self, kind: type[Id], name: object) -> None:
        """Raises BadId, or ValueError for what is no text."""
        if not isinstance(name, str):
            raise ValueError(f"{kind.kind}: must be a text")
        if (kind, name) not in self._known:
            kind(name)
            self._known.add((kind, name))


def _item(raw: object, names: _Names) -> Item:
    """A task from a line's JSON; raises ValueError, BadId or BadTarget."""
    if not isinstance(raw, dict) or raw.pop("v", None) != _VERSION:
        raise ValueError("not a task of this version")
    if not _KNOWN.issuperset(raw):
        raise ValueError(f"{shown(min(raw.keys() - _KNOWN))} is not known here")
    if not isinstance(twins := raw.get("twins", []), list):
        raise ValueError("twins must be a list")
    try:
        raw["twins"] = tuple(twins)
        item = Item(**raw)
    except TypeError as e:
        raise ValueError("a task has key, line, agent, model and text") from e
    for text in (item.key, item.model, item.text, item.id):
        if not isinstance(text, str):
            raise ValueError("key, model, text and id must be texts")
    if not _KEY.fullmatch(item.key):
        raise ValueError("key must be 32 hex digits")
    if not all(type(line) is int and line > 0 for line in (item.line, *item.twins)):
        raise ValueError("line and twins must be numbers of lines")
    names.check(AgentId, item.agent)
    if item.client is not None:
        names.check(ClientId, item.client)
    if item.project is not None:
        names.check(CardId, item.project)
    if item.target is not None:
        if not isinstance(item.target, str):
            raise ValueError("target must be a text")
        card = _CARD.fullmatch(item.target)
        if card is None or card[1] in CardId.reserved:
            parse_target(item.target)
    return item
