"""`onepen doctor`: what is wrong in a workspace and, with --fix, putting right what needs no decision of a person."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from .failure import BadText, NeedsAnswer
from .ink import ink
from .options import DryRun
from .shell import Shell
from .terminal import Terminal
from .text import count, one_line, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...memory.problem import Problem
    from ..diagnosis import DoctorResult, Fixed

_LEVELS = {"error": "red", "warning": "yellow", "info": "dim"}
_SHOWN = {"possible": "", "done": "done", "failed": "not done"}


def doctor(
    shell: Shell,
    fix: Annotated[
        bool, typer.Option("--fix", help="Show what can be put right without a decision of yours, ask, and do it.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --fix: do it without being asked.")] = False,
    dry_run: DryRun = False,
) -> int:
    if not fix and (yes or dry_run):
        raise BadText("--yes and --dry-run go with --fix", hint="onepen doctor --fix")
    found = shell.service.doctor()
    if not fix:
        shell.answer(found, lambda: problems(found, shell.terminal))
        return found.exit_code
    if dry_run or not found.fixes:
        result = replace(found, dry_run=dry_run)
        shell.answer(result, lambda: foreseen(result, shell.terminal))
        return 1 if any(problem.level == "error" for problem in found.left) else 0
    if not yes:
        shell.tell(foreseen(found, shell.terminal))
        hint = "onepen doctor --fix --yes"
        if not shell.agrees("Put this right?", what="doctor --fix: nothing was changed", hint=hint):
            raise NeedsAnswer("doctor --fix: nothing was changed, since you did not say yes", hint=hint)
    done = shell.write(lambda pen: pen.fix(tuple(fixed.fix for fixed in found.fixes)))
    shell.notes(done.notices)
    result = replace(shell.service.doctor(), fixes=done.fixes)
    shell.answer(result, lambda: put_right(result, shell.terminal))
    return result.exit_code


def problems(result: "DoctorResult", terminal: Terminal) -> str:
    """One line per problem, errors first, each with path:line; then the sum, and what --fix would do about it."""
    text = _listed(result.problems, terminal) + _sum(result.problems) + _held(result, terminal)
    if result.fixes:
        text += f"{count(len(result.fixes), 'thing')} can be put right for you (next: onepen doctor --fix)\n"
    return text


def _held(result: "DoctorResult", terminal: Terminal) -> str:
    """What the best of sandboxes leaves open, too; one that is less was told as a problem."""
    if any(problem.kind.startswith("sandbox_") for problem in result.problems) or not result.sandbox:
        return ""
    return wrap(f"sandbox: {result.sandbox}; leaves open: {'; '.join(result.sandbox_gaps)}\n", terminal.columns)


def foreseen(result: "DoctorResult", terminal: Terminal) -> str:
    """What would be put right, and what is left to the person."""
    if not result.fixes:
        return "Nothing can be put right without you.\n" + problems(result, terminal)
    return "Would put right:\n" + _fixes(result.fixes, terminal) + _left(result.left, terminal)


def put_right(result: "DoctorResult", terminal: Terminal) -> str:
    """What was put right, then what is wrong now."""
    return "Put right:\n" + _fixes(result.fixes, terminal) + _listed(result.problems, terminal) + _sum(result.problems)


def _fixes(fixes: "Iterable[Fixed]", terminal: Terminal) -> str:
    lines = []
    for fixed in fixes:
        place = f"{fixed.fix.path}:{fixed.fix.line}" if fixed.fix.line else fixed.fix.path
        became = "; ".join(filter(None, (_SHOWN[fixed.outcome], one_line(fixed.note), fixed.commit or "")))
        end = f" ({became})" if became and fixed.outcome != "possible" else ""
        lines.append(wrap(f"  {one_line(place)}: {one_line(fixed.fix.what)}{end}\n", terminal.columns))
    return "".join(lines)


def _left(left: "tuple[Problem, ...]", terminal: Terminal) -> str:
    return "Left to you:\n" + _listed(left, terminal, "  ") if left else ""


def _listed(found: "Iterable[Problem]", terminal: Terminal, indent: str = "") -> str:
    order = list(_LEVELS)
    lines = sorted(found, key=lambda p: (order.index(p.level), p.path, p.line))
    return "".join(indent + _problem(p, terminal) for p in lines)


def _sum(found: "tuple[Problem, ...]") -> str:
    sums = [count(n, level) for level in ("error", "warning") if (n := sum(p.level == level for p in found))]
    return ", ".join(sums) + "\n" if sums else "Everything is in order.\n"


def _problem(problem: "Problem", terminal: Terminal) -> str:
    place = f"{problem.path}:{problem.line}" if problem.line else problem.path
    level = ink(problem.level, _LEVELS[problem.level], terminal)
    return wrap(f"{one_line(place)}: {level}: {one_line(problem.message)}\n", terminal.columns)
