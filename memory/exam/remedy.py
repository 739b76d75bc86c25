"""Which problems can be put right without asking what somebody meant, and how: problems in, fixes out.

A fix is only offered where there is one right outcome and no text of a person's can be lost by it: indexes and the
registry follow the files that they list, days are sealed, what was cut short is moved out of the way (and kept, see
`aside.py`). Everything else is for the person.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ..files import sha256
from ..history import LOG_NAME
from ..problem import Problem
from ..room import REDO_LOG
from ..view import View
from ..workspace import Space, inner_path
from .git import missing_lines
from .legible import legible

FixKind = Literal["settle", "index", "registry", "seal", "aside", "line", "git"]
_INDEX = frozenset({"card_unindexed", "entry_missing", "section_renamed"})
# The names under which onepen itself lays a file down; a name with another tag may be another program's.
_OWN_TMP = re.compile(r"(?:.*/)?\..+\.(?:c\d+-[0-9a-z]{6}|new|[0-9a-f]{8})\.tmp")
_TASK_LOG = re.compile(r"staging/[^/]+/run\.jsonl")
_BATCH_LOG = re.compile(r"batches/[^/]+/(?:run|message-batches)\.jsonl")
_USAGE = re.compile(r"logs/usage-\d{4}-\d{2}\.jsonl")
_LONGEST_LIST = 5


@dataclass(frozen=True)
class Fix:
    """One thing that can be put right; `path` is a workspace path, `line` counts from 1 (0: the whole file).

    `kind` says how: "settle" finishes commits that stand, "index" brings a space's indexes into line with its cards,
    "registry" lists an agent, "seal" seals past days, "aside" moves a file out of the way and "line" one line of a
    file, "git" adds lines to a file of git's. `what` says it to the person; `sha256` is that of the line.
    """

    kind: FixKind
    path: str
    what: str
    line: int = 0
    sha256: str = ""


def plan(view: View, problems: Iterable[Problem]) -> tuple[tuple[Fix, ...], tuple[Problem, ...]]:
    """The fixes in the order in which they are done, and the problems that are left to the person.

    Information that no fix is for is in neither.
    """
    fixes: dict[tuple[str, str, int], list[Problem]] = {}
    left: list[Problem] = []
    found = list(problems)
    stuck = any(problem.kind in {"commit_unsettled", "redo_foreign", "room_unfit"} for problem in found)
    for problem in found:
        key = None if stuck else _key(view, problem)
        if key is not None:
            fixes.setdefault(key, []).append(problem)
        elif problem.level != "info":
            left.append(problem)
    order = ("settle", "index", "registry", "seal", "git", "line", "aside")
    made = (_fix(view, key, of) for key, of in fixes.items())
    # From the end of a file to its beginning, so that the lines before keep their numbers.
    return tuple(sorted(made, key=lambda fix: (order.index(fix.kind), fix.path, -fix.line))), tuple(left)


def space_of_path(view: View, path: str) -> Space:
    """The space in which a workspace path lies."""
    return next((s for s in reversed(view.workspace.spaces()) if path.startswith(s.prefix)), view.workspace.house)


def may_go(path: str, line: int) -> bool:
    """Whether a file, or a line of one, is of a sort that is ever moved out of the way: nobody's text is."""
    if not line:
        return _OWN_TMP.fullmatch(path) is not None
    inner = inner_path(path)
    folder, _, name = inner.rpartition("/")
    is_commits = folder == "logs" and LOG_NAME.fullmatch(name) is not None
    return is_commits or bool(_TASK_LOG.fullmatch(inner) or _USAGE.fullmatch(inner) or _BATCH_LOG.fullmatch(path))


def _key(view: View, problem: Problem) -> tuple[str, str, int] | None:
    """The kind, the path and the line of the fix for a problem; None where a person has to decide."""
    match problem.kind:
        case "commit_pending":
            return "settle", REDO_LOG, 0
        case kind if kind in _INDEX:
            return "index", space_of_path(view, problem.path).prefix or "./", 0
        case "agent_unlisted":
            return "registry", problem.path, 0
        case "day_unsealed":
            return "seal", problem.path, 0
        case "git_lines_missing":
            return "git", problem.path, 0
        case "leftover" if may_go(problem.path, 0):
            return "aside", problem.path, 0
        case "journal_line_unreadable" | "batch_journal_unreadable" | "commit_unreadable" if problem.level == "warning":
            return ("line", problem.path, problem.line) if may_go(problem.path, problem.line) else None
        case "usage_unreadable" if _torn(view, problem):
            return "line", problem.path, problem.line
    return None


def _fix(view: View, key: tuple[str, str, int], problems: list[Problem]) -> Fix:
    kind, path, line = key
    match kind:
        case "settle":
            return Fix("settle", path, "finish the commits that stand and whose files lag behind")
        case "index":
            return Fix("index", path, f"bring the indexes into line with the cards: {_listed(problems)}")
        case "registry":
            return Fix("registry", path, "list this agent in agents/_index.md")
        case "seal":
            return Fix("seal", path, f"seal {problems[0].message.partition(': ')[2].partition(';')[0]}")
        case "git":
            missing = len(missing_lines(path, _text(view, path)))
            return Fix("git", path, f"add {missing} {'line' if missing == 1 else 'lines'} at its end")
        case "line":
            what = "move this line, which was cut short, out of the file and keep it aside"
            return Fix("line", path, what, line, _hash(view, path, line))
    return Fix("aside", path, "move this file, left over from a write that was cut short, aside")


def _listed(problems: list[Problem]) -> str:
    names = list(dict.fromkeys(problem.path for problem in problems))
    more = f" and {len(names) - _LONGEST_LIST} more" if len(names) > _LONGEST_LIST else ""
    return ", ".join(names[:_LONGEST_LIST]) + more


def _torn(view: View, problem: Problem) -> bool:
    """Whether a booking was begun as ours begin and never ended: it was being written, and nobody built on it."""
    lines = _text(view, problem.path).split("\n")
    line = lines[problem.line - 1] if problem.line <= len(lines) else ""
    return line.startswith('{"v"') and not line.rstrip().endswith("}")


def _hash(view: View, path: str, line: int) -> str:
    lines = (view.bytes(path) or b"").split(b"\n")
    return sha256(lines[line - 1]) if line <= len(lines) else ""


def _text(view: View, path: str) -> str:
    found = legible(view, path)
    return found if isinstance(found, str) else ""
