"""Examines a workspace: each thing that a person should put right, as one line with file, line and cause.

Nothing is written and nothing is deleted here. What can't be read is a problem like any other and doesn't keep
the rest from being examined; only damage in the redo log ends it, since then nobody can say what the files should be.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ..commit.machine import read_counters
from ..commit.place import unsettled
from ..commit.settle import Chains
from ..files import being_written, is_tmp
from ..guard import UnsafeFile, list_beneath
from ..history import Commit, doubled_ids, parse_commits, same_change, sort_key, undone_of
from ..holder import holder
from ..ids import BadId, CardId, Id
from ..index.index import parse_index
from ..links import LinkLeadsOut, resolve
from ..problem import Problem
from ..room import REDO_LOG, ROOM, RoomUnfit
from ..target import Shelf
from ..text.daylog import Seal, check_seals, parse_seals
from ..text.document import parse_document
from ..view import UnreadableText, View, read_file
from ..workspace import SHELVES, Space
from .legible import judged, led_out, legible, names_in, without_path
from .lint import front_problems, note_problems, text_problems
from .names import is_left, name_problems
from .records import record_problems
from .shelf import ShelfExam, index_problems
from .whole import folder_problems, lost_files, lost_history, room_problem

HOUSE_NOTES = ("RULES.md", "OPS.md", "AGENTS.md", "SOUL.md", "USER.md", "BRIEF.md", "MEMORY.md")
_COMMIT = re.compile(r"c\d+-[0-9a-z]{6}")
MAX_TASK_FILES = 20_000
CLIENT_NOTES = ("PERSONA.md", "USER.md", "OPS.md", "BRIEF.md", "MEMORY.md")


def examine(view: View) -> tuple[Problem, ...]:
    """All problems of a workspace, by path and line; raises RedoDamaged."""
    room = _room(view)
    if room is not None:
        view = _Roomless(view.workspace)
    found = sorted(_problems(view), key=lambda p: (p.path, p.line, p.kind, p.message))
    if room is not None:
        found.insert(0, room)
    if any(problem.kind == "leftover" for problem in found) and _held(view):
        found = [problem for problem in found if problem.kind != "leftover"]  # a write that is going on
    elif view.refused() is not None or view.pending_commits():
        found = [problem for problem in found if problem.kind != "leftover" or not _needed(view, problem.path)]
    return tuple(found)


def _problems(view: View) -> Iterator[Problem]:
    root = view.workspace.root
    yield from _pending(view)
    yield from name_problems("", [n for n in names_in(root) if is_left(n)])
    yield from _clients(view)
    yield from _agents(view)
    every: list[Commit] = []
    for space in view.workspace.spaces():
        yield from folder_problems(space)
        yield from _notes(view, space)
        shelves = {shelf: ShelfExam(view, space, shelf) for shelf in SHELVES}
        for shelf in shelves.values():
            yield from shelf.problems()
        yield from _twice(space, shelves)
        history = _History()
        yield from _logs(view, space, history)
        every += history.commits
        indexes = {shelf: exam.index for shelf, exam in shelves.items()}
        if not _held(view):  # else what is being written may be not there yet
            yield from lost_files(space, history.commits, indexes, history.sealed)
        yield from _staging(space)
    if not isinstance(view, _Roomless) and not _held(view):
        yield from lost_history(view.workspace, every)


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


def _needed(view: View, path: str) -> bool:
    """Whether rolling forward looks at a temporary file: it may hold a person's save that was swapped out."""
    tag = path.removesuffix(".tmp").rpartition(".")[2]
    return tag in view.pending_commits() or (view.refused() is not None and _COMMIT.fullmatch(tag) is not None)


def _notes(view: View, space: Space) -> Iterator[Problem]:
    for name in HOUSE_NOTES if space.client is None else CLIENT_NOTES:
        path = space.path(name)
        yield from judged(view, path, note_problems)


def _agents(view: View) -> Iterator[Problem]:
    folder = view.workspace.root / "agents"
    names = names_in(folder)
    yield from name_problems("agents/", names)
    ids = [n[:-3] for n in names if n.endswith(".md") and _is_id(n[:-3])]
    if ids and "RULES.md" not in names:
        yield Problem(
            "agents/RULES.md", 0, "rules_missing", "warning", "sub-agents have no rules: onepen init . adds them"
        )
    text = legible(view, "agents/_index.md")
    if isinstance(text, Problem):
        yield text
        return
    registry = parse_index(text or "")
    for agent in ids:
        yield from judged(view, f"agents/{agent}.md", _definition_problems)
        if registry.card(agent) is None:
            message = f"{agent}.md has no block in the registry, so no agent knows of it"
            yield Problem(f"agents/{agent}.md", 0, "agent_unlisted", "error", message)
    yield from index_problems("agents/_index.md", registry, view.workspace.settings.limits.index_tokens)
    for block in registry.cards:
        if block.id not in ids:
            message = f"the registry has a block for {block.id}.md, which isn't there"
            yield Problem("agents/_index.md", block.line, "agent_missing", "error", message)


