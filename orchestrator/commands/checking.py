"""Trying a program that is to be a sub-agent."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .ink import ink
from .shell import Shell
from .text import count, one_line, wrap

if TYPE_CHECKING:
    from ..tasks.conformance import Check, ConformanceResult

_INK = {"ok": "green", "wrong": "red", "note": "yellow", "skipped": "dim"}
_Command = Annotated[list[str], typer.Argument(metavar="COMMAND", help="The program and its arguments, behind `--`.")]


def worker_check(
    shell: Shell,
    command: _Command,
    unsafe: Annotated[
        bool, typer.Option("--unsafe-no-sandbox", help="Try it without the sandbox that it would work in.")
    ] = False,
) -> int:
    from ...subagents.sandbox.level import probe
    from ..tasks.conformance import NOWHERE, conformance
    from .failure import BadText

    standing = shell.standing
    # It is started in /, as every worker is: what is meant from here is named from there.
    command = [str(standing / part) if _is_meant(standing, part) else part for part in command]
    try:
        result = conformance(command, level=NOWHERE if unsafe else probe())
    except OSError as e:
        raise BadText(f"{command[0]}: can't be started: {e.strerror}") from e
    shell.answer(result, lambda: "".join(_line(shell, check) for check in result.checks) + _summary(result))
    return 0 if result.ok else 1


def _is_meant(standing: Path, part: str) -> bool:
    """Whether a part of the command line names a file from where the person stands."""
    return not part.startswith(("/", "-")) and shutil.which(part) is None and (standing / part).is_file()


def _line(shell: Shell, check: "Check") -> str:
    level = ink(f"{check.level:<7}", _INK[check.level], shell.terminal)
    seen = f": {one_line(check.seen)}" if check.seen else ""
    return wrap(f"{level} {check.name}{seen}\n", shell.terminal.columns)


def _summary(result: "ConformanceResult") -> str:
    wrong = sum(check.level == "wrong" for check in result.checks)
    if wrong:
        return f"{count(wrong, 'finding')}; docs/reference/wire.md has the rules\n"
    where = "" if result.sandbox == "none" else f", in the sandbox ({result.sandbox})"
    return f"It speaks the wire{where}.\nNext: write it into your config as [workers.NAME] command = [...]\n"
