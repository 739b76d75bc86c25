"""Commands about what was: the history, where a text comes from, and taking a commit back."""

import re
from typing import Annotated

import typer

from .failure import BadText, NeedsAnswer
from .options import AllowSecret, DryRun
from .shell import Shell
from .values import days

_COMMIT = re.compile(r"c[1-9][0-9]*(?:-[0-9a-z]{0,6})?")


def history(
    shell: Shell,
    about: Annotated[
        str | None,
        typer.Argument(metavar="ID|PATH", help="One commit, with what it did; or a file, a folder or a card."),
    ] = None,
    since: Annotated[str | None, typer.Option(metavar="DAY", help="Not before this day, such as 2026-11-01.")] = None,
    until: Annotated[str | None, typer.Option(metavar="DAY", help="Not after this day.")] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="At most so many commits.", min=1)] = 50,
) -> int:
    from . import chronicle

    first, last = days(since, until)
    if about is not None and _COMMIT.fullmatch(about):
        result = shell.service.commit(about)
    else:
        path = None if about is None else _path(shell, about)
        result = shell.service.history(shell.client, about=path, since=first, until=last, limit=limit)
    shell.notes(result.notices)
    shell.answer(result, lambda: chronicle.told(result, shell.terminal))
    return 1 if result.notices else 0


def why(
    shell: Shell,
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="A sentence, or a part; '-' reads it from stdin.")],
) -> int:
    from . import chronicle

    sentence = shell.text(" ".join(text), "TEXT")
    result = shell.service.why(sentence, shell.client)
    shell.notes(result.notices)
    shell.answer(result, lambda: chronicle.explained(result, shell.terminal))
    return 0


def undo(
    shell: Shell,
    commit: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="A commit, or the beginning of its id. [the last that can be undone]"),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Ask nothing.")] = False,
    allow_secret: AllowSecret = False,
    dry_run: DryRun = False,
) -> int:
    from . import chronicle

    if commit is None or dry_run or (shell.terminal.can_ask and not yes):
        foreseen = shell.service.undo(commit, client=shell.client, dry_run=True, allow_secret=allow_secret)
        if dry_run:
            shell.notes(foreseen.notices)
            shell.answer(foreseen, lambda: chronicle.undone(foreseen, shell.terminal))
            return 0
        commit = foreseen.undone
        if not yes:
            _ask(shell, commit, chronicle.question(foreseen, shell.terminal), foreseen.what)
    named = commit
    result = shell.write(
        lambda pen: pen.undo(named, client=shell.client, request=shell.request, allow_secret=allow_secret)
    )
    shell.notes(result.notices)
    shell.answer(result, lambda: chronicle.undone(result, shell.terminal))
    return 0


def _ask(shell: Shell, commit: str, question: str, what: str) -> None:
    """Raises NeedsAnswer unless the person said yes."""
    if not shell.terminal.can_ask:
        raise NeedsAnswer(f"undo: the last commit is {commit} ({what}); name it", hint=f"onepen undo {commit}")
    shell.tell(question)
    if not shell.agrees(f"Undo {commit}?", what=f"{commit}: not undone", hint=f"onepen undo {commit} --yes"):
        raise NeedsAnswer(f"{commit}: not undone, you did not say yes", hint=f"onepen undo {commit} --yes")


def _path(shell: Shell, about: str) -> str:
    """A path as its workspace has it: where the person stands, if it is or was there, else as it was given."""
    if not about.strip():
        raise BadText("ID|PATH: name a commit, a file or a card")
    here = shell.standing / about
    gone = "/" not in about and here.suffix and not (shell.root / about).exists()  # a file that was here, it may be
    if gone or here.exists():
        try:
            return here.resolve().relative_to(shell.root.resolve()).as_posix()
        except ValueError:
            return about
    return about
