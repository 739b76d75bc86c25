"""Commands that write for a moment: the orchestrator does it, or they take the pen, do one thing and let go."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import streams
from .failure import BadText, NeedsAnswer
from .options import AllowSecret, DraftArgument, DraftArguments, DryRun, Reason
from .shell import MOST_TEXT, Shell
from .values import given_ids, reason, refuse_known

if TYPE_CHECKING:
    from ..decision import Decision, DecisionResult
    from ..process.handover import Writer
    from ..results import CommitResult, DraftView

_SETTLED = {"committed", "duplicate", "approved"}  # approving them asks nothing: it says or finishes what was decided

_Title = Annotated[str, typer.Argument(metavar="TITLE", help="Its title, in any script; the id is made from it.")]
_Id = Annotated[str | None, typer.Option("--id", metavar="ID", help="Its id. [made from the title]")]
_From = Annotated[
    Path | None, typer.Option("--from", metavar="FILE", help="Begin with this file's text; '-' reads it from stdin.")
]


def init(
    shell: Shell,
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder; it is made where it is missing.")],
    name: Annotated[str, typer.Option(metavar="NAME", help="What you call the workspace.")] = "",
    dry_run: DryRun = False,
) -> int:
    from .beginning import begin

    if not folder.strip():
        raise BadText("DIR: a folder needs a name; '.' is the one in which you stand")
    result = begin((shell.base / folder).absolute(), name=name, dry_run=dry_run)
    shell.notes(result.notices)
    shell.answer(result, result.people)
    return 0


def add_client(
    shell: Shell, title: _Title, id_: _Id = None, allow_secret: AllowSecret = False, dry_run: DryRun = False
) -> int:
    refuse_known(shell, allow_secret, TITLE=title)
    result = shell.write(
        lambda pen: pen.add_client(title, id=id_, request=shell.request, dry_run=dry_run, allow_secret=allow_secret),
        dry_run=dry_run,
    )
    return _added(shell, result, "client", title)


def add_project(
    shell: Shell,
    title: _Title,
    id_: _Id = None,
    source: _From = None,
    allow_secret: AllowSecret = False,
    dry_run: DryRun = False,
) -> int:
    return _card(shell, "project", lambda pen: pen.add_project, title, id_, source, allow_secret, dry_run)


def add_research(
    shell: Shell,
    title: _Title,
    id_: _Id = None,
    source: _From = None,
    allow_secret: AllowSecret = False,
    dry_run: DryRun = False,
) -> int:
    return _card(shell, "finding", lambda pen: pen.add_research, title, id_, source, allow_secret, dry_run)


def add_agent(
    shell: Shell,
    title: _Title,
    id_: _Id = None,
    source: _From = None,
    allow_secret: AllowSecret = False,
    dry_run: DryRun = False,
) -> int:
    text = _file(shell, source)
    refuse_known(shell, allow_secret, TITLE=title, FILE=text)
    result = shell.write(
        lambda pen: pen.add_agent(
            title, id=id_, text=text, request=shell.request, dry_run=dry_run, allow_secret=allow_secret
        ),
        dry_run=dry_run,
    )
    return _added(shell, result, "agent", title)


def log(
    shell: Shell,
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="What to note; '-' reads it from stdin.")],
    allow_secret: AllowSecret = False,
    dry_run: DryRun = False,
) -> int:
    noted = shell.text(" ".join(text), "TEXT").strip()
    refuse_known(shell, allow_secret, TEXT=noted)
    result = shell.write(
        lambda pen: pen.log(
            noted, client=shell.client, request=shell.request, dry_run=dry_run, allow_secret=allow_secret
        ),
        dry_run=dry_run,
    )
    return tell_commit(shell, result, "Would note" if dry_run else "Noted")


def edit(shell: Shell, draft: DraftArgument) -> int:
    from ..results import DraftsResult
    from . import drafting
    from .editor import open_in_editor

    view, file = shell.service.draft_file(draft)
    if not shell.terminal.can_ask:
        what = f"edit {view.id}: no terminal for an editor here; change {file} by other means"
        raise NeedsAnswer(what, hint=f"onepen approve {view.id}")
    open_in_editor(shell.env, file)
    result = DraftsResult((shell.service.edited(view.id),))
    shell.answer(result, lambda: drafting.shown(result, shell.terminal))
    return 0


def approve(
    shell: Shell,
    drafts: DraftArguments,
    sha256: Annotated[
        str | None, typer.Option(metavar="HEX", help="Approve the draft file with exactly these bytes, shown or not.")
    ] = None,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Ask nothing about drafts that nobody changed and in which nothing was found."),
    ] = False,
    dry_run: DryRun = False,
) -> int:
    from . import drafting

    ids = given_ids(shell, drafts)
    if sha256 is not None and (len(ids) != 1 or yes):
        raise BadText("--sha256 goes with one draft, and without --yes")
    if sha256 is None and not dry_run and (yes or shell.terminal.can_ask):
        result = _asked(shell, ids, yes=yes)
    else:
        result = shell.write(lambda pen: pen.approve(ids, sha256=sha256, dry_run=dry_run), dry_run=dry_run)
    shell.notes(result.notices)
    shell.answer(result, lambda: drafting.decided(result, shell.terminal))
    if any(decision.outcome == "needs_person" for decision in result.decisions):
        shell.note("onepen: this needs your answer; without a terminal, --sha256 HEX gives it")
    return result.exit_code


def _asked(shell: Shell, ids: tuple[str, ...], *, yes: bool) -> "DecisionResult":
    """The decisions on drafts, each after the person saw it and said yes, or --yes said it for one with no findings.

    The pen is free while they read; a yes counts for the bytes that were shown. Every id is found before anything is
    asked.
    """
    from ..decision import DecisionResult

    done: list[Decision] = []
    notices: dict[str, None] = {}
    for view in [shell.service.look(one, note=False) for one in ids]:
        sha256 = None
        plain = yes and view.status == "waiting" and not view.findings
        if view.status not in _SETTLED and not view.blocked and not plain:
            seen, left = _question(shell, view)
            if left is not None:
                done.append(left)
                continue
            sha256 = seen.sha256
        result = shell.write(partial(_approved, view.id, sha256))
        done += result.decisions
        notices |= dict.fromkeys(result.notices)
    return DecisionResult(tuple(done), tuple(notices))


def _approved(draft: str, sha256: str | None, pen: "Writer") -> "DecisionResult":
    return pen.approve((draft,), sha256=sha256)


def _found(view: "DraftView") -> str:
    """What a person has to look at in the draft: a finding (a change by hand is one, too) or an earlier decision."""
    return view.findings[0].message if view.findings else f"it is {view.status}"


def _question(shell: Shell, view: "DraftView") -> "tuple[DraftView, Decision | None]":
    """The draft as it was shown and, unless the person said yes to it, the decision that leaves it as it is."""
    from ..decision import Decision
    from . import drafting

    if not shell.terminal.can_ask:
        return view, Decision(view, "needs_person", f"--yes doesn't answer for this: {_found(view)}")
    view = shell.service.look(view.id)
    shell.tell(drafting.question(view, shell.terminal))
    try:
        agreed = shell.agrees(f"Approve {view.id}?", what=f"{view.id}: not approved", hint="")
    except NeedsAnswer:
        agreed = False
    return view, None if agreed else Decision(replace(view, diff=None), "not_approved", "you did not say yes")


def reject(shell: Shell, drafts: DraftArguments, message: Reason = None, dry_run: DryRun = False) -> int:
    from . import drafting

    ids = given_ids(shell, drafts)
    why = reason(shell, "reject", ids, message)
    result = shell.write(lambda pen: pen.reject(ids, why, dry_run=dry_run), dry_run=dry_run)
    shell.notes(result.notices)
    shell.answer(result, lambda: drafting.decided(result, shell.terminal))
    return result.exit_code


def _file(shell: Shell, source: Path | None) -> str | None:
    """The text of --from, resolved in the person's folder; raises BadText, TooLong or an OSError."""
    if source is None:
        return None
    if str(source) == "-":
        return shell.text("-", "--from", MOST_TEXT)
    what = f"--from {source}"
    if source.exists() and not source.is_file():
        raise BadText(f"{what}: no regular file")
    with source.open("rb") as f:
        data = streams.bounded(f, what, MOST_TEXT)
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        raise BadText(f"{what}: not UTF-8 text (byte {e.start})") from e


def _card(
    shell: Shell,
    kind: str,
    add: "Callable[[Writer], Callable[..., CommitResult]]",
    title: str,
    id_: str | None,
    source: Path | None,
    allow_secret: bool,
    dry_run: bool,
) -> int:
    """A new card by the writer's method for its kind."""
    text = _file(shell, source)
    refuse_known(shell, allow_secret, TITLE=title, FILE=text)
    result = shell.write(
        lambda pen: add(pen)(
            title,
            client=shell.client,
            id=id_,
            text=text,
            request=shell.request,
            dry_run=dry_run,
            allow_secret=allow_secret,
        ),
        dry_run=dry_run,
    )
    return _added(shell, result, kind, title)


def _added(shell: Shell, result: "CommitResult", kind: str, title: str) -> int:
    verb = "Would add" if result.dry_run else "Added"
    return tell_commit(shell, result, f"{verb} {kind} {title}")


def tell_commit(shell: Shell, result: "CommitResult", what: str) -> int:
    from .listing import committed

    shell.notes(result.notices)
    shell.answer(result, lambda: committed(result, what))
    return 0
