"""Works out what the files will be after a change, without writing one: a `Change` in, contents and a log line out.

Only what the change was decided on is compared (the card's passage, the hash of a file that is put). Index lines,
registry lines and day-log lines are made from the files as they are at this moment.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import partial
from typing import Protocol

from ..change import Change, FileEntry, Put, Remove
from ..files import sha256
from ..history import VERSION, Commit, TextChange, commit_json
from ..ids import same_but_case
from ..index.blocks import Blocks
from ..index.index import ARCHIVED, Index, empty_index, parse_index
from ..index.one_block import changed_block
from ..index.reconcile import reconcile
from ..index.registry import HEADING as REGISTRY_HEADING
from ..index.registry import with_agent
from ..links import LinkLeadsOut
from ..problem import Problem
from ..target import BadTarget, CardTarget, FileTarget, Shelf, parse_target
from ..text.card import CardExists, EditRefused, NoSuchCard, NothingToChange, apply_edit, with_status
from ..text.daylog import day_file, log_line, parse_seals, seal, seal_json
from ..text.document import Document, parse_document
from ..tombstone import TOMBSTONES, Tombstone, tombstone_json
from ..view import HEADINGS, UnreadableText, as_text, card_ids, log_days
from ..workspace import SHELVES, Space
from .reach import may_remove, may_write
from .rename import move
from .splice import Splice, splices
from .taking_back import take_back
from .text_change import index_changes, text_changes

_CARD_PATH = re.compile(r"(?:projects|research)/[^/]+\.md")
_DAY_PATH = re.compile(r"memory/\d{4}-\d{2}-\d{2}\.md")
_NEVER_PUT = frozenset({"logs", "staging", "batches", "clients", "chats", ".onepen", ".git"})
_SEALS = re.compile(r"seals-\d{4}-\d{2}\.jsonl")
_SEALS_AT_ONCE = 31
_UNREAD = (UnreadableText, LinkLeadsOut, OSError)


class PutRefused(EditRefused):
    """Raised when a file can't be put where a change wants it, or isn't what the change was made against."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}; nothing was written")
        self.path = path


class RemoveRefused(EditRefused):
    """Raised when a file can't be removed as a change wants it, or isn't what the change was made against."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}; nothing was written")
        self.path = path


class IdTaken(EditRefused):
    """Raised when a new card's id already names a card of the space, perhaps in another spelling."""

    def __init__(self, target: str, other: str) -> None:
        super().__init__(f"{target}: {other} is there already, and one id names one card", hint="choose another id")
        self.other = other


class EntryWithoutSection(EditRefused):
    """Raised when an index entry is given for a section that the card will not have."""

    def __init__(self, target: str, section: str, known: Iterable[str]) -> None:
        names = ", ".join(known) or "none"
        super().__init__(f"{target}: an index entry is given for section {section!r}, the card's sections are: {names}")


class Source(Protocol):
    """The files as they are; paths and folders are relative to the workspace."""

    def read(self, path: str) -> bytes | None: ...
    def end(self, path: str) -> tuple[int, bool]:
        """The size of a file (0 if absent), and whether its last line has a newline (True if it is empty)."""
        ...

    def names(self, folder: str) -> set[str]: ...
    def blocks(self, path: str) -> Blocks | None:
        """An index that is kept in its blocks; None for one that isn't."""
        ...


Content = bytes | Blocks | None
"""What is in a file; None where there is none."""


@dataclass(frozen=True)
class Page:
    """A file that is replaced, made or taken away; `pieces` are those that differ, where they are known."""

    path: str
    before: Content
    after: Content
    pieces: tuple[Splice, ...] = ()


@dataclass(frozen=True)
class Added:
    """Lines that are added to a file, each with its newline; `fresh` ones hold an id, and so stand nowhere yet."""

    path: str
    lines: tuple[bytes, ...]
    fresh: bool


@dataclass(frozen=True)
class Composed:
    """A commit as it will be: what its line in the log says, and what becomes of the files."""

    commit: Commit
    pages: tuple[Page, ...]
    added: tuple[Added, ...]
    sealed_all: bool


