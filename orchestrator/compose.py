"""The composition root: the one place where the real clock, ids, pool and models are put together."""

import getpass
import os
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..memory.clock import Clock, SystemClock
from ..memory.errors import MemoryFault
from ..memory.ids import TaskId
from ..memory.view import View
from ..memory.workspace import Workspace, open_workspace
from .service import Service
from .settings.redact import Known, held_in

if TYPE_CHECKING:
    from ..subagents.process.forkserver import ForkServer
    from .pens import HeldPen
    from .settings.config import Config
    from .settings.models import Models
    from .settings.setup import Setup
    from .tasks.workshop import Workshop
    from .witness import Witness

_LETTERS = "abcdefghjkmnpqrstvwxyz"
_SIGNS = "0123456789" + _LETTERS  # without i, l, o, u: nothing to mix up, no words
_LENGTH = 8


class RandomIds:
    """New ids of eight signs: among a thousand tasks two are equal once in a million times."""

    def task(self) -> TaskId:
        first = secrets.choice(_LETTERS)
        return TaskId(first + "".join(secrets.choice(_SIGNS) for _ in range(_LENGTH - 1)))


def build_service(root: Path, *, clock: Clock | None = None) -> Service:
    """The service of the workspace in `root`, for reading, for short writing, and for a library.

    Each piece of writing takes the pen for itself. The workshop, the models and the person's config are made when work
    is run, so that reading commands stay quick. Raises NoWorkspace or SettingsUnreadable.
    """
    workspace = open_workspace(root)
    now = clock or SystemClock(workspace.settings.timezone)
    known = Known(held_in(os.environ))
    workshop = cache(lambda: _workshop(now, workspace, known, _own_config(), _fork_server()))
    return Service(
        workspace,
        clock=now,
        ids=RandomIds(),
        workshop=workshop,
        models=lambda setup: _models(setup, workshop()),
        user=_user(),
        setup=lambda: _setup(workspace.settings.id),
        known=known,
        witness=lambda: _at_once(workspace, now),
    )


@dataclass(frozen=True)
class Orchestrator:
    """What a process holds that is the orchestrator of a workspace.

    `known` are the credentials that requests brought along, to be masked; `notices` say what the beginning found and
    did.
    """

    service: Service
    pen: "HeldPen"
    workshop: "Workshop"
    known: "Known"
    notices: tuple[str, ...]


@asynccontextmanager
async def build_orchestrator(
    root: Path,
    *,
    clock: Clock | None = None,
    wait: float = 10.0,
    on_broken: Callable[[MemoryFault], None] = lambda _: None,
    setup: "Setup | None" = None,
    models: "Callable[[Setup], Models] | None" = None,
) -> AsyncIterator[Orchestrator]:
    """Takes the pen of the workspace in `root` for as long as the context lasts, and serves any number of people.

    `setup` is for requests that bring none: no setting is read from the environment or the person's config. `models`
    gives other models than those that a request's setup names. `on_broken`
    is told when the pen is lost or in doubt, and then the process has to end. Raises NoWorkspace, SettingsUnreadable,
    PenHeld after `wait` seconds, RedoDamaged or an OSError. Whether git is to follow is asked of the person's config at
    each commit.
    """
    import asyncio

    from anyio import CancelScope

    from .commit import Durability
    from .pens import HeldPen
    from .settings.setup import NOTHING
    from .tasks.desk import Desk
    from .tasks.recover import recover

    workspace = open_workspace(root)
    now = clock or SystemClock(workspace.settings.timezone)
    view = View(workspace)
    known = Known(held_in(os.environ))
    config = _own_config()
    server = _fork_server()
    workshop = _workshop(now, workspace, known, config, server)
    with HeldPen.open(
        view,
        now,
        wait=wait,
        on_broken=on_broken,
        witness=lambda: _behind(workspace, now),
        durability=Durability(config.durability),
        later=asyncio.get_running_loop().call_later,
    ) as pen:
        if server is not None:
            server.start_early()
        lost = recover(Desk(view, now), view)
        service = Service(
            workspace,
            clock=now,
            ids=RandomIds(),
            workshop=lambda: workshop,
            models=models or (lambda setup: _models(setup, workshop)),
            user=_user(),
            setup=lambda: setup or NOTHING,
            pens=pen,
            known=known,
        )
        try:
            yield Orchestrator(service, pen, workshop, known, (*pen.notices, *lost, *_crowded(workshop, config)))
        finally:
            with CancelScope(shield=True):
                if server is not None:
                    await server.close()
                await workshop.gateway.close()


def _workshop(
    clock: Clock, workspace: Workspace, known: Known, config: "Config", server: "ForkServer | None"
) -> "Workshop":
    from anyio import CapacityLimiter

    from ..subagents.pool import ProcessPool
    from ..subagents.process.descriptors import make_room
    from ..subagents.sandbox.level import probe
    from .gateway.gateway import Gateway
    from .gateway.ledger import Ledger
    from .gateway.outstanding import Outstanding
    from .gateway.spent import spent
    from .tasks.workshop import Workshop

    ledger = Ledger(before=lambda day: spent(workspace.spaces(), day))
    gateway = Gateway(ledger, outstanding=Outstanding(workspace.root), clock=clock)
    level = probe()
    pool = ProcessPool(mask=known.mask, server=server, level=level)
    return Workshop(pool, gateway, CapacityLimiter(make_room(config.workers.at_once)), level=level)


def _crowded(workshop: "Workshop", config: "Config") -> tuple[str, ...]:
    """What to say where fewer workers fit than the person wants."""
    room, wanted = round(workshop.slots.total_tokens), config.workers.at_once
    why = f"at_once is {wanted}, but this process may not open the files for so many (ulimit -n)"
    return (f"{room} workers run at the same time: {why}",) if room < wanted else ()


def _fork_server() -> "ForkServer | None":
    """Not started yet; None where there can be none, and each worker is a plain child."""
    from ..subagents.environment import child_environment
    from ..subagents.process.forkserver import ForkServer

    return ForkServer(child_environment(os.environ)) if ForkServer.possible() else None


def _at_once(workspace: Workspace, clock: Clock) -> "Witness | None":
    """The mirror of a short piece of work; without one, nothing more is imported."""
    from .mirror.standing import read_mirror
    from .mirror.wanted import Wanted

    wanted = Wanted(workspace.settings.id)
    if not wanted.perhaps and read_mirror(workspace.root) is None:
        return None
    from .mirror.following import AtOnce
    from .mirror.mirror import Mirror

    return AtOnce(Mirror(workspace, clock, os.environ, wanted))


def _behind(workspace: Workspace, clock: Clock) -> "Witness":
    from .mirror.following import Behind
    from .mirror.mirror import Mirror
    from .mirror.wanted import Wanted

    return Behind(Mirror(workspace, clock, os.environ, Wanted(workspace.settings.id)))


def _own_config() -> "Config":
    """What of the person's own config is the process's, not a request's; as if there were none where it can't be read.

    The next command that works says why.
    """
    from .settings.config import Config, ConfigUnreadable, load_config
    from .settings.place import config_file

    try:
        return load_config(config_file()) or Config()
    except ConfigUnreadable:
        return Config()


def _models(setup: "Setup", workshop: "Workshop") -> "Models":
    from .settings.models import Resolver

    return Resolver(setup, workshop.gateway.clients)


def _setup(workspace: str) -> "Setup":
    from .settings.load import load_setup

    return load_setup(os.environ, workspace)


def _user() -> str:
    """The person's login, as it stands in histories; one word."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = str(os.getuid())
    return "".join(c for c in name if c.isalnum() or c in "._-") or "unknown"
