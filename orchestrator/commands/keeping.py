"""Commands that keep a workspace in order: cards that get another name, and cards put to rest."""

from typing import TYPE_CHECKING, Annotated

import typer

from .options import AllowSecret, DryRun
from .shell import Shell
from .text import one_line, wrap
from .values import refuse_known
from .writing import tell_commit

if TYPE_CHECKING:
    from ..kept import RenameResult

_Card = Annotated[str, typer.Argument(metavar="ID", help="The card's id, its path or its title.")]


def rename(
    shell: Shell,
    card: _Card,
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new id; the old one, where only its title changes.")],
    title: Annotated[str | None, typer.Option(metavar="TITLE", help="Its new title. [stays]")] = None,
    allow_secret: AllowSecret = False,
    dry_run: DryRun = False,
) -> int:
    refuse_known(shell, allow_secret, TITLE=title)
    result = shell.write(
        lambda pen: pen.rename(
            card,
            new,
            title=title,
            client=shell.client,
            request=shell.request,
            dry_run=dry_run,
            allow_secret=allow_secret,
        ),
        dry_run=dry_run,
    )
    shell.notes(result.notices)
    shell.answer(result, lambda: _renamed(result, card, new, shell.terminal.columns))
    return 0


def _renamed(result: "RenameResult", card: str, new: str, columns: int) -> str:
    done = (
        f"Would rename {one_line(card)} to {new}; nothing was written"
        if result.dry_run
        else (f"Renamed {one_line(card)} to {new}, as {result.commit}")
    )
    parts = [done, *(f"  {one_line(path)}" for path in result.paths)]
    if result.mentions:
        parts += ["These name it as it was, and stay as they are:", *(f"  {one_line(p)}" for p in result.mentions)]
    if result.drafts:
        parts.append(
            f"Drafts that wait aim at its old name (onepen edit changes their target): {', '.join(result.drafts)}"
        )
    return wrap("\n".join(parts) + "\n", columns)


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
