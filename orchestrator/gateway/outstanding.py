"""Model calls that are out, in `.onepen/calls/`: so that a cap also holds over the death of the process.

A call that costs something has a line before it is made, and another when it is back. A process that is killed in
between can't say what its calls cost, and the server may want them paid all the same. The next orchestrator books each
of them as lost, with the most that it may have cost: what was set aside for it.

Each process has a file of its own and holds a lock on it for its life, so nobody takes a live one's calls for lost. The
lines are not synced: they have to outlast a process, and a power cut takes the last moment of them at most.
"""

import fcntl
import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...memory import files
from ...memory.guard import UnsafeFile, read_beneath
from .account import Account, Amount

FOLDER = ".onepen/calls"
_MOST = 16 << 20
_LONG = 256 << 10  # of a file whose calls are all back


@dataclass(frozen=True)
class Out:
    """A call that nobody saw come back; `number` is its own for ever, `most` is what was set aside for it."""

    number: int
    client: str | None
    purse: str
    agent: str
    model: str
    most: Amount


class Outstanding:
    """The calls of this process; nothing is kept of them where `root` is None. The file is made with the first."""

    def __init__(self, root: Path | None) -> None:
        self._root = root
        self._fd: int | None = None
        self._path = Path()
        self._out: set[int] = set()

    def leaves(self, account: Account, model: str, most: Amount) -> int:
        """Notes that a call is made, and gives its number; raises OSError, and then it may not be made."""
        number = secrets.randbits(53)
        call = Out(number, account.client, account.purse, account.agent, model, most)
        self._add({"out": {**vars(call), "most": vars(most)}})
        self._out.add(number)
        return number

    def returns(self, number: int) -> None:
        """Notes that a call is back and its cost known to whoever made it."""
        self._out.discard(number)
        with suppress(OSError):  # its line stays: it is booked once too often rather than never
            self._add({"back": number})
            if self._fd is not None and not self._out and os.fstat(self._fd).st_size > _LONG:
                self.close()

    def close(self) -> None:
        """Takes the file away; nothing may be out. The next call begins another."""
        if self._fd is not None:
            with suppress(OSError):
                files.remove(self._path)
            os.close(self._fd)
            self._fd = None

    def _add(self, line: dict[str, object]) -> None:
        if self._root is None:
            return
        while self._fd is None:
            self._fd = self._begun(self._root)
        os.write(self._fd, json.dumps(line).encode() + b"\n")

    def _begun(self, root: Path) -> int | None:
        """A new file, locked; None where another process took it for abandoned in between, and removed it."""
        files.make_folder(root / FOLDER, within=root)
        self._path = root / FOLDER / f"{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        fd = files.open_log(self._path, most=_MOST)
        with suppress(BlockingIOError):  # another process is looking whether it is locked
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if files.same_file(fd, self._path):
                return fd
        os.close(fd)
        return None


class Unstored:
    """Replies that have come and are not on the disk yet: a kill would lose them, so their calls still count as out."""

    def __init__(self) -> None:
        self._back: list[Callable[[], None]] = []

    def add(self, back: Callable[[], None]) -> None:
        """One more; `back` notes that its call is back."""
        self._back.append(back)

    def stored(self) -> None:
        """All of them are on the disk by now."""
        for back in self._back:
            back()
        self._back.clear()


def left_behind(root: Path) -> Iterator[tuple[Path, tuple[Out, ...]]]:
    """The files of processes that are gone, each with the calls that were out; who has booked them removes the file."""
    folder = root / FOLDER
    for path in sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else ():
        try:
            if _alive(path):
                continue
            data = read_beneath(folder, path.name, max_bytes=_MOST)
        except (UnsafeFile, OSError):
            continue
        yield path, tuple(_still_out(data))


def _alive(path: Path) -> bool:
    """Whether the process that writes this file holds its lock."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _still_out(data: bytes) -> Iterator[Out]:
    found: dict[int, Out] = {}
    for text in data.split(b"\n"):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            continue
        match line:
            case {"back": int(number)}:
                found.pop(number, None)
            case {"out": {"number": int(number), "purse": str(purse), "most": {"usd": usd, "tokens": int(tokens)}}}:
                call = line["out"]
                client = call.get("client")
                most = Amount(float(usd) if isinstance(usd, int | float) else 0.0, tokens)
                found[number] = Out(
                    number,
                    client if isinstance(client, str) else None,
                    purse,
                    str(call.get("agent", "")),
                    str(call.get("model", "")),
                    most,
                )
    yield from found.values()