def _definition_problems(path: str, text: str) -> Iterator[Problem]:
    yield from text_problems(path, text)
    for problem in front_problems(path, parse_document(text)):
        # Definitions of other tools are often no strict YAML; they are then read line by line.
        yield replace(problem, level="warning")


def _clients(view: View) -> Iterator[Problem]:
    folder = view.workspace.root / "clients"
    names = [name for name in names_in(folder) if not name.startswith(".")]
    yield from name_problems("clients/", names, ending="")
    for name in names:
        if (folder / name).is_symlink():
            message = "a client's folder must be a folder, not a link: it is not read"
            yield Problem(f"clients/{name}", 0, "client_is_link", "error", message)


def _twice(space: Space, shelves: dict[Shelf, ShelfExam]) -> Iterator[Problem]:
    for card in sorted(shelves["projects"].cards.keys() & shelves["research"].cards.keys()):
        message = f"project and finding have the same id {card}: rename one"
        yield Problem(space.card_path("research", CardId(card)), 0, "id_twice", "error", message)


@dataclass
class _History:
    """What was read of a space's logs: its commits in their order, and the days that are sealed."""

    commits: list[Commit] = field(default_factory=list)
    sealed: set[str] = field(default_factory=set)


def _logs(view: View, space: Space, history: _History) -> Iterator[Problem]:
    for folder in ("memory", "logs"):
        try:
            names = names_in(resolve(space.root, space.path(folder)))
        except LinkLeadsOut as e:
            yield led_out(e)
            return
        yield from name_problems(space.path(f"{folder}/"), [n for n in names if is_left(n)])
    seals: list[Seal] = []
    commits: list[tuple[str, Commit]] = []
    for name in names:
        path = space.path(f"logs/{name}")
        text = legible(view, path) if name.endswith(".jsonl") else None
        if isinstance(text, Problem):
            yield text
            continue
        yield from record_problems(path, text or "") if text is not None else ()
        if text is not None and name.startswith("seals-"):
            seals += parse_seals(text)
        elif text is not None and name.startswith("commits-"):
            found, problems = parse_commits(text, path)
            yield from problems
            commits += [(path, commit) for commit in found]
    history.commits = sorted((commit for _, commit in commits), key=lambda commit: sort_key(commit.id))
    history.sealed = {seal.day for seal in seals}
    yield from doubled_ids(commits)
    yield from _keys(commits)
    yield from _days(view, space, seals)


def _staging(space: Space) -> Iterator[Problem]:
    """What a process that was killed left among the tasks; nothing there is opened for reading: workers write it."""
    folder = space.folder / "staging"
    for task in names_in(folder):
        if (folder / task).is_symlink() or not (folder / task).is_dir():
            continue
        try:
            paths = list_beneath(folder / task, max_files=MAX_TASK_FILES)
        except (UnsafeFile, OSError):
            continue  # whoever reads the task says so
        for path in paths:
            head, _, name = path.rpartition("/")
            if is_tmp(name) and not being_written(folder / task / path):
                yield from name_problems(space.path(f"staging/{task}/{head}/" if head else f"staging/{task}/"), [name])


def _days(view: View, space: Space, seals: list[Seal]) -> Iterator[Problem]:
    try:
        by_day: dict[str, list[Seal]] = {day.isoformat(): [] for day in view.days(space)}
    except OSError:
        return  # the folder itself is told of
    present = frozenset(by_day)
    for seal in seals:
        by_day.setdefault(seal.day, []).append(seal)
    for day, of_day in sorted(by_day.items()):
        path = space.path(f"memory/{day}.md")
        if day in present:
            yield from judged(view, path, _DayLog(of_day))
        else:
            yield from check_seals(path, "", of_day)


@dataclass(frozen=True)
class _DayLog:
    """Judges the log of a day that these seals were made of."""

    seals: list[Seal]

    def __call__(self, path: str, text: str) -> Iterator[Problem]:
        yield from text_problems(path, text)
        yield from check_seals(path, text, self.seals)


def _keys(commits: list[tuple[str, Commit]]) -> Iterator[Problem]:
    first: dict[str, Commit] = {}
    gone = undone_of(commit for _, commit in commits)
    for path, commit in commits:
        if commit.key is None or commit.id in gone:
            continue
        other = first.setdefault(commit.key, commit)
        if other.id == commit.id:
            continue
        if same_change(other, commit):
            message = f"commits {other.id} and {commit.id} made the same change, on two clones (key {commit.key})"
            yield Problem(path, 0, "key_twice", "info", message)
        else:
            message = f"commits {other.id} and {commit.id} carry out the same task differently (key {commit.key})"
            yield Problem(path, 0, "key_twice", "error", message)


def _is_id(text: str) -> bool:
    try:
        Id(text)
    except BadId:
        return False
    return True
