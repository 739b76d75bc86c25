"""The files of a workspace as a commit is worked out from them."""

import os
from pathlib import Path

from ..links import resolve
from ..view import UnreadableText, file_names, open_file, read_file


class Standing:
    """The files of a workspace as they stand on the disk; `compose.Source` says what each method gives."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, path: str) -> bytes | None:
        found = read_file(self._root, path)
        if found is None and resolve(self._root, path).is_dir():
            raise UnreadableText(path, "this is a folder, and a file should be here")
        return found

    def end(self, path: str) -> tuple[int, bool]:
        fd = open_file(self._root, path)
        if fd is None:
            return 0, True
        with os.fdopen(fd, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            if not size:
                return 0, True
            file.seek(-1, os.SEEK_END)
            return size, file.read(1) == b"\n"

    def names(self, folder: str) -> set[str]:
        return file_names(self._root, folder)
