"""The `onepen` program: the table made into a parser, and the one place where every error becomes a line and a code."""

import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ...version import __version__
from . import streams
from .failure import Interrupted, told, trace
from .options import BARE, Client, Debug, Folder, Json
from .reading import turn
from .shell import Common, Shell, json_text
from .table import ABOUT, EXAMPLES, GROUPS, ROWS, Row
from .terminal import look
from .text import wrap

_CLAUSE = re.compile(r"[:;] ")  # a list of commands has room for what stands before it
_NARROW = 52  # below this many columns the parser's own help runs over the edge


def main() -> None:
    """The entry point: carry out the command line and end the process with its exit code."""
    # Another package's pydantic plugin would run in here, and looking for one takes a tenth of a quick command's time.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    sys.exit(call(sys.argv[1:]))


def call(args: Sequence[str]) -> int:
    """Carry out one command line; every error ends as one line on stderr and an exit code."""
    streams.open_streams()
    try:
        code = typer.main.get_command(program()).main(list(args), prog_name="onepen", standalone_mode=False)
    except SystemExit:
        raise
    except BaseException as e:  # noqa: BLE001 - the outer edge: nothing may reach the person raw
        return _failed(e, _options(args))
    return code if isinstance(code, int) else 0


def _options(args: Sequence[str]) -> frozenset[str]:
    """The words before `--`: --json and --debug count even where the line could not be parsed."""
    return frozenset(args[: args.index("--")] if "--" in args else args)


def _failed(error: BaseException, given: frozenset[str]) -> int:
    from ..settings.redact import Known, held_in

    known = Known(held_in(os.environ))
    failure = told(error).masked(known.mask)
    if "--debug" in given:
        streams.tell(known.mask(trace(error)))
    streams.tell(wrap(failure.line(), look().columns))
    if "--json" in given:
        streams.answer(json_text(failure.as_json()))
    return failure.exit_code


def program() -> typer.Typer:
    """The parser, made from the table."""
    columns = look().columns
    width = {"terminal_width": columns - 2} if columns < _NARROW else {}
    settings: dict[str, Any] = {"rich_markup_mode": None, "add_completion": True, "context_settings": width}
    app = typer.Typer(cls=_Group, add_help_option=False, help=ABOUT, **settings)
    app.callback(invoke_without_command=True)(_root)
    groups = {
        name: typer.Typer(cls=_Group, add_help_option=False, rich_markup_mode=None, help=text)
        for name, text in GROUPS.items()
    }
    for row in ROWS:
        group, _, name = row.name.rpartition(" ")
        into = groups[group] if group else app
        brief = f"{_CLAUSE.split(row.summary, maxsplit=1)[0].rstrip('.')}."
        into.command(name, cls=_Command, add_help_option=False, help=row.summary, short_help=brief)(_wired(row))
    for name, group_app in groups.items():
        group_app.callback()(_group)
        app.add_typer(group_app, name=name)
    return app