@dataclass
class _Desk:
    """The files of one commit while it is worked out: read once, then as they will be."""

    source: Source
    before: dict[str, bytes | None] = field(default_factory=dict)
    after: dict[str, bytes | None] = field(default_factory=dict)
    leaves: dict[str, tuple[Blocks, Blocks]] = field(default_factory=dict)

    def read(self, path: str) -> bytes | None:
        if path in self.after:
            return self.after[path]
        if path in self.leaves:
            return self.leaves[path][1].data
        if path not in self.before:
            self.before[path] = self.source.read(path)
        return self.before[path]

    def text(self, path: str) -> str | None:
        data = self.read(path)
        return None if data is None else as_text(data, path)

    def write(self, path: str, data: bytes) -> None:
        if self.read(path) != data:
            self._as_whole(path)
            self.after[path] = data

    def names(self, folder: str) -> set[str]:
        return self.source.names(folder)

    def remove(self, path: str) -> None:
        self._as_whole(path)
        self.after[path] = None

    def document(self, path: str) -> Document | None:
        text = self.text(path)
        return None if text is None else parse_document(text)

    def index(self, path: str, heading: str) -> Index:
        text = self.text(path)
        return parse_index(empty_index(heading) if text is None else text)

    def change_index(self, path: str, heading: str, card: str, change: Callable[[Index], Index]) -> None:
        if path not in self.after:
            first, last = self.leaves.get(path) or (self.source.blocks(path),) * 2
            new = None if last is None else last.changed(card, change)
            if first is not None and new is not None:
                if new is not last:
                    self.leaves[path] = (first, new)
                return
        text = self.text(path)
        old = empty_index(heading) if text is None else text
        self.write(path, changed_block(old, card, change).encode())

    def _as_whole(self, path: str) -> None:
        if path in self.leaves:
            self.before[path] = self.leaves.pop(path)[0].data

    def pages(self) -> list[Page]:
        """What became of the files."""
        whole = [_page(path, self.before[path], data) for path, data in self.after.items() if data != self.before[path]]
        return [*whole, *(Page(path, old, new, leaf_pieces(old, new)) for path, (old, new) in self.leaves.items())]


def compose(
    change: Change,
    space: Space,
    source: Source,
    *,
    id: str,  # noqa: A002
    now: datetime,
    seal_days: bool,
    passed_over: Callable[[Problem], None] = lambda _: None,
) -> Composed:
    """Work out a change; `passed_over` is told what it doesn't need and could not read.

    Raises EditRefused (and its kinds), BadLogText, UnreadableText, LinkLeadsOut or an OSError.
    """
    desk = _Desk(source)
    if change.reverts:
        take_back(desk, space, change.reverts, now.date(), partial(_check_free, desk, space))
    for remove in change.removes:
        _remove(desk, space, remove)
    for put in change.puts:
        _put(desk, space, put)
    moved: frozenset[str] = frozenset()
    if change.rename is not None:
        moved = move(desk, space, change.rename, now.date(), partial(_check_free, desk, space))
    if change.edit is not None:
        _edit(desk, space, change, now.date())
    if change.status is not None:
        _set_status(desk, space, change, *change.status, now.date())
    for entry in change.files:
        _file_entry(desk, space, entry)
    if change.registry:
        _register(desk, space, change)
    if change.reconcile:
        for shelf in SHELVES:
            _reconcile_shelf(desk, space, shelf, change.cards, passed_over)
    lines = [log_line(now, kind, text) for kind, text in change.log]
    pages = desk.pages()
    if not lines and not change.seal and not pages:
        raise NothingToChange("everything is as it should be already")
    added, sealed_all = _day_log(space, source, lines, now, id, seal_days or change.seal, passed_over)
    if change.tombstone is not None:
        stone = Tombstone(change.tombstone, now.isoformat(timespec="seconds"), change.who, id)
        added.append(_fresh_lines(TOMBSTONES, [tombstone_json(stone)]))
    if not pages and not added:
        raise NothingToChange("all past days are sealed already")
    commit = _commit(change, space, pages, added, moved, id, now)
    log = space.path(f"logs/commits-{now:%Y-%m}.jsonl")
    added.append(_fresh_lines(log, [commit_json(commit)]))
    return Composed(commit, tuple(pages), tuple(added), sealed_all)


def _remove(desk: _Desk, space: Space, remove: Remove) -> None:
    path = space.path(remove.path)
    if not may_remove(path):
        raise RemoveRefused(path, "only a card, a file of a project or an agent's definition is ever removed")
    now = desk.read(path)
    if now is None or sha256(now) != remove.before:
        raise RemoveRefused(path, "it has changed since it was read" if now is not None else "it is gone already")
    desk.remove(path)
    if remove.path.startswith("agents/"):
        agent = remove.path.removeprefix("agents/").removesuffix(".md")
        _drop(desk, space.path("agents/_index.md"), lambda registry: registry.without_card(agent))
        return
    target = parse_target(remove.path)
    if isinstance(target, CardTarget):
        _drop(desk, space.index_path(target.shelf), lambda index: index.without_card(target.card))
    elif isinstance(target, FileTarget):
        _drop(desk, space.index_path("projects"), partial(_without_file, target))


