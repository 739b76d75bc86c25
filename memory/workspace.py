"""A workspace on disk and its spaces: where things are, by name; nothing here reads a card or writes a file."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import MemoryFault
from .ids import BadId, CardId, ClientId, TaskId
from .target import CardTarget, Shelf, Target
from .tombstone import TOMBSTONES, Tombstone, tombstones

if TYPE_CHECKING:
    from .settings import WorkspaceSettings  # brings pydantic: a command that only asks the orchestrator needs none

SETTINGS = "onepen.toml"
_MAX_SETTINGS = 1 << 16
SHELVES: tuple[Shelf, ...] = ("projects", "research")
NOTES = ("SOUL.md", "USER.md", "PERSONA.md", "RULES.md", "OPS.md", "AGENTS.md", "BRIEF.md", "MEMORY.md")
"""The texts beside the cards that a space may have."""
SYNTHESIS = "memory/synthesis.md"
"""What was talked about lately and where things stand, in a space."""


class NoWorkspace(MemoryFault):
    """Raised when no folder upwards of here is a workspace."""

    exit_code = 2

    def __init__(self, where: Path) -> None:
        super().__init__(f"{where}: not inside a workspace (no {SETTINGS} here or above)", hint="onepen init DIR")


class NoSuchClient(MemoryFault):
    """Raised when a client has no folder in this workspace."""

    exit_code = 2

    def __init__(self, client: str, known: tuple[str, ...]) -> None:
        names = ", ".join(known) if known else "none yet"
        super().__init__(f"client {client}: not in this workspace (known: {names})", hint=f"onepen add client {client}")


class ClientRemoved(NoSuchClient):
    """Raised for a client that was removed for good, whether or not a merge brought files of it back."""

    def __init__(self, tombstone: Tombstone) -> None:
        day = tombstone.time[:10]
        MemoryFault.__init__(self, f"client {tombstone.client}: was removed on {day} ({TOMBSTONES})")
        self.tombstone = tombstone


@dataclass(frozen=True)
class Space:
    """The part of a workspace that belongs to one client; `client` None is the house's own space, the root.

    `prefix` begins every workspace-relative path of the space: "" or "clients/<client>/".
    """

    root: Path
    client: ClientId | None

    @property
    def prefix(self) -> str:
        return "" if self.client is None else f"clients/{self.client}/"

    @property
    def folder(self) -> Path:
        return self.root / self.prefix if self.client is not None else self.root

    def path(self, relative: str | Target) -> str:
        """The workspace-relative path of something in this space, as stored in logs and redo records."""
        return f"{self.prefix}{relative}"

    def index_path(self, shelf: Shelf) -> str:
        return self.path(f"{shelf}/_index.md")

    def card_path(self, shelf: Shelf, card: CardId) -> str:
        return self.path(CardTarget(shelf, card))

    def staging(self, task: TaskId) -> Path:
        """The absolute folder of a task."""
        return self.folder / "staging" / task


def inner_path(path: str) -> str:
    """A workspace path as its space has it: `Space.path` turned round, for whoever has no space at hand."""
    client, slash, inner = path.removeprefix("clients/").partition("/")
    return inner if path.startswith("clients/") and client and slash else path


@dataclass(frozen=True)
class Workspace:
    """An opened workspace: its real root folder and its settings."""

    root: Path
    settings: "WorkspaceSettings"

    @property
    def machine_room(self) -> Path:
        """`.onepen/`: lock, redo log and cache; never travels."""
        return self.root / ".onepen"

    @property
    def house(self) -> Space:
        """The root's own space."""
        return Space(self.root, None)

    def clients(self) -> tuple[ClientId, ...]:
        """The clients that have a folder, sorted, without those that were removed.

        A folder whose name is no id is left to `doctor`.
        """
        found = sorted(_ids(self.root / "clients"))
        gone = tombstones(self.root) if found else {}
        return tuple(client for client in found if client not in gone)

    def space(self, client: str | None) -> Space:
        """The space of a client (None: the house's own).

        Raises BadId, NoSuchClient or ClientRemoved.
        """
        if client is None:
            return self.house
        known = self.clients()
        name = ClientId(client)
        if name not in known:
            raise self.absent(name)
        return Space(self.root, name)

    def require(self, client: ClientId, *, new: bool) -> None:
        """Raise NoSuchClient for a client that has no folder, unless it is `new`, and ClientRemoved for one removed."""
        tombstone = tombstones(self.root).get(client)
        if tombstone is not None or not (new or Space(self.root, client).folder.is_dir()):
            raise self.absent(client)

    def absent(self, client: ClientId) -> NoSuchClient:
        """Why there is no such client: it never was, or it was removed."""
        tombstone = tombstones(self.root).get(client)
        return NoSuchClient(client, self.clients()) if tombstone is None else ClientRemoved(tombstone)

    def spaces(self) -> tuple[Space, ...]:
        """The house's space, then every client's."""
        return (self.house, *(Space(self.root, client) for client in self.clients()))


def open_workspace(root: Path) -> Workspace:
    """The workspace in `root`; raises NoWorkspace, SettingsUnreadable or an OSError."""
    from .settings import parse_settings

    real = root.resolve()
    try:
        standing = (real / SETTINGS).lstat()
    except (FileNotFoundError, NotADirectoryError) as e:
        raise NoWorkspace(root) from e
    return Workspace(real, parse_settings(_settings_text(real / SETTINGS, stat.S_ISLNK(standing.st_mode)), SETTINGS))


def _settings_text(path: Path, is_link: bool) -> str:
    """The text of the settings file, where anything may stand that has its name."""
    from .settings import SettingsUnreadable

    where = f"a link to {path.readlink()}, " if is_link else ""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as e:
        raise SettingsUnreadable(SETTINGS, f"{where}where nothing is: put a file in its place") from e
    except OSError as e:
        raise SettingsUnreadable(SETTINGS, f"{where}can't be read: {e.strerror}") from e
    kind = os.fstat(fd).st_mode
    if not stat.S_ISREG(kind):
        os.close(fd)
        what = "a folder" if stat.S_ISDIR(kind) else "no regular file"
        raise SettingsUnreadable(SETTINGS, f"{where}{what}: put a file in its place")
    with os.fdopen(fd, "rb") as file:
        data = file.read(_MAX_SETTINGS + 1)
    if len(data) > _MAX_SETTINGS:
        raise SettingsUnreadable(SETTINGS, f"larger than {_MAX_SETTINGS >> 10} KiB, which no settings are")
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise SettingsUnreadable(SETTINGS, f"line {line}: not UTF-8 text (byte {e.start}): save it as UTF-8") from e


def find_workspace(start: Path) -> Path:
    """The nearest folder from `start` upwards that holds onepen.toml; raises NoWorkspace."""
    here = Path(os.path.abspath(start))
    for folder in (here, *here.parents):
        try:
            (folder / SETTINGS).lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        return folder  # whatever it is that stands there: `open_workspace` says so when it is no file
    raise NoWorkspace(start)


def client_of(root: Path, folder: Path) -> ClientId | None:
    """The client whose space `folder` lies in; None for the house's own or a folder outside the workspace in `root`."""
    try:
        parts = folder.resolve().relative_to(root.resolve()).parts
    except ValueError:
        return None
    if len(parts) >= 2 and parts[0] == "clients":
        try:
            return ClientId(parts[1])
        except BadId:
            return None
    return None


def _ids(folder: Path) -> Iterator[ClientId]:
    if not folder.is_dir():
        return
    for entry in os.scandir(folder):
        if entry.is_dir(follow_symlinks=False):
            try:
                yield ClientId(entry.name)
            except BadId:
                continue
