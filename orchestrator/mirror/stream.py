"""Commits of git as the stream that `git fast-import` reads: one process for any number of them. Pure.

fast-import opens no file of the work tree, asks no filter and runs no hook; it walks only the trees on the way to what
changes. The stream names no branch of the person's: at its end the objects are there and nothing points to them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

_REF = "refs/onepen/mirror"  # gone again by the end of the stream


@dataclass(frozen=True)
class File:
    """A file as it is to be in a commit."""

    mode: str
    data: bytes


@dataclass(frozen=True)
class Step:
    """One commit of git: what it says, when it was done, and its files; None for one that is removed."""

    message: str
    when: datetime
    files: Mapping[str, File | None]


def stream(steps: Sequence[Step], parent: str, who: str, now: datetime) -> bytes:
    """Commits one upon the other, the first upon `parent`; `who` is "Name <address>". The last one's name is printed.

    Times have an offset.
    """
    parts: list[bytes] = []
    for number, step in enumerate(steps, start=1):
        parts.append(
            f"commit {_REF}\nmark :{number}\nauthor {who} {_time(step.when)}\ncommitter {who} {_time(now)}\n".encode()
        )
        parts.append(_data(step.message.encode()))
        if number == 1:
            parts.append(f"from {parent}\n".encode())
        for path, file in step.files.items():
            if file is None:
                parts.append(b"D %s\n" % _quoted(path))
            else:
                parts.append(b"M %s inline %s\n" % (file.mode.encode(), _quoted(path)))
                parts.append(_data(file.data))
        parts.append(b"\n")
    parts.append(f"get-mark :{len(steps)}\nreset {_REF}\nfrom {'0' * len(parent)}\n\ndone\n".encode())
    return b"".join(parts)


def _data(data: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(data), data)


def _quoted(path: str) -> bytes:
    """A path as fast-import takes any: in quotes, whatever its characters."""
    raw = path.encode("utf-8", "surrogateescape")
    escaped = raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + escaped + b'"'


def _time(when: datetime) -> str:
    return f"{int(when.timestamp())} {when:%z}"