def _without_file(target: FileTarget, index: Index) -> Index:
    block = index.card(target.project)
    link = f"{target.project}/{target.path}"
    entry = next((entry for entry in block.entries if entry.link == link), None) if block is not None else None
    return index.without_entry(target.project, entry.section_id) if entry is not None else index


def _drop(desk: _Desk, path: str, change: Callable[[Index], Index]) -> None:
    text = desk.text(path)
    if text is not None:
        desk.write(path, change(parse_index(text)).text.encode())


def _put(desk: _Desk, space: Space, put: Put) -> None:
    parts = put.path.split("/")
    if "\0" in put.path or "\\" in put.path or any(part in ("", ".", "..") for part in parts):
        raise PutRefused(put.path, "this is no path below the space")
    if parts[0] in _NEVER_PUT or _DAY_PATH.fullmatch(put.path):
        raise PutRefused(put.path, "this file is only ever written by onepen itself")
    if _CARD_PATH.fullmatch(put.path) and parts[1] != "_index.md":
        raise PutRefused(put.path, "a card is changed by an edit, together with its index")
    if parts[0] in SHELVES and len(parts) > 2:
        try:
            parse_target(put.path)
        except BadTarget as e:
            raise PutRefused(put.path, e.message) from e
    path = space.path(put.path)
    if not may_write(path):
        raise PutRefused(put.path, "this is no file of memory")
    now = desk.read(path)
    if put.before is None and now is not None:
        raise PutRefused(path, "it exists already")
    if put.before is not None and (now is None or sha256(now) != put.before):
        raise PutRefused(path, "it has changed since it was read" if now is not None else "it is gone")
    desk.write(path, put.data)


def _edit(desk: _Desk, space: Space, change: Change, today: date) -> None:
    edit = change.edit
    assert edit is not None
    target = edit.target
    path = space.path(target)
    if edit.kind == "create" and isinstance(target, CardTarget):
        _check_free(desk, space, target)
    after = apply_edit(desk.text(path), edit, today)
    desk.write(path, after.encode())
    if not isinstance(target, CardTarget):
        return
    document = parse_document(after)
    known = {section.id for section in document.sections}
    for entry in change.index:
        if entry.section_id not in known:
            raise EntryWithoutSection(path, entry.section_id, known)

    def changed(index: Index) -> Index:
        # Reconciled first: the entry of a heading that this edit renames goes along, then is what it is given to be.
        index = reconcile(index, {target.card: document}, only=target.card)
        for entry in change.index:
            index = index.with_entry(target.card, entry)
        return index

    desk.change_index(space.index_path(target.shelf), HEADINGS[target.shelf], target.card, changed)


def _set_status(desk: _Desk, space: Space, change: Change, target: CardTarget, status: str, today: date) -> None:
    path = space.path(target)
    before = desk.text(path)
    if before is None:
        raise NoSuchCard(path)
    after = with_status(before, status, today)
    desk.write(path, after.encode())
    cards: dict[str, Document] = {target.card: parse_document(after)}
    known = {section.id for section in cards[target.card].sections}

    def changed(index: Index) -> Index:
        index = reconcile(index, cards, only=target.card)
        if status == ARCHIVED:
            return index.without_entries(target.card)
        for entry in change.index:
            if entry.section_id in known:
                index = index.with_entry(target.card, entry)
        return index

    desk.change_index(space.index_path(target.shelf), HEADINGS[target.shelf], target.card, changed)


def _check_free(desk: _Desk, space: Space, target: CardTarget) -> None:
    """One id names one card of a space, and no other spelling of it may exist (some disks can't tell them apart)."""
    wanted = f"{target.card}.md"
    for shelf in SHELVES:
        for name in same_but_case(wanted, desk.source.names(space.path(shelf))):
            if name != wanted or shelf != target.shelf:
                raise IdTaken(space.path(target), space.path(f"{shelf}/{name}"))
    if desk.read(space.path(target)) is not None:
        raise CardExists(space.path(target))


def _file_entry(desk: _Desk, space: Space, given: FileEntry) -> None:
    card_path = space.card_path("projects", given.project)
    document = desk.document(card_path)
    if document is None:
        raise NoSuchCard(card_path)

    def changed(index: Index) -> Index:
        if index.card(given.project) is None:
            index = reconcile(index, {given.project: document}, only=given.project)
        return index.with_entry(given.project, given.entry, link=f"{given.project}/{given.path}")

    desk.change_index(space.index_path("projects"), HEADINGS["projects"], given.project, changed)


def _register(desk: _Desk, space: Space, change: Change) -> None:
    path = space.path("agents/_index.md")
    registry = desk.index(path, REGISTRY_HEADING)
    for agent, description in change.registry:
        registry = with_agent(registry, agent, agent, description)
    desk.write(path, registry.text.encode())


