"""Clients that were removed for good: one line each in the house's `logs/tombstones.jsonl`, which travels.

    {"v":1,"client":"acme","time":"2026-11-30T14:05:00+01:00","who":"user:ana","commit":"c42-k3x9ab"}

A tombstone is stronger than files. Where a merge brings files of the client back, nobody reads them, and the next
command that writes removes them again. Its id is taken for ever; a person who wants it back takes the line out.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from .guard import UnsafeFile, read_beneath
from .ids import BadId, ClientId
from .links import LinkLeadsOut, resolve

TOMBSTONES = "logs/tombstones.jsonl"
VERSION = 1
_MOST = 4 << 20


@dataclass(frozen=True)
class Tombstone:
    """Who removed a client and when (ISO 8601 with its offset), as the house's commit `commit`."""

    client: ClientId
    time: str
    who: str
    commit: str


def tombstone_json(tombstone: Tombstone) -> str:
    """The tombstone as its line, without the newline."""
    return json.dumps({"v": VERSION, **asdict(tombstone)}, ensure_ascii=False, separators=(",", ":"))


def tombstones(root: Path) -> Mapping[ClientId, Tombstone]:
    """The removed clients of a workspace, each by its first tombstone; a line that is none is left to `doctor`."""
    try:
        real = resolve(root, TOMBSTONES)
        data = read_beneath(real.parent, real.name, max_bytes=_MOST, one_link=False)
    except (UnsafeFile, LinkLeadsOut, OSError):
        return {}
    found: dict[ClientId, Tombstone] = {}
    for line in data.decode(errors="replace").split("\n"):
        tombstone = parse_tombstone(line)
        if tombstone is not None:
            found.setdefault(tombstone.client, tombstone)
    return found


def parse_tombstone(line: str) -> Tombstone | None:
    """The tombstone in a line; None if it is none."""
    try:
        match json.loads(line):
            case {"v": 1, "client": str(client), "time": str(time), **rest}:
                return Tombstone(ClientId(client), time, str(rest.get("who", "")), str(rest.get("commit", "")))
    except (ValueError, RecursionError, BadId):
        pass
    return None
