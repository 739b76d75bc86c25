"""`onepen prune`: first what would go and how much that is, then a question, then it is gone."""

import re
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from .failure import BadText, NeedsAnswer
from .options import DryRun
from .shell import Shell
from .text import count, one_line, table, wrap

if TYPE_CHECKING:
    from ..pruned import PrunedKind, PruneResult, PruneWish, RemovalResult

_AGE = re.compile(r"(\d{1,5})([dwy])")
_DAYS = {"d": 1, "w": 7, "y": 365}
_STAGING, _TRANSCRIPTS = "90d", "30d"
_WHAT = {
    "staging": ("task, finished before {}", "tasks, finished before {}"),
    "transcripts": ("task's transcripts, finished before {}", "tasks' transcripts, finished before {}"),
    "history": ("commit from before {} loses its text", "commits from before {} lose their text"),
}


def prune(
    shell: Shell,
    staging_older: Annotated[
        str | None,
        typer.Option("--staging-older", metavar="AGE", help="Folders of tasks that were finished so long ago."),
    ] = None,
    transcripts_older: Annotated[
        str | None,
        typer.Option("--transcripts-older", metavar="AGE", help="What was said in tasks that were done so long ago."),
    ] = None,
    history_older: Annotated[
        str | None,
        typer.Option("--history-older", metavar="AGE", help="The text of commits that are so old; who and when stays."),
    ] = None,
    confirm: Annotated[
        str | None, typer.Option(metavar="ID", help="The client's id once more: remove all of it without being asked.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove what is shown without being asked.")] = False,
    dry_run: DryRun = False,
) -> int:
    from ..pruned import PruneWish

    ages = {
        "--staging-older": staging_older,
        "--transcripts-older": transcripts_older,
        "--history-older": history_older,
    }
    if shell.common.client is not None and not any(ages.values()):
        return _client(shell, shell.common.client, confirm, yes=yes, dry_run=dry_run)
    if confirm is not None:
        raise BadText(
            "--confirm answers for a whole client: it goes with --client ID and with no age", hint="onepen prune --help"
        )
    if not any(ages.values()):
        ages |= {"--staging-older": _STAGING, "--transcripts-older": _TRANSCRIPTS}
    today = shell.service.today()
    days = [None if age is None else _before(option, age, today).isoformat() for option, age in ages.items()]
    wish = PruneWish(shell.client, shell.client is None, *days)
    found = shell.service.prunable(wish)
    if found.kinds and not dry_run:
        if not yes:
            shell.tell(_listed(found, shell.terminal.columns) + "Nothing brings it back.\n")
            if not shell.agrees("Remove it?", what="prune: nothing was removed", hint="onepen prune … --yes"):
                raise NeedsAnswer("prune: nothing was removed")
        found = shell.write(lambda pen: pen.prune(wish))
    done = found if found.kinds or dry_run else replace(found, dry_run=False)
    shell.notes(done.notices)
    shell.answer(done, lambda: _told(done, wish, shell.terminal.columns))
    return 0


def _before(option: str, age: str, today: date) -> date:
    """The day before which something is so old; raises BadText."""
    match = _AGE.fullmatch(age.strip().lower())
    if match is None:
        raise BadText(f"{option} {age!r}: not an age; write it as 90d, 12w or 1y")
    days = int(match[1]) * _DAYS[match[2]]
    return date.min if days >= today.toordinal() else today - timedelta(days=days)


def _listed(result: "PruneResult", columns: int) -> str:
    return table([_row(kind) for kind in result.kinds], columns)


def _row(kind: "PrunedKind") -> tuple[str, ...]:
    one, many = (text.format(kind.before) for text in _WHAT[kind.kind])
    return (one_line(kind.client or "house"), count(kind.count, one, many), count(kind.files, "file"), size(kind.bytes))


def _told(result: "PruneResult", wish: "PruneWish", columns: int) -> str:
    if not result.kinds:
        asked = (("task", wish.staging), ("transcript", wish.transcripts), ("commit with its text", wish.history))
        none = ", ".join(f"no {what} from before {day}" for what, day in asked if day is not None)
        return wrap(f"Nothing is to be pruned: {none}.\n", columns)
    told = f"Together {size(result.bytes)}; nothing was removed." if result.dry_run else f"{size(result.bytes)} freed."
    return f"{_listed(result, columns)}{told}\n"


def size(number: int) -> str:
    """A number of bytes for people: 640 B, 4.2 kB, 12 MB."""
    if number < 1000:
        return f"{number} B"
    amount, units = number / 1000, ["kB", "MB", "GB", "TB"]
    while amount >= 999.5 and len(units) > 1:
        amount, units = amount / 1000, units[1:]
    return f"{amount:.1f} {units[0]}" if amount < 9.95 else f"{amount:.0f} {units[0]}"


# -- a whole client ----------------------------------------------------------------------------------------------------


def _client(shell: Shell, client: str, confirm: str | None, *, yes: bool, dry_run: bool) -> int:
    """Everything of a client, once its id was typed: --yes is no answer to that."""
    from ...memory.workspace import ClientRemoved
    from .typed import forget

    hint = f"onepen prune --client {client} --confirm {client}"
    try:
        found = shell.service.removable(client)
    except ClientRemoved:
        if dry_run:
            raise
        result = shell.write(lambda pen: pen.remove_client(client))  # finishes what was broken off
        forget(shell.service.workspace.settings.id, result.client)
        shell.notes(result.notices)
        shell.answer(result, lambda: f"Client {one_line(client)} was removed before; nothing of it is left.\n")
        return 0
    if dry_run:
        shell.answer(found, lambda: _goes(found, shell.terminal.columns) + "Nothing was removed.\n")
        return 0
    what = f"prune: client {client} was not removed"
    if confirm is None:
        shell.tell(_goes(found, shell.terminal.columns))
        confirm = shell.ask(f"Type {client} to remove all of it: ", what=what, hint=hint)
    if confirm != client:
        raise NeedsAnswer(f"{what}: {confirm!r} is not its id", hint=hint)
    result = shell.write(lambda pen: pen.remove_client(client))
    forget(shell.service.workspace.settings.id, result.client)
    shell.notes(result.notices)
    shell.answer(result, lambda: _gone(result))
    return 0


def _goes(found: "RemovalResult", columns: int) -> str:
    title = f" ({one_line(found.title)})" if found.title else ""
    waiting = f", {count(found.waiting, 'draft that waits', 'drafts that wait')}" if found.waiting else ""
    batches = f"  its tasks in {count(found.batches, 'batch', 'batches')}\n" if found.batches else ""
    return wrap(
        f"All of client {one_line(found.client)}{title} goes for good, and its id with it:\n"
        f"  {count(found.cards, 'card')}, {count(found.days, 'day log')}, {count(found.chats, 'chat')}, "
        f"{count(found.tasks, 'task')}{waiting}, {count(found.commits, 'commit')}\n"
        f"  {count(found.files, 'file')} in clients/{one_line(found.client)}/, {size(found.bytes)}\n{batches}"
        "What git, backups and other clones hold, onepen doesn't reach; a clone that merges removes it, too.\n",
        columns,
    )


def _gone(result: "RemovalResult") -> str:
    return (
        f"Removed client {one_line(result.client)}, as {result.commit}: {count(result.files, 'file')}, "
        f"{size(result.bytes)}\n  its tombstone: logs/tombstones.jsonl\n"
    )
