"""Commands that run work: they start workers, show a progress line, and stop on Ctrl-C without losing anything."""

from pathlib import Path
from typing import Annotated

import typer

from .failure import BadText
from .options import (
    AllowSecret,
    Budget,
    Detach,
    DraftArguments,
    DryRun,
    Foreground,
    Profile,
    Reason,
    Review,
    TaskArgument,
    UnsafeNoSandbox,
)
from .shell import MOST_TASK, Shell
from .values import given_ids, reason, refuse_known

_Texts = Annotated[list[str], typer.Argument(metavar="TEXT", help="What is to be done; '-' reads it from stdin.")]
_Agents = Annotated[
    list[str] | None,
    typer.Option("--agent", metavar="ID", help="Who does it; several pair with the texts in order. [researcher]"),
]
_Inputs = Annotated[
    list[Path] | None,
    typer.Option("--input", metavar="PATH", help="A file or folder to work from, also by a link; may be repeated."),
]


def delegate(
    shell: Shell,
    texts: _Texts,
    agents: _Agents = None,
    project: Annotated[str | None, typer.Option(metavar="ID", help="The project that it belongs to.")] = None,
    target: Annotated[
        str | None, typer.Option(metavar="PATH", help="Where the result goes. [a new research/<slug>.md]")
    ] = None,
    inputs: _Inputs = None,
    review: Annotated[
        Review | None,
        typer.Option(help="Who reviews; auto commits what is quoted word for word, where the policy lets it. [person]"),
    ] = None,
    answer: Annotated[bool, typer.Option("--answer", help="Print the answer and file no draft.")] = False,
    model: Annotated[
        str | None, typer.Option(metavar="ID", help="The model: a name, offline, or scripted:FILE in tests.")
    ] = None,
    profile: Profile = None,
    budget: Budget = None,
    max_turns: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="At most so many model calls an attempt.")
    ] = None,
    time_limit: Annotated[
        int | None, typer.Option(metavar="SECONDS", min=1, help="At most so long an attempt, in seconds.")
    ] = None,
    detach: Detach = False,
    foreground: Foreground = False,
    unsafe_no_sandbox: UnsafeNoSandbox = False,
    allow_secret: AllowSecret = False,
    dry_run: DryRun = False,
) -> int:
    from ..requests import DelegateRequest
    from .running import Place, run

    for path in inputs or ():
        if path.is_symlink() and path.exists():
            shell.note(f"note: --input {path} is a link; what is read is {path.resolve()}")
    request = DelegateRequest(
        texts=_texts(shell, texts),
        agents=tuple(agents or ()),
        client=shell.client,
        project=project,
        target=target,
        inputs=tuple(path.absolute() for path in inputs or ()),
        review=review,
        answer=answer,
        model=resolved(model),
        max_turns=max_turns,
        time_limit=time_limit,
        budget_usd=budget,
        allow_secret=allow_secret,
    )
    refuse_known(shell, allow_secret, **{f"TEXT {n}": text for n, text in enumerate(request.texts, 1)})
    shell.via, shell.unsafe = profile, unsafe_no_sandbox
    return run(shell, "delegate", {"request": request}, Place(dry_run, foreground, detach))


def resume(
    shell: Shell,
    task: TaskArgument,
    budget: Budget = None,
    foreground: Foreground = False,
    unsafe_no_sandbox: UnsafeNoSandbox = False,
    dry_run: DryRun = False,
) -> int:
    from .running import Place, run

    shell.unsafe = unsafe_no_sandbox
    args = {"task": task} if budget is None else {"task": task, "budget_usd": budget}
    return run(shell, "resume", args, Place(dry_run, foreground))


def cancel(
    shell: Shell,
    tasks: Annotated[list[str], typer.Argument(metavar="TASK", help="Tasks, or the beginnings of their ids.")],
    dry_run: DryRun = False,
) -> int:
    from .tasks import ended

    ids = given_ids(shell, tasks)
    result = shell.write(lambda pen: pen.cancel(ids, dry_run=dry_run), dry_run=dry_run)
    shell.notes(result.notices)
    shell.answer(result, lambda: ended(result, shell.terminal))
    return result.exit_code


def send_back(
    shell: Shell,
    drafts: DraftArguments,
    message: Reason = None,
    foreground: Foreground = False,
    unsafe_no_sandbox: UnsafeNoSandbox = False,
    dry_run: DryRun = False,
) -> int:
    from .running import Place, run

    shell.unsafe = unsafe_no_sandbox
    ids = given_ids(shell, drafts)
    why = reason(shell, "send-back", ids, message)
    return run(shell, "send_back", {"ids": ids, "reason": why}, Place(dry_run, foreground))


def _texts(shell: Shell, texts: list[str]) -> tuple[str, ...]:
    if texts.count("-") > 1:
        raise BadText("TEXT '-': stdin can be read once only")
    return tuple(shell.text(text, "TEXT", MOST_TASK) for text in texts)


def resolved(model: str | None) -> str | None:
    """A scripted model's file is resolved here, in the folder where the person stands."""
    kind, colon, file = (model or "").partition(":")
    return f"{kind}:{Path(file).absolute()}" if kind == "scripted" and colon else model
