"""What one worker may touch: a value that is decided here, and carried out in the worker's process (confine.py)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ..assignment import Assignment

_FOLDERS = ("read", "write", "work", "programs", "private")
_SHELVES = ("projects", "research")
_PRIVATE = (*_SHELVES, "memory", "chats", "staging", "logs", "agents", "clients")
_SPARE_SECONDS = 60


@dataclass(frozen=True)
class Confinement:
    """What one worker may touch. Folders are absolute, and it is folders that are named: a rule on a file is dead after
    a rename. One that is missing is left out.

    `read` is the worker's to read; `write` holds plain files that it makes, changes and removes; `work` is all its own,
    with folders, links and programs to run; `programs` it reads and runs (these may be files). No folder that a worker
    needs of the system may hold one of `private`. With `commands` it may start programs at all, and gets the system's.

    The rest are limits of the kernel (setrlimit(2)), each for one process: the largest file, memory of its own,
    processor time, open files; `processes` is how many it may add to those of its user.
    """

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    work: tuple[Path, ...] = ()
    programs: tuple[Path, ...] = ()
    private: tuple[Path, ...] = ()
    commands: bool = False
    file_bytes: int = 64 << 20
    memory_bytes: int = 4 << 30
    cpu_seconds: int = 600 + _SPARE_SECONDS
    open_files: int = 256
    processes: int = 256

    def as_dict(self) -> dict[str, Any]:
        """For JSON; `from_dict` is the way back."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**plain, **{name: [str(path) for path in plain[name]] for name in _FOLDERS}}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "Confinement":
        """What `as_dict` gave; raises TypeError for a field that isn't one."""
        return cls(**{**given, **{name: tuple(map(Path, given[name])) for name in _FOLDERS}})


def confinement_of(assignment: Assignment) -> Confinement:
    """What the worker of this attempt needs, and no more."""
    commands = assignment.commands or bool(assignment.program)
    shelves = (assignment.space / shelf for shelf in _SHELVES)
    return Confinement(
        read=(assignment.snapshot, *shelves, assignment.inputs_folder),
        write=(assignment.drafts_folder,),
        work=(assignment.work_folder,) if commands else (),
        programs=tuple(Path(part) for part in assignment.program if Path(part).is_absolute()),
        private=private(assignment.space),
        commands=commands,
        cpu_seconds=round(assignment.limits.seconds) + _SPARE_SECONDS,
    )


def exposed(readable: Iterable[Path], confinement: Confinement) -> tuple[Path, Path] | None:
    """A folder of the system that holds a private one, and that one; both sides without links."""
    places = [(f"{path}/", path) for path in confinement.private]
    for folder in readable:
        beginning = f"{folder}".rstrip("/") + "/"
        for text, path in places:
            if text.startswith(beginning):
                return folder, path
    return None


def private(space: Path) -> tuple[Path, ...]:
    """The folders of a space, and of the workspace that it belongs to, which only their own workers may look into."""
    return tuple(root / name for root in _roots(space) for name in _PRIVATE)


def _roots(space: Path) -> tuple[Path, ...]:
    """A space, and the workspace that it belongs to."""
    return (space, space.parents[1]) if space.parent.name == "clients" else (space,)
