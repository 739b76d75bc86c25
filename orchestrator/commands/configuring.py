"""Commands that tell of money and settings: `usage`, and `config show`; they only read."""

from typing import Annotated, Literal

import typer

from .shell import Shell

By = Literal["day", "layer", "model", "agent", "client"]


def usage(
    shell: Shell,
    since: Annotated[str | None, typer.Option(metavar="DAY", help="Not before this day, such as 2026-11-01.")] = None,
    until: Annotated[str | None, typer.Option(metavar="DAY", help="Not after this day.")] = None,
    by: Annotated[By, typer.Option(help="What the rows are.")] = "day",
) -> int:
    from . import spending
    from .values import days

    first, last = days(since, until)
    result = shell.service.usage(shell.client, by=by, since=first, until=last)
    shell.answer(result, lambda: spending.used(result, shell.terminal))
    return 1 if result.problems else 0


def config_show(shell: Shell) -> int:
    from ...memory.workspace import NoWorkspace
    from ..settings.config import config_file
    from ..settings.explain import explain
    from ..settings.load import load_setup
    from ..settings.trust import in_force
    from . import spending

    try:
        workspace = shell.service.workspace
    except NoWorkspace:
        result = explain(load_setup(shell.env, ""), config_file(), None)
    else:
        force = in_force(workspace.settings, shell.setup)
        shell.notes(() if force.notice is None else (force.notice,))
        result = explain(force.setup, config_file(), workspace, force.raised)
    shell.answer(result, lambda: spending.settings(result, shell.terminal))
    return 0