def _reconcile_shelf(
    desk: _Desk, space: Space, shelf: Shelf, wanted: frozenset[str] | None, passed_over: Callable[[Problem], None]
) -> None:
    """What can't be read is told and passed over, a card or the whole shelf; the others are brought in line."""
    try:
        names = desk.source.names(space.path(shelf))
        path = space.index_path(shelf)
        old = desk.text(path)
    except _UNREAD as e:
        passed_over(_unread(space.index_path(shelf), e, "it was not brought into line with its cards"))
        return
    cards: dict[str, Document] = {}
    for card in card_ids(names):
        if wanted is not None and f"{shelf}/{card}.md" not in wanted:
            continue
        card_path = space.card_path(shelf, card)
        try:
            document = desk.document(card_path)
        except _UNREAD as e:
            passed_over(_unread(card_path, e, "its lines in the index stay as they are"))
            continue
        if document is not None:
            cards[card] = document
    if cards or old is not None:
        desk.write(path, reconcile(desk.index(path, HEADINGS[shelf]), cards).text.encode())


def _unread(path: str, fault: UnreadableText | LinkLeadsOut | OSError, then: str) -> Problem:
    reason = (fault.strerror or str(fault)) if isinstance(fault, OSError) else fault.message.removeprefix(f"{path}: ")
    return Problem(path, 0, "passed_over", "warning", f"can't be read ({reason}): {then}")


def _day_log(
    space: Space,
    source: Source,
    lines: list[str],
    now: datetime,
    id: str,  # noqa: A002
    seal_days: bool,
    passed_over: Callable[[Problem], None],
) -> tuple[list[Added], bool]:
    """Today's new lines, and the seals of earlier days that have none yet."""
    path = space.path(day_file(now.date()))
    added = [Added(path, tuple(line.encode() for line in lines), fresh=False)] if lines else []
    if not seal_days:
        return added, False
    sealed: set[str] = set()
    for name in source.names(space.path("logs")):
        if _SEALS.fullmatch(name):
            text = (source.read(space.path(f"logs/{name}")) or b"").decode("utf-8", "replace")
            sealed.update(found.day for found in parse_seals(text))
    days = [day for day in log_days(source.names(space.path("memory"))) if day < now.date()]
    due = [day for day in days if day.isoformat() not in sealed]
    machine = id.partition("-")[2]
    seals = []
    for day in due[:_SEALS_AT_ONCE]:
        try:
            text = (source.read(space.path(day_file(day))) or b"").decode("utf-8", "replace")
        except _UNREAD as e:
            passed_over(_unread(space.path(day_file(day)), e, "the day was not sealed"))
            continue
        seals.append(seal_json(seal(day, text, now, machine)).rstrip("\n"))
    if seals:
        added.append(_fresh_lines(space.path(f"logs/seals-{now:%Y-%m}.jsonl"), seals))
    return added, len(due) <= _SEALS_AT_ONCE


def _fresh_lines(path: str, records: list[str]) -> Added:
    return Added(path, tuple(record.encode() + b"\n" for record in records), fresh=True)


def leaf_pieces(before: Blocks, after: Blocks) -> tuple[Splice, ...]:
    """The pieces between two forms of one index."""
    return tuple(
        Splice(offset + piece.offset, piece.old, piece.new)
        for offset, old, new in after.pieces(before)
        for piece in splices(old, new)
    )


def _page(path: str, before: bytes | None, after: bytes | None) -> Page:
    return Page(path, before, after, () if after is None else splices(before or b"", after))


def _commit(
    change: Change,
    space: Space,
    pages: list[Page],
    added: list[Added],
    moved: frozenset[str],
    id: str,  # noqa: A002
    now: datetime,
) -> Commit:
    changes: list[TextChange] = []
    for page in pages:
        if isinstance(page.before, Blocks) or isinstance(page.after, Blocks):
            changes += index_changes(page.path, page.pieces, change.edit)
        elif page.path not in moved:
            changes += text_changes(page.path, page.before, page.after, page.pieces, change.edit, space)
    return Commit(
        v=VERSION,
        id=id,
        key=change.key,
        undoes=change.undoes,
        time=now.isoformat(timespec="seconds"),
        who=change.who,
        what=" ".join(change.what.split()),
        draft=change.draft,
        agent=change.agent,
        task=change.task,
        reviewer=change.reviewer,
        sources=change.sources,
        paths=(*(page.path for page in pages), *(lines.path for lines in added)),
        changes=tuple(changes),
        removed=tuple(page.path for page in pages if page.after is None),
    )
