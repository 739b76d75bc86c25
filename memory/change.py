"""What a commit is to do, as plain values: said by whoever decided it, carried out by the pen alone."""

from dataclasses import dataclass

from .history import TextChange
from .ids import AgentId, CardId, ClientId
from .index.index import IndexEntry
from .target import CardTarget
from .text.card import CardEdit


@dataclass(frozen=True)
class Put:
    """A file to be written whole: a project's file, an agent's definition, the first files of a client.

    `path` is relative to the space; `before` is the hash the file must have, None when it must be absent.
    Cards, day logs and logs are never put: they have an edit, or are added to.
    """

    path: str
    data: bytes
    before: str | None = None


@dataclass(frozen=True)
class Remove:
    """A file that is to go; `path` is relative to the space, `before` is the hash the file must have.

    A card goes with its block in the index, a project's file with its index line, an agent's definition with its block
    in the registry. Nothing else is ever removed.
    """

    path: str
    before: str


@dataclass(frozen=True)
class FileEntry:
    """The index line of a project's file; `path` is relative to the project's folder."""

    project: CardId
    path: str
    entry: IndexEntry


@dataclass(frozen=True)
class Rename:
    """A card that gets another id, or with the same one another `title`.

    Its block in the index goes along and, where a project has them, its `files`, given by their paths in its folder.
    """

    old: CardTarget
    new: CardId
    title: str | None = None
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """A set of changes that belong together: all or nothing.

    `what` is one line for the history. `who` is "user:<login>" or "agent:<id>". `index` is for the edited card; a
    section without an entry gets one made from its heading. `status` is a card and the word that its front matter is to
    have for its status; archived, the card's entries leave the index, and with another word `index` and `files` bring
    them back. `registry` holds agents and their descriptions, `log` the kind and text of day-log lines. With `key`
    ("<task key> <target>") the same change is never made twice. `reconcile` brings the indexes of the space into line
    with cards that were edited by hand: with all of them, or with those whose paths within the space are in `cards`.
    Every commit seals past days that have no seal yet; with `seal` it is made for that alone.
    `reverts` is what the commit `undoes` did, to be taken back.
    `tombstone` is a client that is removed for good, in a change of the house; its files are removed after it.
    """

    client: ClientId | None
    what: str
    who: str
    edit: CardEdit | None = None
    puts: tuple[Put, ...] = ()
    removes: tuple[Remove, ...] = ()
    index: tuple[IndexEntry, ...] = ()
    files: tuple[FileEntry, ...] = ()
    registry: tuple[tuple[AgentId, str], ...] = ()
    log: tuple[tuple[str, str], ...] = ()
    key: str | None = None
    draft: str | None = None
    agent: str | None = None
    task: str | None = None
    reviewer: str | None = None
    sources: tuple[str, ...] = ()
    reconcile: bool = False
    cards: frozenset[str] | None = None
    status: tuple[CardTarget, str] | None = None
    seal: bool = False
    reverts: tuple[TextChange, ...] = ()
    undoes: str | None = None
    tombstone: ClientId | None = None
    rename: Rename | None = None
