"""What the pen does around the commit point: new versions are laid before it, and brought into their places behind."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .. import files
from ..problem import Problem
from . import laid
from .group import Group
from .place import check_places
from .record import Addition, FileChange, Removal, Rewrite
from .recovery import Rollforward, follow
from .removal import take_out


@dataclass(frozen=True)
class Stroke:
    """The files of a group with their places: what is in those that are replaced, and what is to be.

    `tags` name the temporary files, where it isn't by the last commit.
    """

    root: Path
    tag: str
    changes: tuple[FileChange, ...]
    places: tuple[Path, ...]
    stood: Mapping[str, bytes]
    contents: Mapping[str, bytes]
    tags: Mapping[str, str]

    @classmethod
    def of(cls, root: Path, group: Group) -> "Stroke":
        """Raises what keeps a file from being written where it lies: LinkLeadsOut, PlaceUnfit or an OSError."""
        changes, contents = group.files(), group.contents()
        places = check_places(root, changes, contents)
        return cls(root, group.commits[-1].id, changes, tuple(places), group.stood(), contents, group.tags)

    def lay(self, disk: files.Disk) -> laid.Laid:
        """Lay what is replaced beside the old; raises OSError, then nothing is left."""
        placed = list(zip(self.changes, self.places, strict=True))
        return laid.lay(self.root, self.tag, placed, self.contents, disk, self.tags)

    def bring(self, beside: laid.Laid, done: Rollforward, disk: files.Disk) -> None:
        """Bring every change into its file; where another program got in between, its version stays. Raises OSError."""
        for change, real in zip(self.changes, self.places, strict=True):
            done.touched.add(real)
            tag = self.tags.get(change.path, self.tag)
            try:
                self._bring(change, real, tag, done, disk, beside.places.get(change.path))
            except files.FileMovedOn:
                follow(self.root, change.path, [(tag, change)], done, disk)

    def _bring(
        self, change: FileChange, real: Path, tag: str, done: Rollforward, disk: files.Disk, laid: Path | None
    ) -> None:
        match change:
            case Addition():
                files.make_folder(real.parent, within=self.root, disk=disk)
                files.append(real, change.due, expect_size=change.at, disk=disk)
            case Removal():
                take_out(self.root, change.path, tag=tag, before=change.before, disk=disk)
            case Rewrite():
                _tell_names(change, real, done)
                if laid is not None:
                    files.swap_in(laid, real, before=change.before, stood=self.stood.get(change.path), disk=disk)
                else:
                    tmp = files.tmp_name(real.name, tag)
                    files.make_folder(real.parent, within=self.root, disk=disk)
                    files.swap(real, self.contents[change.path], tmp=tmp, before=change.before, disk=disk)


def _tell_names(change: Rewrite, real: Path, done: Rollforward) -> None:
    """A swap gives one name another file: whoever made hard links has to know."""
    with suppress(OSError):
        if change.before is not None and (names := real.stat().st_nlink) > 1:
            message = f"has {names} names (hard links); this one has the new text, the others keep the old one"
            done.problems.append(Problem(change.path, 0, "hard_link", "info", message))
