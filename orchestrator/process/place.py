"""Where an orchestrator's socket lies, and in which folders a client looks for it.

A socket's path has about a hundred bytes at most, so it can't lie in the workspace. It lies in the user's runtime
folder or, where there is none, in a private one in the temporary folder, and is named after the workspace's folder: its
device and inode, so a workspace that was renamed keeps its socket and a copy gets another one. Two shells may have
different runtime folders; so the orchestrator also notes the path in `.onepen/pen.json`. A note can come with a clone,
so all it can do is name a folder, and every folder has to be private to this user.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from ..errors import OrchestratorFault

_LONGEST = 103  # bytes of a socket's path where it is shortest (macOS)


class SocketFolderUnfit(OrchestratorFault):
    """Raised when no folder is private enough for a socket; the message says what stands there."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: {reason}, so no socket is put there; set XDG_RUNTIME_DIR to a folder that only you can open",
            hint="onepen delegate --foreground",
        )


def key_of(root: Path) -> str:
    """The name of a workspace's folder on this machine, "device:inode"; raises an OSError."""
    found = root.stat()
    return f"{found.st_dev}:{found.st_ino}"


def socket_path(root: Path, env: Mapping[str, str]) -> Path:
    """Where the orchestrator of the workspace in `root` puts its socket; the folder may have to be made.

    Raises SocketFolderUnfit.
    """
    name, unfit = _name(root), ""
    for folder in _folders(env):
        unfit = _why_unfit(folder)
        if not unfit and len(os.fsencode(folder / name)) <= _LONGEST:
            return folder / name
    raise SocketFolderUnfit(folder, unfit or "its path is too long")


def places(root: Path, env: Mapping[str, str], noted: str) -> tuple[Path, ...]:
    """Where the socket may be, the noted one first; only places in folders that are private to this user."""
    folders = [*([Path(noted).parent] if noted else []), *_folders(env)]
    name = _name(root)
    fit = dict.fromkeys(folder for folder in folders if folder.is_absolute() and not _why_unfit(folder, there=True))
    return tuple(folder / name for folder in fit if len(os.fsencode(folder / name)) <= _LONGEST)


def _name(root: Path) -> str:
    found = root.stat()
    return f"{found.st_dev:x}-{found.st_ino:x}.sock"


def _folders(env: Mapping[str, str]) -> tuple[Path, ...]:
    """The runtime folder if it is this user's, the temporary one, and the one that every machine has."""
    runtime, temporary = env.get("XDG_RUNTIME_DIR", ""), env.get("TMPDIR", "")
    own = f"onepen-{os.getuid()}"
    found = []
    if runtime.startswith("/") and not _why_unfit(Path(runtime), there=True):
        found.append(Path(runtime) / "onepen")
    if temporary.startswith("/"):
        found.append(Path(temporary) / own)
    return (*found, Path("/tmp") / own)


def _why_unfit(folder: Path, *, there: bool = False) -> str:
    """Why a socket in this folder could be somebody else's, "" where it can't; `there`: a missing folder is unfit."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        if there or not folder.parent.is_dir():
            return "is not there"
        return "" if os.access(folder.parent, os.W_OK | os.X_OK) else "can't be made"
    except OSError as e:
        return f"can't be looked at ({e.strerror})"
    if stat.S_ISLNK(found.st_mode):
        return "is a link"
    if not stat.S_ISDIR(found.st_mode):
        return "is no folder"
    if found.st_uid != os.getuid():
        return "belongs to another user"
    if found.st_mode & 0o077:
        return "is open to other users"
    return "" if there or os.access(folder, os.W_OK | os.X_OK) else "can't be written"
