"""Commands that write for a moment: they take the pen, do one thing and let go."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .failure import BadText, NeedsAnswer
from .options import DraftArgument, DraftArguments, DryRun, Reason
from .shell import Shell
from .values import given_ids, reason

if TYPE_CHECKING:
    from ..results import CommitResult, Decision

_Title = Annotated[str, typer.Argument(metavar="TITLE", help="Its title, in any script; the id is made from it.")]
_Id = Annotated[str | None, typer.Option("--id", metavar="ID", help="Its id. [made from the title]")]
_From = Annotated[
    Path | None, typer.Option("--from", metavar="FILE", help="Begin with this file's text; '-' reads it from stdin.")
]


def init(
    shell: Shell,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder; it is made where it is missing.")],
    name: Annotated[str, typer.Option(metavar="NAME", help="What you call the workspace.")] = "",
    dry_run: DryRun = False,
) -> int:
    from .beginning import begin

    result = begin((shell.base / folder).absolute(), name=name, dry_run=dry_run)
    shell.notes(result.notices)
    shell.answer(result, result.people)
    return 0


def add_client(shell: Shell, title: _Title, id_: _Id = None, dry_run: DryRun = False) -> int:
    return _added(shell, shell.service.add_client(title, id=id_, dry_run=dry_run), "client", title)


def add_project(shell: Shell, title: _Title, id_: _Id = None, source: _From = None, dry_run: DryRun = False) -> int:
    text = _file(shell, source)
    result = shell.service.add_project(title, client=shell.client, id=id_, text=text, dry_run=dry_run)
    return _added(shell, result, "project", title)


def add_research(shell: Shell, title: _Title, id_: _Id = None, source: _From = None, dry_run: DryRun = False) -> int:
    text = _file(shell, source)
    result = shell.service.add_research(title, client=shell.client, id=id_, text=text, dry_run=dry_run)
    return _added(shell, result, "finding", title)


def add_agent(shell: Shell, title: _Title, id_: _Id = None, source: _From = None, dry_run: DryRun = False) -> int:
    text = _file(shell, source)
    return _added(shell, shell.service.add_agent(title, id=id_, text=text, dry_run=dry_run), "agent", title)


def log(
    shell: Shell,
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="What to note; '-' reads it from stdin.")],
    dry_run: DryRun = False,
) -> int:
    noted = shell.text(" ".join(text), "TEXT").strip()
    result = shell.service.log(noted, client=shell.client, dry_run=dry_run)
    return _committed(shell, result, "Would note" if dry_run else "Noted")


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
    dry_run: DryRun = False,
) -> int:
    from . import drafting

    ids = given_ids(shell, drafts)
    if sha256 is not None and len(ids) != 1:
        raise BadText("--sha256 goes with one draft")

    result = shell.service.approve(ids, sha256=sha256, dry_run=dry_run)
    if sha256 is None and not dry_run and shell.terminal.can_ask:
        result = replace(result, decisions=tuple(_asked(shell, decision) for decision in result.decisions))
    shell.notes(result.notices)
    shell.answer(result, lambda: drafting.decided(result, shell.terminal))
    if result.exit_code == 3:
        shell.note("onepen: this needs your answer; without a terminal, --sha256 HEX gives it")
    return result.exit_code


def _asked(shell: Shell, decision: "Decision") -> "Decision":
    """The decision after the person was asked about a draft that is not what they had seen.

    The pen is free while they read; their yes counts for the bytes that the question showed.
    """
    from . import drafting

    if decision.outcome != "needs_person":
        return decision
    draft = decision.draft
    shell.tell(drafting.one(draft, shell.terminal))
    try:
        if not shell.agrees(f"{decision.note}. Approve this text?", what=f"{draft.id}: not approved", hint=""):
            return decision
    except NeedsAnswer:
        return decision
    (again,) = shell.service.approve((draft.id,), sha256=draft.sha256).decisions
    return again


def reject(shell: Shell, drafts: DraftArguments, message: Reason = None, dry_run: DryRun = False) -> int:
    from . import drafting

    ids = given_ids(shell, drafts)
    result = shell.service.reject(ids, reason(shell, "reject", ids, message), dry_run=dry_run)
    shell.notes(result.notices)
    shell.answer(result, lambda: drafting.decided(result, shell.terminal))
    return result.exit_code


def _file(shell: Shell, source: Path | None) -> str | None:
    """The text of --from, resolved in the person's folder; raises BadText or an OSError."""
    if source is None:
        return None
    if str(source) == "-":
        return shell.text("-", "--from")
    data = source.read_bytes()
    try:
        return data.decode()
    except UnicodeDecodeError as e:
        raise BadText(f"--from {source}: not UTF-8 text (byte {e.start})") from e


def _added(shell: Shell, result: "CommitResult", kind: str, title: str) -> int:
    verb = "Would add" if result.dry_run else "Added"
    return _committed(shell, result, f"{verb} {kind} {title}")


def _committed(shell: Shell, result: "CommitResult", what: str) -> int:
    from .listing import committed

    shell.notes(result.notices)
    shell.answer(result, lambda: committed(result, what))
    return 0
