"""Examines a workspace: each thing that a person should put right, as one line with file, line and cause.

Nothing is written and nothing is deleted here. What can't be read is a problem like any other and doesn't keep
the rest from being examined; only damage in the redo log ends it, since then nobody can say what the files should be.
"""

import os
from collections.abc import Iterator, Mapping

from ..commit.machine import read_counters
from ..commit.place import unsettled
from ..commit.settle import Chains
from ..history import Commit
from ..holder import holder
from ..ids import CardId
from ..links import LinkLeadsOut, resolve
from ..problem import Problem
from ..room import REDO_LOG, ROOM, RoomUnfit, inspect_room
from ..target import Shelf
from ..tombstone import Tombstone, tombstones
from ..view import UnreadableText, View, read_file
from ..workspace import SHELVES, SYNTHESIS, Space
from .agents import agent_problems
from .chronicle import Chronicle
from .git import git_problems
from .leftover import without_writing, work_leftovers
from .legible import judged, names_in, without_path
from .lint import note_problems
from .names import is_left, name_problems
from .shelf import ShelfExam
from .sizes import layer_problems
from .whole import folder_problems, lost_files, lost_history, room_problem

HOUSE_NOTES = ("RULES.md", "OPS.md", "AGENTS.md", "SOUL.md", "USER.md", "BRIEF.md", "MEMORY.md")
CLIENT_NOTES = ("PERSONA.md", "USER.md", "OPS.md", "BRIEF.md", "MEMORY.md")


def examine(view: View, *, tools: int = 0) -> tuple[Problem, ...]:
    """All problems of a workspace, by path and line; `tools` are the tokens of a chat's tools. Raises RedoDamaged."""
    room = _room(view)
    if room is not None:
        view = _Roomless(view.workspace)
    found = sorted(_problems(view, tools), key=lambda p: (p.path, p.line, p.kind, p.message))
    if room is not None:
        found.insert(0, room)
    return tuple(without_writing(view, found, held=_held(view)))


def _problems(view: View, tools: int) -> Iterator[Problem]:
    root = view.workspace.root
    # Read first: commits that are made meanwhile are in logs that are read later.
    counters = None if isinstance(view, _Roomless) else read_counters(view.workspace.machine_room)
    yield from _pending(view)
    yield from name_problems("", [n for n in names_in(root) if is_left(n)])
    yield from git_problems(view)
    yield from _clients(view)
    yield from agent_problems(view)
    every: list[Commit] = []
    for space in view.workspace.spaces():
        yield from folder_problems(space)
        yield from _notes(view, space)
        shelves = {shelf: ShelfExam(view, space, shelf) for shelf in SHELVES}
        for shelf in shelves.values():
            yield from shelf.problems()
        yield from _twice(space, shelves)
        chronicle = Chronicle(view, space)
        yield from chronicle.problems()
        every += chronicle.commits
        indexes = {shelf: exam.index for shelf, exam in shelves.items()}
        pending = frozenset(view.pending_paths())  # what is being written may be not there yet
        yield from lost_files(space, chronicle.commits, indexes, chronicle.sealed, pending)
        yield from layer_problems(view, space, tools)
        yield from work_leftovers(space)
    if counters is not None:
        yield from lost_history(view.workspace, every, counters.sequence)


def _pending(view: View) -> Iterator[Problem]:
    refused = view.refused()
    if refused is not None:
        yield Problem(REDO_LOG, 0, "redo_foreign", "error", without_path(refused))
    waiting = len(view.pending_paths())
    if waiting and not _held(view):  # while a pen is held, that is how it works
        message = f"commits that touch {waiting} files are not settled yet; the next command that writes does it"
        yield Problem(REDO_LOG, 0, "commit_pending", "info", message)
        for path in view.pending_paths():
            reason = _unsettled(view, path)
            if reason is not None:
                message = f"a commit that stands can't be finished, and nothing else be written: {reason}"
                yield Problem(path, 0, "commit_unsettled", "error", message)


def _unsettled(view: View, path: str) -> str | None:
    """Why the file at `path` can't be brought to where a pending commit says; None if it can, or is there."""
    root = view.workspace.root
    try:
        if resolve(root, path).is_dir():  # reads as absent, but nothing can be written there
            return unsettled(root, path, whole=True)
        now = read_file(root, path)
        due = view.bytes(path)
    except LinkLeadsOut:
        return None  # it is passed over, and told of
    except UnreadableText as e:
        return e.message
    except OSError as e:
        return f"{path}: {e.strerror}"
    if due == now:
        return None
    return unsettled(root, path, whole=due is None or not due.startswith(now or b""))


def _room(view: View) -> Problem | None:
    """Why the machine's own folder can't be read; raises RedoDamaged."""
    problem = room_problem(view.workspace)
    if problem is not None:
        return problem
    try:
        view.pending_paths()
        inspect_room(view.workspace.root)
        holder(view.workspace.root)
        read_counters(view.workspace.machine_room)
    except RoomUnfit as e:
        return Problem(e.path, 0, "room_unfit", "error", without_path(e))
    except OSError as e:
        return Problem(os.fsdecode(e.filename or ROOM), 0, "room_unfit", "error", f"can't be read: {e.strerror}")
    return None


def _held(view: View) -> bool:
    return not isinstance(view, _Roomless) and holder(view.workspace.root) is not None


class _Roomless(View):
    """The files as they stand, where the machine's own folder can't be read."""

    def _chains(self) -> Chains:
        return Chains()


def _notes(view: View, space: Space) -> Iterator[Problem]:
    for name in (*(HOUSE_NOTES if space.client is None else CLIENT_NOTES), SYNTHESIS):
        path = space.path(name)
        yield from judged(view, path, note_problems)


def _clients(view: View) -> Iterator[Problem]:
    folder = view.workspace.root / "clients"
    names = [name for name in names_in(folder) if not name.startswith(".")]
    yield from name_problems("clients/", names, ending="")
    gone: Mapping[str, Tombstone] = {str(client): stone for client, stone in tombstones(view.workspace.root).items()}
    for name in names:
        if (stone := gone.get(name)) is not None:
            message = (
                f"this client was removed on {stone.time[:10]}, and files of it are there again, as after a merge: "
                "nobody reads them, and the next command that writes removes them"
            )
            yield Problem(f"clients/{name}", 0, "client_removed", "warning", message)
        elif (folder / name).is_symlink():
            message = "a client's folder must be a folder, not a link: it is not read"
            yield Problem(f"clients/{name}", 0, "client_is_link", "error", message)


def _twice(space: Space, shelves: dict[Shelf, ShelfExam]) -> Iterator[Problem]:
    for card in sorted(shelves["projects"].cards.keys() & shelves["research"].cards.keys()):
        message = f"project and finding have the same id {card}: rename one"
        yield Problem(space.card_path("research", CardId(card)), 0, "id_twice", "error", message)
