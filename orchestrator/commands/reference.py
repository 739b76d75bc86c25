"""docs/reference/commands.md, written from the table of commands: `python -m onepen.orchestrator.commands.reference`.

With a file as argument the page is compared with it, and the exit code is 1 where they differ.
"""

import sys
from pathlib import Path
from typing import Any

import typer

from . import streams
from .app import program
from .table import ABOUT, EXAMPLES, EXIT_CODES, ROWS, Row

_COMMON = {"-C", "--client", "--json", "--debug", "--help"}
_HEAD = f"""# Commands

<!-- Made by `python -m onepen.orchestrator.commands.reference`; change orchestrator/commands/table.py instead. -->

{ABOUT}

The result goes to stdout, everything else to stderr. Colours and a progress line appear only on a terminal; `NO_COLOR`
turns them off. A unique beginning of an id is accepted wherever an id is; one that fits several lists them and ends
with 2. `-` stands for stdin. No command asks a question without a terminal: it ends with 3 and names the option that
answers it. Text that begins with `-` goes behind `--`. With `--dry-run` a command that writes or spends answers what it
would do, with the exit code of its refusals, and does nothing: `commit` is null and `dry_run` true, and a task that is
not made yet has no id.

A text on the command line or stdin has at most 8 KiB, a task's 64 KiB, a file of `--from` 1 MiB. A link that `--input`
names is followed, and said; links inside a folder are left out. `onepen` alone tells what waits in the space where you
stand; with `--json` it prints the documents of `status` and `drafts` in one, and for all other spaces `elsewhere:
[{{client, drafts_waiting, interrupted}}]`. `--help` and `--version` print text, with `--json` too.
`--install-completion` adds completion to your shell.
"""


def page() -> str:
    """The whole page."""
    root: Any = typer.main.get_command(program())
    parts = [_HEAD, _code(EXAMPLES), "## Options of every command\n", _options(root.params, _COMMON | {"--version"})]
    parts.append(_exit_codes())
    parts += [_command(row, _found(root, row.name)) for row in ROWS]
    return "\n".join(parts)


def _found(root: Any, name: str) -> Any:
    for word in name.split():
        root = root.commands[word]
    return root


def _command(row: Row, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join(["onepen", row.name, *(_usage(p) for p in arguments), "[OPTIONS]"])
    own = [p for p in command.params if p in arguments or not (set(p.opts) & _COMMON or p.hidden)]
    parts = [f"## onepen {row.name}\n", row.summary + "\n", _code((usage,)), _code(row.examples)]
    if own:
        parts.append(_options(own))
    if not row.takes_client:
        parts.append("Takes no `--client`.\n")
    if row.json:
        parts.append(f"`--json`: `{row.json}`\n")
    return "\n".join(parts)


def _usage(argument: Any) -> str:
    name = argument.metavar + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _options(params: list[Any], only: set[str] | None = None) -> str:
    lines = []
    for param in params:
        if param.param_type_name == "argument":
            lines.append(f"- `{param.metavar}`: {param.help}")
            continue
        if only is None or set(param.opts) & only:
            value = "" if param.is_flag else f" {param.metavar or _choices(param)}"
            names = ", ".join(f"`{opt}{value}`" for opt in param.opts)
        else:
            continue
        default = f" [{param.default}]" if param.default and not param.is_flag else ""
        lines.append(f"- {names}: {param.help}{default}")
    return "\n".join(lines) + "\n"


def _choices(param: Any) -> str:
    return "|".join(param.type_descriptor.choices or ())


def _code(lines: tuple[str, ...]) -> str:
    return "```sh\n" + "".join(f"{line}\n" for line in lines) + "```\n"


def _exit_codes() -> str:
    rows = "".join(f"| {code} | {meaning} |\n" for code, meaning in EXIT_CODES)
    return f"## Exit codes\n\n| Code | Meaning |\n|---|---|\n{rows}"


def _main(args: list[str]) -> int:
    text = page()
    if not args:
        streams.answer(text)
        return 0
    if Path(args[0]).read_text(encoding="utf-8") == text:
        return 0
    streams.tell(f"{args[0]}: not current (next: make docs)\n")
    return 1


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
