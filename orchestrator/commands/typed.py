"""What a person typed in chats of one space, kept between them: for the arrow keys, and for nothing else.

It lies in the person's state folder, not in the workspace: it doesn't travel, and no model is sent it. Each client has
a file of their own, so that no arrow key brings the words for one to another. A line with a secret in it is not kept.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...memory import files

if TYPE_CHECKING:
    from ...staging.secret import Held

MOST = 1000
"""Lines that are offered again."""
_MOST_BYTES = 4 << 20
_VERSION = 1


def typed_file(workspace: str, client: str | None) -> Path:
    """Where the lines for a space lie; it need not exist. The house's name is no id, so no client has it."""
    from platformdirs import user_state_path

    return user_state_path("onepen") / "typed" / workspace / f"{client or '_house'}.jsonl"


def forget(workspace: str, client: str) -> None:
    """Removes what was typed for a client who is gone; that it can't be removed is no error."""
    with suppress(OSError):
        files.remove(typed_file(workspace, client))


class Typed:
    """The lines in one file, oldest first.

    `held` are credentials to look out for. A file that can't be read has no lines; what can't be written is forgotten.
    """

    def __init__(self, path: Path, held: "Held | None" = None) -> None:
        self._path = path
        self._held = held
        self._last = ""

    def lines(self) -> tuple[str, ...]:
        """The latest thousand; a file that has grown far beyond is cut to them."""
        try:
            data = self._path.read_bytes()
        except OSError:
            return ()
        found = tuple(_read(data.decode(errors="replace")))[-MOST:]
        self._last = found[-1] if found else ""
        if len(data) > _MOST_BYTES:
            self._shorten(found)
        return found

    def add(self, line: str) -> None:
        """Keeps a line, unless it is the same as the last one or holds a secret."""
        from ...staging.secret import secrets_in

        if (
            not line.strip()
            or line == self._last
            or any(one.level == "block" for one in secrets_in(line, self._held or {}))
        ):
            return
        self._last = line
        with suppress(OSError):
            files.make_folder(self._path.parent, within=None)
            files.append_record(self._path, _record(line), sync=False)

    def _shorten(self, kept: tuple[str, ...]) -> None:
        with suppress(OSError):
            files.replace(self._path, "".join(f"{_record(line)}\n" for line in kept).encode())


def _record(line: str) -> str:
    return json.dumps({"v": _VERSION, "text": line})


def _read(text: str) -> Iterator[str]:
    for row in filter(str.strip, text.split("\n")):
        try:
            found = json.loads(row)
        except (ValueError, RecursionError):
            continue
        match found:
            case {"v": 1, "text": str(line)}:
                yield line