def _show_help(context: typer.Context, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        streams.answer(context.get_help() + "\n")
        raise typer.Exit


def _show_version(wanted: bool) -> None:
    if wanted:
        streams.answer(f"onepen {__version__}\n")
        raise typer.Exit


_Help = Annotated[
    bool, typer.Option("--help", "-h", is_eager=True, callback=_show_help, help="Show this text.", expose_value=False)
]
_Version = Annotated[
    bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version.", expose_value=False)
]


def _root(
    context: typer.Context,
    folder: Folder = None,
    client: Client = None,
    json: Json = False,
    debug: Debug = False,
    version: _Version = False,
    help_: _Help = False,
) -> None:
    context.obj = Common(folder, client, json, debug)
    if context.invoked_subcommand is None:
        _carry_out(turn, context.obj, {})


def _group(
    context: typer.Context,
    folder: Folder = None,
    client: Client = None,
    json: Json = False,
    debug: Debug = False,
    help_: _Help = False,
) -> None:
    """A group does nothing by itself; the options of every command may stand before its command's name."""
    context.obj = Common(folder, client, json, debug).over(context.obj)


def _wired(row: Row) -> Callable[..., None]:
    """The function that typer reads: the command's own parameters, then the common options."""

    def command(context: typer.Context, **values: Any) -> None:
        given = Common(
            values.pop("folder_", None),
            values.pop("client_", None),
            values.pop("json_", False),
            values.pop("debug_", False),
        )
        values.pop("help_", None)
        outer = context.obj if isinstance(context.obj, Common) else Common()
        _carry_out(row.run, given.over(outer), values)

    signature = _signature(row)
    command.__dict__["__signature__"] = signature
    command.__annotations__ = {name: p.annotation for name, p in signature.parameters.items()}
    return command


def _signature(row: Row) -> inspect.Signature:
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [p.replace(kind=keyword) for p in inspect.signature(row.run).parameters.values() if p.name != "shell"]
    common: list[tuple[str, Any, Any]] = [("folder_", Folder, None)]
    if row.takes_client:
        common.append(("client_", Client, None))
    common += [("json_", Json, False), ("debug_", Debug, False), ("help_", _Help, False)]
    context = inspect.Parameter("context", keyword, annotation=typer.Context)
    added = [inspect.Parameter(name, keyword, default=default, annotation=kind) for name, kind, default in common]
    return inspect.Signature([context, *own, *added])


def _carry_out(run: Callable[..., int | None], common: Common, values: dict[str, Any]) -> None:
    try:
        code = run(Shell(common, look()), **values)
    except KeyboardInterrupt:
        raise Interrupted from None
    raise typer.Exit(code or 0)


class _AsTyped:
    """Takes a word as it was typed where it is to be text, a flag or a path: no library has to look at it.

    typer asks pydantic, whose import takes longer than all else that a quick command does.
    """

    def __init__(self, annotation: Any) -> None:
        self._annotation = annotation

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if self._annotation is Path:
            return Path(value)
        return list(value) if self._annotation == list[str] else value


_TYPED = (str, bool, Path, list[str])


def _take_as_typed(params: Sequence[Any]) -> None:
    for param in params:
        annotation = getattr(getattr(param, "type_descriptor", None), "annotation", None)
        if annotation in _TYPED:
            param.__dict__["get_runtime_param"] = partial(_AsTyped, annotation)


def _with_values(args: list[str], params: Sequence[Any]) -> list[str]:
    """The words of a line, with the usual value for an option that stands alone: `--failed` is `--failed=all`."""
    known = {opt: param for param in params for opt in param.opts if opt in BARE}
    end = args.index("--") if "--" in args else len(args)
    words: list[str] = []
    for n, word in enumerate(args):
        if n < end and word in known:
            choices = known[word].type_descriptor.choices or ()
            follows = args[n + 1] if n + 1 < end else ""
            word = word if follows in choices else f"{word}={BARE[word]}"
        words.append(word)
    return words


class _Group(TyperGroup):
    """A group of commands whose help begins with examples and lists them in the table's order."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _take_as_typed(self.params)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        _, _, group = ctx.command_path.partition(" ")
        within = f"{group} " if group else ""
        order = {row.name[len(within) :].split()[0]: None for row in ROWS if row.name.startswith(within)}
        return sorted(super().list_commands(ctx), key=list(order).index)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _write_examples(ctx.command_path, formatter)
        super().format_help(ctx, formatter)


class _Command(TyperCommand):
    """A command whose help begins with examples."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _take_as_typed(self.params)
        return super().parse_args(ctx, _with_values(args, self.params))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _write_examples(ctx.command_path, formatter)
        super().format_help(ctx, formatter)


def _write_examples(path: str, formatter: Any) -> None:
    _, _, name = path.partition(" ")
    examples = {row.name: row.examples for row in ROWS}.get(name) or (EXAMPLES if not name else ())
    for example in examples:
        formatter.write(f"  $ {example}\n")
    if examples:
        formatter.write("\n")
