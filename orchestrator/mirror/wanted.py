"""Whether the person wants a mirror of a workspace: asked of their own config at each commit, and of nothing else.

A word that they write there counts from the next commit on, also for an orchestrator that has run for hours.
"""

from collections.abc import Callable
from pathlib import Path

from ..settings.place import config_file
from .errors import ConfigUnclear


class Wanted:
    """Answers for the workspace of one id; the config is read again when its file is another one."""

    def __init__(self, workspace: str, file: Callable[[], Path] = config_file) -> None:
        self._workspace = workspace
        self._file = file
        self._seen: tuple[int, int, int] | None = None
        self._said = False

    def __call__(self) -> bool:
        """Raises ConfigUnclear."""
        path = self._file()
        try:
            found = path.stat()
        except OSError:
            self._seen = None
            return False
        seen = (found.st_mtime_ns, found.st_size, found.st_ino)
        if seen != self._seen:
            self._said = self._read(path)
            self._seen = seen
        return self._said

    @property
    def perhaps(self) -> bool:
        """The same, and True where nobody can tell."""
        try:
            return self()
        except ConfigUnclear:
            return True

    def _read(self, path: Path) -> bool:
        from ..settings.config import ConfigUnreadable, load_config

        try:
            config = load_config(path)
        except ConfigUnreadable as e:
            raise ConfigUnclear(e.message) from e
        return config is not None and config.git.mirrors(self._workspace)
