"""Commands that only read: they need neither pen nor worker, and import as little as they can."""

from typing import Annotated

import typer

from .failure import BadText
from .options import AllClients, DraftArgument
from .shell import Shell

_PLACES = ("cards", "log", "chat", "research")


def turn(shell: Shell) -> int:
    """`onepen` alone: whose turn it is, in the space where you stand; what waits in others is counted."""
    from . import standing

    status = shell.service.status(shell.client)
    waiting = shell.service.drafts(shell.client)
    shell.notes(waiting.notices)
    now = standing.Turn(status, waiting, shell.service.elsewhere(shell.client))
    shell.answer(now, lambda: standing.turn(now, shell.terminal))
    return 0


def status(
    shell: Shell,
    all_clients: AllClients = False,
    watch: Annotated[bool, typer.Option("--watch", help="Show who is at work, again and again, until Ctrl-C.")] = False,
) -> int:
    if watch:
        from .watching import watch as watched

        return watched(shell, all_clients=all_clients)
    from . import standing

    result = shell.service.status(None if all_clients else shell.client, all_clients=all_clients)
    shell.notes((*result.notices, *_unmet(shell)))
    shell.answer(result, lambda: standing.status(result, shell.terminal))
    return 0


def drafts(
    shell: Shell,
    all_clients: AllClients = False,
    every: Annotated[bool, typer.Option("--all", help="Also those that were already decided.")] = False,
) -> int:
    from . import drafting

    result = shell.service.drafts(None if all_clients else shell.client, all_clients=all_clients, every=every)
    shell.notes(result.notices)
    shell.answer(result, lambda: drafting.listed(result, shell.terminal))
    return 0


def show(shell: Shell, draft: DraftArgument) -> int:
    from . import drafting

    result = shell.service.show(draft)
    shell.answer(result, lambda: drafting.shown(result, shell.terminal))
    return 0


def search(
    shell: Shell,
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="What to look for; '-' reads it from stdin.")],
    since: Annotated[str | None, typer.Option(metavar="DAY", help="Not before this day, such as 2026-11-01.")] = None,
    until: Annotated[str | None, typer.Option(metavar="DAY", help="Not after this day.")] = None,
    where: Annotated[
        str | None,
        typer.Option("--in", metavar="PLACES", help="Some of cards,log,chat,research (findings alone). [all]"),
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="At most so many hits.", min=1, max=1000)] = 10,
    all_clients: AllClients = False,
) -> int:
    from ..service import SearchRequest
    from . import listing
    from .values import days, places

    words = shell.text(" ".join(text), "TEXT")
    if not words.strip():
        raise BadText("TEXT: say what to look for")
    first, last = days(since, until)
    request = SearchRequest(
        text=words,
        client=None if all_clients else shell.client,
        all_clients=all_clients,
        since=first,
        until=last,
        where=places(where, _PLACES),
        limit=limit,
    )
    result = shell.service.search(request)
    today = shell.service.today()
    shell.answer(result, lambda: listing.hits(result, shell.terminal, today))
    return 0


def context(
    shell: Shell,
    chat: Annotated[
        str | None, typer.Argument(metavar="CHAT", help="A chat that goes on, or 'last'. [one that would begin now]")
    ] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what has changed since CHAT's prompt was put together. [the last chat]")
    ] = False,
    layer: Annotated[
        str | None,
        typer.Option("--layer", metavar="NAME", help="Print one of B, A, I, S, C or tools exactly as it is sent."),
    ] = None,
) -> int:
    from . import prompting
    from .text import visible

    if diff and layer is not None:
        raise BadText("--layer prints a layer as it is; leave out one of --diff and --layer")
    if diff:
        changed = shell.service.context_diff(shell.client, chat or "last")
        shell.answer(changed, lambda: prompting.changed(changed, shell.terminal))
        return 0
    result = shell.service.context(shell.client, chat)
    text = None if layer is None else prompting.text_of(result, layer)
    if text is not None and not shell.common.json:
        shell.answer(result, lambda: visible(text) if shell.terminal.talks else text)
        return 0
    shell.notes(result.notices)
    shell.answer(result, lambda: prompting.layers(result, shell.terminal))
    return 0


def _unmet(shell: Shell) -> tuple[str, ...]:
    """That the workspace wishes something which the person has not allowed as it stands."""
    settings = shell.service.workspace.settings
    if not settings.wishes.model_fields_set:
        return ()
    from ..settings.grants import trust_file, trusted, unread
    from ..settings.setup import Setup
    from ..settings.trust import in_force

    notice = in_force(settings, Setup(trusted=trusted(trust_file()))).notice
    return tuple(filter(None, (unread(trust_file()), notice)))
