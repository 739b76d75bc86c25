"""Commands that keep a workspace in order: cards put to rest."""

from typing import Annotated

import typer

from .options import DryRun
from .shell import Shell
from .writing import tell_commit

_Card = Annotated[str, typer.Argument(metavar="ID", help="The card's id, its path or its title.")]


def archive(
    shell: Shell,
    card: _Card,
    undo: Annotated[bool, typer.Option("--undo", help="Bring an archived card back.")] = False,
    dry_run: DryRun = False,
) -> int:
    result = shell.write(
        lambda pen: pen.archive(card, undo=undo, client=shell.client, request=shell.request, dry_run=dry_run),
        dry_run=dry_run,
    )
    done = ("Would bring back" if dry_run else "Brought back") if undo else ("Would archive" if dry_run else "Archived")
    return tell_commit(shell, result, f"{done} {card}")
