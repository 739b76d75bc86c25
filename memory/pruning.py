"""The commit log without the text of old commits.

A pruned line keeps id, key, `undoes`, time, who, draft, agent, task, reviewer and paths: so a draft is still committed
once, and the history still says who changed which file when. What was changed is gone. Where a merge brings the whole
line back, the pruned one wins in every reader, and the next pruning takes the text out again. Pure.
"""

from dataclasses import dataclass, replace
from datetime import date, datetime

from .history import Commit, commit_json, parse_commits, without_twins


@dataclass(frozen=True)
class Pruned:
    """A log as it will be, and how many commits lose their text by it."""

    data: bytes
    commits: int


def pruned(commit: Commit) -> Commit:
    """The commit without what it says."""
    return replace(commit, what="", sources=(), changes=(), pruned=True)


def prune_log(data: bytes, before: date) -> Pruned:
    """The log without the text of commits from before a day, or of those that stand in it pruned already.

    Lines that are no commit stay as they are, and so does the order.
    """
    given = [(line, _commit(line)) for line in data.splitlines(keepends=True)]
    whole = set(without_twins(commit for _, commit in given if commit is not None))
    lines: list[bytes] = []
    seen = {line.rstrip(b"\r\n") for line, _ in given}
    count = 0
    for line, found in given:
        if found is None or found.pruned or (found in whole and _day(found) >= before):
            lines.append(line)
            continue
        count += 1
        short = commit_json(pruned(found)).encode()
        if short not in seen:
            seen.add(short)
            lines.append(short + b"\n")
    return Pruned(b"".join(lines) if count else data, count)


def _commit(line: bytes) -> Commit | None:
    try:
        commits, _ = parse_commits(line.decode())
    except UnicodeDecodeError:
        return None
    return commits[0] if len(commits) == 1 else None


def _day(commit: Commit) -> date:
    """The day of a commit by the clock of where it was made; one whose time can't be read is never old."""
    try:
        return datetime.fromisoformat(commit.time).date()
    except ValueError:
        return date.max
