"""Replies on the disk: one file for each Message Batch, `replies/<batch>.jsonl`, a line for each request it answered.

A file counts once the journal says that it is stored; one that was begun and not finished is written anew.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import anyio.to_thread

from ...memory import files
from ...subagents.model import ModelReply
from ..premises import append_bytes, sync_aside
from ..tasks.transcript import reply_dict, reply_of
from .events import Item

VERSION = 1
_AT_ONCE = 1 << 20  # bytes that are kept before they are written
_MOST = 1 << 28  # bytes of a reply


class Replies:
    """The folder of replies of one batch of tasks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def begin(self, batch: str) -> "Filing":
        """A new file for the replies of a Message Batch, in the place of one that was left unfinished."""
        return Filing(self._folder / f"{batch}.jsonl")

    def reply(self, batch: str, item: Item) -> ModelReply | None:
        """The reply that an item tells of; None where the file is gone, or isn't what was written."""
        try:
            fd = os.open(self._folder / f"{batch}.jsonl", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            line = json.loads(os.pread(fd, min(item.size, _MOST), item.at))
        except (OSError, ValueError, RecursionError):
            return None
        finally:
            os.close(fd)
        if not isinstance(line, Mapping) or line.get("v") != VERSION or line.get("request") != item.id:
            return None
        return reply_of(line)


class Filing:
    """A file of replies that is being written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept = bytearray()
        self._size = 0
        files.remove(path, disk=files.NO_LINKS)

    async def add(self, name: str, reply: ModelReply) -> tuple[int, int]:
        """Takes a reply; says at which byte it stands, and how long it is."""
        text = json.dumps({"v": VERSION, "request": name, **reply_dict(reply)}, ensure_ascii=False)
        line = text.encode(errors="replace") + b"\n"
        at = self._size
        self._kept += line
        self._size += len(line)
        if len(self._kept) >= _AT_ONCE:
            await self._write()
        return at, len(line)

    async def keep(self) -> None:
        """Waits until all of it is on the disk; raises an OSError."""
        await self._write()
        if self._size:
            await sync_aside((self._path, self._path.parent))

    async def _write(self) -> None:
        data, self._kept = bytes(self._kept), bytearray()
        if data:
            await anyio.to_thread.run_sync(append_bytes, self._path, data)
