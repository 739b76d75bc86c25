"""How git stands to memory, as `status` shows it: `.onepen/mirror.json`, written when that changes.

It also remembers what the person was told, so that each trouble is told once, by whichever command comes first.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ...memory import files
from ...memory.errors import MemoryFault
from ...memory.room import ROOM, read_room_file

NOTE = f"{ROOM}/mirror.json"


@dataclass(frozen=True)
class MirrorView:
    """Whether git follows; `problem` says why it doesn't, `since` (ISO 8601) from when on it has been so."""

    problem: str | None
    since: str

    def as_json(self) -> Mapping[str, object]:
        return asdict(self)


def read_mirror(root: Path) -> MirrorView | None:
    """How git stands to the workspace in `root`; None where there is no mirror."""
    try:
        found = json.loads(read_room_file(root, NOTE))
        problem = found["problem"]
        return MirrorView(None if problem is None else str(problem), str(found["since"]))
    except (OSError, ValueError, TypeError, KeyError, MemoryFault):
        return None


def note_mirror(root: Path, view: MirrorView) -> None:
    """Write it down; raises an OSError."""
    data = json.dumps(view.as_json(), ensure_ascii=False).encode() + b"\n"
    files.replace(root / NOTE, data, tmp=".mirror.json.new.tmp", disk=files.NO_LINKS)


def forget_mirror(root: Path) -> None:
    """There is no mirror any more; raises an OSError."""
    files.remove(root / NOTE)
