"""The git mirror: brings into git what onepen has committed. Git is history behind the commit, never the commit.

Theory of operation
===================

    1  look       is it the workspace's own repository, on a branch, with nothing under way?    repository.py
    2  lag        which commits of onepen has git's copy of the logs not?                       lag.py
    3  objects    the files of each, as they were then, as commits of git that nothing names    seen.py, stream.py
    4  index      under git's own lock: the person's entries that stood as in HEAD              index.py
    5  branch     from the commit that was looked at to the new one, or not at all              <- git has them

The work tree is never written, and nothing that the person staged goes into a commit. Each step can be the last one:
until the branch moves git has only objects that nothing names, and an index that agrees with the work tree. Whoever
comes next begins again at step 1, and what is missing then is what was missing. If the branch was moved meanwhile, by
the person's own commit, everything is done again upon the new one.

It runs while the pen is held, so there is one mirror at a time. Nothing that goes wrong here is raised to whoever
committed: it becomes a notice, told once, and stands in `status` until git follows again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...memory import files
from ...memory.clock import Clock
from ...memory.history import Commit, sort_key
from ...memory.workspace import Workspace
from .errors import GitBusy, GitRefused, NotMirrored
from .git import Git
from .index import locked, renewed
from .lag import lagging, log_of, whole_lines
from .message import message
from .objects import Entry, Kept, entries, kept_out, object_name, own_path
from .repository import Repository, inspect
from .seen import Content, Group, Memory, Seen, groups, paths_of
from .standing import MirrorView, forget_mirror, note_mirror, read_mirror
from .stream import File, Step, stream

_TRIES = 3
_NOBODY = "onepen <onepen@localhost>"


@dataclass(frozen=True)
class _Work:
    """What is to be brought into git, and the entries of its files before and after."""

    steps: tuple[Step, ...]
    before: Mapping[str, Entry]
    after: Mapping[str, Entry | None]


class Mirror:
    """The mirror of one workspace. `saw` may be called while another thread is in `follow`.

    `wanted` says whether the person wants it, `env` is the environment in which git is looked for.
    """

    def __init__(self, workspace: Workspace, clock: Clock, env: Mapping[str, str], wanted: Callable[[], bool]) -> None:
        self._workspace = workspace
        self._clock = clock
        self._env = env
        self._wanted = wanted
        self._memory = Memory(workspace.root)
        self._caught_up = False

    def saw(self, commits: Sequence[Commit]) -> None:
        """Commits that were made as one and stand now; git will take them as one, too."""
        self._memory.saw(commits)

    @property
    def wanted(self) -> bool:
        """Whether `follow` is to be called: also where nobody can tell, since it says what is the matter then."""
        try:
            return self._wanted()
        except NotMirrored:
            return True

    def follow(self) -> tuple[str, ...]:
        """Brings git up to date; what the person is to be told. Raises NotMirrored where that can't be done now.

        `told` makes a notice of what was raised.
        """
        if not self._wanted():
            return ()
        notices: list[str] = []
        for _ in range(_TRIES):
            waiting = self._memory.waiting
            notices.clear()
            if self._brought(waiting, notices.append):
                self._memory.done(waiting)
                self._caught_up = True
                return (*notices, *self._stands(None))
        raise GitBusy("the branch moved while a commit was being made, again and again")

    def leave(self) -> None:
        """Where there is no mirror `status` doesn't tell of one."""
        if not self.wanted:
            with suppress(OSError):
                forget_mirror(self._workspace.root)

    def told(self, error: Exception) -> tuple[str, ...]:
        """The notice of why git doesn't follow, if the person wasn't told yet."""
        self._memory.late()
        self._caught_up = False
        match error:
            case NotMirrored():
                return self._stands(error.message, error.hint)
            case OSError(filename=str(place)):
                return self._stands(f"{place}: {error.strerror}")
        return self._stands(str(error))

    def _stands(self, problem: str | None, hint: str | None = None) -> tuple[str, ...]:
        """Notes how git stands, and gives what is new about it."""
        root = self._workspace.root
        before = read_mirror(root)
        if before is not None and before.problem == problem:
            return ()
        try:
            note_mirror(root, MirrorView(problem, self._clock.now().isoformat(timespec="seconds")))
        except OSError:
            return ()  # the disk is full or gone, and there are others to say so
        if problem is not None:
            then = "" if hint is None else f" (next: {hint})"
            return (f"git: {problem}: onepen's commits stand, and git takes them later{then}",)
        return ("git has caught up",) if before is not None else ()

    def _brought(self, waiting: Sequence[Seen], told: Callable[[str], None]) -> bool:
        """Whether git has everything now; False if the branch moved meanwhile. Raises NotMirrored or an OSError."""
        git = Git.find(self._workspace.root, self._env)
        repository = inspect(git)
        git = git.without_filters()
        lag = self._lag(git, repository, waiting)
        if not lag:
            return True
        work = self._work(git, repository, groups(lag, waiting), told)
        return not work.steps or self._put(git, repository, work, told)

    def _lag(self, git: Git, repository: Repository, waiting: Sequence[Seen]) -> tuple[Commit, ...]:
        """What git lacks; once everything was caught up with that is only looked for where something was seen.

        A commit that is being made right now is seen in a moment, with its files as they are then, so it is left alone.
        """
        commits = [commit for seen in waiting for commit in seen.commits]
        logs = {log_of(commit) for commit in commits}
        spaces = self._workspace.spaces()
        if self._caught_up:
            spaces = tuple(space for space in spaces if any(log.startswith(space.path("logs/")) for log in logs))
        found, kept = lagging(git, repository, spaces)
        # Where the logs themselves stay out of git, what was seen is all that is known.
        unknown = [commit for commit in commits if (own_path(git.root, log_of(commit)) or "") in kept]
        lacking = {commit.id: commit for commit in (*found, *unknown)}
        last = max((sort_key(commit.id) for commit in commits), default=None)
        return tuple(commit for id_, commit in lacking.items() if last is None or sort_key(id_) <= last)

    def _work(self, git: Git, repository: Repository, todo: Sequence[Group], told: Callable[[str], None]) -> _Work:
        own = {path: own_path(git.root, path) for group in todo for path in paths_of(group.commits)}
        inside = sorted({path for path in own.values() if path is not None})
        kept = kept_out(git, inside)
        if kept.filtered:
            told(
                f"git: {_some(kept.filtered)}: a filter of git is set for it, and onepen runs none: commit it yourself"
            )
        before = entries(git, repository.head, inside)
        steps = [step for group in todo if (step := self._step(group, own, kept, before)).files]
        after = {path: file for step in steps for path, file in step.files.items()}
        return _Work(
            tuple(steps),
            before,
            {
                path: None if file is None else Entry(file.mode, object_name(file.data, repository.hashes))
                for path, file in after.items()
            },
        )

    def _step(self, group: Group, own: Mapping[str, str | None], kept: Kept, before: Mapping[str, Entry]) -> Step:
        found: dict[str, File | None] = {}
        for path in group.paths:
            name = own[path]
            if name is not None and name not in kept:
                place = self._workspace.root / name
                data = _data(place, group, path)
                found[name] = None if data is None else File(_mode(place, before.get(name)), data)
        return Step(message(group.commits), group.when, found)

    def _put(self, git: Git, repository: Repository, work: _Work, told: Callable[[str], None]) -> bool:
        """From the objects to the branch; False if that was moved meanwhile."""
        new = self._made(git, repository, work)
        with locked(git, repository, told):
            if inspect(git) != repository:
                return False
            put_back = renewed(git, repository, self._workspace.machine_room, work.before, work.after)
            subject = work.steps[-1].message.partition("\n")[0]
            moved = git.ask("update-ref", "-m", f"onepen: {subject}", repository.branch, new, repository.head)
            if not moved.code:
                return True
            put_back()
            if inspect(git) != repository:
                return False
            raise GitRefused("update-ref", moved.words)

    def _made(self, git: Git, repository: Repository, work: _Work) -> str:
        """Makes the objects; the name of the last commit."""
        identity = git.ask("var", "GIT_AUTHOR_IDENT")
        who = _NOBODY if identity.code else identity.out.decode("utf-8", "replace").rsplit(" ", 2)[0]
        data = stream(work.steps, repository.head, who, self._clock.now())
        made = git.ask("fast-import", "--quiet", "--done", "--date-format=raw", data=data)
        if made.code:
            files.remove(repository.folder / f"fast_import_crash_{made.pid}")
            raise GitRefused("fast-import", made.words)
        return made.out.decode().strip()


def _data(place: Path, group: Group, path: str) -> bytes | None:
    """A file's bytes as git is to have them; None where it isn't there."""
    seen: Content = None if group.files is None else group.files[path]
    if isinstance(seen, bytes) or (seen is None and group.files is not None):
        return seen
    try:
        data = whole_lines(place) if place.suffix == ".jsonl" else place.read_bytes()
    except FileNotFoundError:
        return None
    return data[:seen]


def _mode(place: Path, before: Entry | None) -> str:
    """A new file's mode by what may be executed, an old one's as git has it."""
    if before is not None and before.mode.startswith("100"):
        return before.mode
    try:
        return "100755" if place.stat().st_mode & 0o100 else "100644"
    except OSError:
        return "100644"


def _some(paths: Iterable[str]) -> str:
    first, *rest = sorted(paths)
    return f"{first} and {len(rest)} more" if rest else first
