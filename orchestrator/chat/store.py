"""chats/ of a space: finding a chat by its id, reading it, beginning a new one, adding lines."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...memory import files
from ...memory.exam.legible import led_out
from ...memory.guard import UnsafeFile, read_beneath
from ...memory.ids import shown
from ...memory.links import LinkLeadsOut
from ...memory.problem import Problem
from ...memory.workspace import Space
from ..errors import AmbiguousId, OrchestratorFault
from ..premises import append_line, own
from .lines import Begun, Line, parse_line, render_line
from .session import Session, session_of

LAST = "last"
_NAME = re.compile(r"\d{4}-\d{2}-\d{2}-[0-9a-z]{1,16}")
MOST_BYTES = 256 << 20
"""The most bytes of a chat that are read."""


class NoSuchChat(OrchestratorFault):
    """Raised when a space has no chat of this id."""

    exit_code = 2

    def __init__(self, session: str, latest: Sequence[str]) -> None:
        known = f"the latest are {', '.join(latest)}" if latest else "there is none yet"
        super().__init__(f"chat {shown(session)}: not in this space; {known}", hint="onepen chat")


class ChatUnreadable(OrchestratorFault):
    """Raised when a chat's file is none any more: its first line, which holds the prompt, can't be read."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}, so this chat can't go on; the file stays as it is", hint="onepen chat")


@dataclass(frozen=True)
class Chats:
    """The chats of one space."""

    space: Space

    def ids(self) -> tuple[str, ...]:
        """All ids, oldest first; by the time of their last line within a day."""
        folder = own(self.space, "chats")
        try:
            found = [path for path in folder.iterdir() if path.suffix == ".jsonl" and _NAME.fullmatch(path.stem)]
        except (FileNotFoundError, NotADirectoryError):
            return ()
        plain = [path for path in found if path.is_file() and not path.is_symlink()]
        return tuple(path.stem for path in sorted(plain, key=lambda p: (p.stat().st_mtime_ns, p.stem)))

    def find(self, session: str) -> str:
        """The id that is meant; "last" is the one used last. Raises NoSuchChat or AmbiguousId."""
        known = self.ids()
        if session == LAST and known:
            return known[-1]
        found = [id_ for id_ in known if id_ == session] or [
            id_ for id_ in known if session and (id_.startswith(session) or id_.endswith(f"-{session}"))
        ]
        if not found:
            raise NoSuchChat(session, known[-5:])
        if len(found) > 1:
            raise AmbiguousId("chat", session, tuple(found))
        return found[0]

    def shown(self, session: str) -> str:
        """The workspace path of a chat's file."""
        return self.space.path(f"chats/{session}.jsonl")

    def load(self, session: str) -> tuple[Session, tuple[Problem, ...]]:
        """A chat and what of it can't be read; raises ChatUnreadable or LinkLeadsOut."""
        path = self.shown(session)
        try:
            data = read_beneath(own(self.space, "chats"), f"{session}.jsonl", max_bytes=MOST_BYTES)
        except UnsafeFile as e:
            raise ChatUnreadable(path, e.message) from e
        rows = data.decode(errors="replace").split("\n")
        lines = [(number, parse_line(row)) for number, row in enumerate(rows, 1) if row.strip()]
        found = session_of(line for _, line in lines if line is not None)
        if found is None or lines[0][1] is None:
            raise ChatUnreadable(path, "its first line, the prompt as it is sent, can't be read")
        lost = [number for number, line in lines[:-1] if line is None]
        problems = [Problem(path, n, "chat_line_unreadable", "warning", "a line that can't be read") for n in lost]
        return found, tuple(problems)

    def begin(self, begun: Begun) -> Session:
        """A new chat's file; raises FileExistsError for an id that is taken."""
        files.create_exclusive(self._path(begun.session), (render_line(begun) + "\n").encode(), sync=True)
        return Session(begun)

    def add(self, session: Session, *lines: Line) -> Session:
        """The chat with more lines, each synced when this returns."""
        for line in lines:
            append_line(self._path(session.id), render_line(line))
        return session.plus(*lines)

    def _path(self, session: str) -> Path:
        folder = own(self.space, "chats")
        files.make_folder(folder, within=self.space.root)
        return folder / f"{session}.jsonl"


def damaged(space: Space) -> Iterator[Problem]:
    """The chats of a space whose first line, the prompt, can't be read: they can't go on."""
    chats = Chats(space)
    try:
        ids = chats.ids()
    except LinkLeadsOut as e:
        yield led_out(e)
        return
    for id_ in ids:
        path = space.root / chats.shown(id_)
        try:
            with path.open("rb") as file:
                begun = b'"kind": "begun"' in file.read(64)
        except OSError as e:
            yield Problem(chats.shown(id_), 0, "chat_unreadable", "warning", e.strerror or "can't be read")
            continue
        if not begun:
            message = "its first line is no beginning of a chat, so it can't go on; what was said can still be read"
            yield Problem(chats.shown(id_), 1, "chat_damaged", "warning", message)
