"""What came of keeping cards in order, as values."""

from dataclasses import dataclass

from .results import Json


@dataclass(frozen=True)
class RenameResult:
    """The answer of `rename`: the commit and the workspace-relative paths that it touched.

    `mentions` are places (path:line) that name the card as it was called, `drafts` those that wait and are for it.
    With `dry_run` nothing was written, and `commit` is None.
    """

    commit: str | None
    paths: tuple[str, ...]
    mentions: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    dry_run: bool = False

    def as_json(self) -> Json:
        told: Json = {"commit": self.commit, "paths": list(self.paths), "mentions": list(self.mentions)}
        return {**told, "drafts": list(self.drafts), "dry_run": self.dry_run}
