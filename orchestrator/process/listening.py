"""The orchestrator's socket: made for this user alone, made again if its name is taken away, removed at the end."""

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ...memory import files
from .place import socket_path

_BACKLOG = 128
_OLD_SECONDS = 3_600.0


class Listening:
    """Where the orchestrator of the workspace in `root` listens; whoever makes one holds the pen."""

    def __init__(self, root: Path, env: Mapping[str, str]) -> None:
        self._root = root
        self._env = env
        self.socket = self._open()

    def renew(self) -> bool:
        """Whether the socket's name was gone, as after the temporary folder was cleaned, so that there is a new one.

        Raises SocketFolderUnfit or an OSError; then the old one is still there for who is connected.
        """
        if self._stands():
            return False
        self.socket = self._open()
        return True

    def close(self) -> None:
        """Remove the socket, unless another process's stands there by now."""
        self.socket.close()
        if self._stands():
            files.remove(self.path)

    def _open(self) -> socket.socket:
        self.path = socket_path(self._root, self._env)
        made = listen(self.path)
        self._own = self.path.stat()
        return made

    def _stands(self) -> bool:
        try:
            return os.path.samestat(self.path.stat(), self._own)
        except OSError:
            return False


def listen(path: Path) -> socket.socket:
    """A socket that listens at `path`, for this user alone; what an orchestrator that was killed left there is removed.

    Whoever calls this holds the pen, so nobody else listens there for this workspace.
    """
    files.make_folder(path.parent, within=path.parent.parent)
    files.remove(path)
    _sweep(path.parent)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        listening.bind(os.fspath(path))
    except BaseException:
        listening.close()
        raise
    finally:
        os.umask(mask)
    listening.listen(_BACKLOG)
    return listening


def _sweep(folder: Path) -> None:
    """Remove what killed orchestrators of other workspaces left long ago; a young one may be about to listen."""
    for other in folder.glob("*.sock"):
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            if time.time() - other.stat().st_mtime > _OLD_SECONDS:
                probe.setblocking(False)
                try:
                    probe.connect(os.fspath(other))
                except ConnectionRefusedError:
                    files.remove(other)
