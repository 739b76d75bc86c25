"""The files of a workspace as a commit is worked out from them."""

import os
from collections.abc import Mapping
from pathlib import Path

from ..index.blocks import Blocks
from ..links import resolve
from ..view import UnreadableText, file_names, open_file, read_file

_LARGE = 2 << 10


class Standing:
    """The files of a workspace as they stand on the disk; `compose.Source` says what each method gives."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._asked: set[str] = set()
        self._blocks: dict[str, Blocks] = {}

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

    def blocks(self, path: str) -> Blocks | None:
        """A large index that is asked for again, in its blocks, which are kept until its file is another one."""
        data = self.read(path)
        if data is None or len(data) < _LARGE or path not in self._asked:
            self._asked.add(path)
            return None
        kept = self._blocks.get(path)
        if kept is None or kept.data != data:
            kept = Blocks.of(data)
        if kept is not None:
            self._blocks[path] = kept
        return kept

    def keep(self, blocks: Mapping[str, Blocks]) -> None:
        """Take in what indexes were made."""
        self._blocks.update(blocks)

    def names(self, folder: str) -> set[str]:
        return file_names(self._root, folder)
