"""Examines what a space has written down over time: its commit logs, its day logs and their seals."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..history import Commit, doubled_ids, parse_commits, same_change, sort_key
from ..links import LinkLeadsOut, resolve
from ..problem import Problem
from ..text.daylog import Seal, check_seals, parse_seals
from ..undone import undone_of
from ..view import View
from ..workspace import Space
from .legible import judged, led_out, legible, names_in
from .lint import text_problems
from .names import is_left, name_problems
from .records import record_problems

_UNREAD = frozenset({"not_a_file", "unreadable", "link_leads_out"})  # what is so can't be sealed


@dataclass
class Chronicle:
    """The logs of a space and what was read of them: its commits in their order, and the days that are sealed."""

    view: View
    space: Space
    commits: list[Commit] = field(default_factory=list)
    sealed: set[str] = field(default_factory=set)

    def problems(self) -> Iterator[Problem]:
        for folder in ("memory", "logs"):
            try:
                names = names_in(resolve(self.space.root, self.space.path(folder)))
            except LinkLeadsOut as e:
                yield led_out(e)
                return
            yield from name_problems(self.space.path(f"{folder}/"), [n for n in names if is_left(n)])
        seals: list[Seal] = []
        commits: list[tuple[str, Commit]] = []
        for name in names:
            path = self.space.path(f"logs/{name}")
            text = legible(self.view, path) if name.endswith(".jsonl") else None
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
        self.commits = sorted((commit for _, commit in commits), key=lambda commit: sort_key(commit.id))
        self.sealed = {seal.day for seal in seals}
        yield from doubled_ids(commits)
        yield from _keys(commits)
        yield from self._days(seals)

    def _days(self, seals: list[Seal]) -> Iterator[Problem]:
        try:
            by_day: dict[str, list[Seal]] = {day.isoformat(): [] for day in self.view.days(self.space)}
        except OSError:
            return  # the folder itself is told of
        present = frozenset(by_day)
        for seal in seals:
            by_day.setdefault(seal.day, []).append(seal)
        for day, of_day in sorted(by_day.items()):
            path = self.space.path(f"memory/{day}.md")
            if day in present:
                problems = tuple(judged(self.view, path, _DayLog(of_day)))
                present -= {day} if any(problem.kind in _UNREAD for problem in problems) else set()
                yield from problems
            else:
                yield from check_seals(path, "", of_day)
        yield from self._unsealed(present)

    def _unsealed(self, present: frozenset[str]) -> Iterator[Problem]:
        """Days without a seal although a commit came after them: old logs that were copied here, or lost seals."""
        latest = max((commit.time[:10] for commit in self.commits), default="")
        open_days = sorted(day for day in present - self.sealed if day < latest)
        if open_days:
            which = open_days[0] if len(open_days) == 1 else f"{len(open_days)} days, {open_days[0]} to {open_days[-1]}"
            message = f"not sealed yet, so a change to it would not be seen: {which}; the next commits seal it"
            yield Problem(self.space.path("memory"), 0, "day_unsealed", "info", message)


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
