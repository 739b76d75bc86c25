"""The drafts folder of an attempt, as the worker writes it: files under checked names, none of them with a secret."""

from pathlib import Path

from ...memory import files
from ...memory.guard import UnsafeFile, read_beneath
from ...memory.ids import shown
from ...staging.draft import MAX_BYTES, Draft, parse_draft
from ...staging.secret import secrets_in
from .draftname import draft_name
from .toolinput import ToolRefused


class DraftsFolder:
    """The folder at `path`; `names` are the drafts written by this worker, in order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.names: list[str] = []

    def write(self, name: str, data: bytes) -> bool:
        """Write a file; False if it holds these bytes already. Raises ToolRefused."""
        if len(data) > MAX_BYTES:
            raise ToolRefused(f"{name}: it would have {len(data):,} bytes, a draft has at most {MAX_BYTES:,}; split it")
        if self.read(name) == data:
            return False
        for seen in secrets_in(data.decode(errors="replace")):
            if seen.level == "block":
                raise ToolRefused(f"{name}: it holds {seen.kind}, so it was not written; keep its name, not its value")
        files.replace(self._path / name, data)
        return True

    def read(self, name: str) -> bytes | None:
        """What a file of the folder holds, None if it is not there; raises ToolRefused."""
        try:
            return read_beneath(self._path, name, max_bytes=MAX_BYTES)
        except UnsafeFile as e:
            if e.kind == "missing":
                return None
            raise ToolRefused(f"draft {e.message}; choose another name") from e

    def draft(self, name: str) -> Draft:
        """A draft as it can be read; raises ToolRefused."""
        raw = self.read(name)
        if raw is None:
            raise ToolRefused(f"draft {shown(name)}: not there any more; write it again")
        draft = parse_draft(name, raw, self.read)
        if not isinstance(draft, Draft):
            raise ToolRefused(f"draft {shown(name)}: {draft[0].message}; write it again")
        return draft

    def existing(self, name: str) -> str:
        """The name of a draft of this worker that a model means; raises ToolRefused."""
        own = self.name(name)
        if own in self.names:
            return own
        listed = ", ".join(self.names) or "none yet; use write_draft"
        raise ToolRefused(f"draft {shown(name)}: not a draft of this task; drafts: {listed}")

    def name(self, wanted: str) -> str:
        """The name wanted, or that of a draft which differs from it only in case; raises ToolRefused."""
        name = draft_name(wanted)
        return next((one for one in self.names if one.lower() == name.lower()), name)
