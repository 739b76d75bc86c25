"""The composition root: the one place where the real clock, ids, pool and models are put together."""

import getpass
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from ..memory.clock import Clock, SystemClock
from ..memory.ids import TaskId
from ..memory.workspace import open_workspace
from .service import Service

if TYPE_CHECKING:
    from ..subagents.pool import Pool
    from .models import Models

_LETTERS = "abcdefghjkmnpqrstvwxyz"
_SIGNS = "0123456789" + _LETTERS  # without i, l, o, u: nothing to mix up, no words
_LENGTH = 8


class RandomIds:
    """New ids of eight signs: among a thousand tasks two are equal once in a million times."""

    def task(self) -> TaskId:
        first = secrets.choice(_LETTERS)
        return TaskId(first + "".join(secrets.choice(_SIGNS) for _ in range(_LENGTH - 1)))


def build_service(root: Path, *, clock: Clock | None = None) -> Service:
    """The service of the workspace in `root`; raises NoWorkspace or SettingsUnreadable.

    The pool, the models and the person's config are made when work is run, so that reading commands stay quick.
    """
    workspace = open_workspace(root)
    return Service(
        workspace,
        clock=clock or SystemClock(workspace.settings.timezone),
        ids=RandomIds(),
        pool=_pool,
        models=_models,
        user=_user(),
        model=_model,
    )


def _pool() -> "Pool":
    from ..subagents.pool import ProcessPool

    return ProcessPool()


def _models() -> "Models":
    from .models import Resolver

    return Resolver()


def _model() -> str:
    from .config import load_config

    return load_config().model


def _user() -> str:
    """The person's login, as it stands in histories; one word."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = str(os.getuid())
    return "".join(c for c in name if c.isalnum() or c in "._-") or "unknown"
