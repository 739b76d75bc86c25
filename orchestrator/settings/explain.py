"""What is in force for a person, and why: which model works where, through which profile, and what it may cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...memory.settings import LimitSettings
from ...staging.policy import table_text
from ..errors import OrchestratorFault
from ..gateway.account import Caps
from ..gateway.address import ANTHROPIC
from .caps import Cap, explained
from .choice import FIRST, model_of, profile_of
from .setup import Profile, Setup

if TYPE_CHECKING:
    from ...memory.ids import ClientId
    from ...memory.workspace import Workspace


@dataclass(frozen=True)
class ProfileView:
    """One profile as people may see it: never a key, only where it comes from."""

    name: str
    base_url: str
    credential: str
    usable: bool
    lacks: str
    model: str | None
    aliases: Mapping[str, str]
    local: bool
    prices: tuple[str, ...]

    def as_json(self) -> Mapping[str, object]:
        return {
            "name": self.name,
            "base_url": self.base_url,
            "credential": self.credential or None,
            "usable": self.usable,
            "lacks": self.lacks or None,
            "model": self.model,
            "aliases": dict(self.aliases),
            "local": self.local,
            "prices": list(self.prices),
        }


@dataclass(frozen=True)
class WorksView:
    """Which model works in a space where nobody names one; `problem` says why none can."""

    client: str | None
    model: str | None
    profile: str | None
    problem: str = ""

    def as_json(self) -> Mapping[str, object]:
        return {
            "client": self.client,
            "model": self.model,
            "profile": self.profile,
            "problem": self.problem or None,
        }


@dataclass(frozen=True)
class ConfigResult:
    """The answer of `config show`. `works` has the house's own space first, then each client's."""

    config: Path
    there: bool
    workspace: str | None
    works: tuple[WorksView, ...]
    profiles: tuple[ProfileView, ...]
    ties: Mapping[str, str]
    caps: tuple[Cap, ...]
    idle_seconds: int
    policy: str
    mirrors: bool
    durability: str
    at_once: int
    workers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    notify: tuple[str, ...] = ()

    def as_json(self) -> Mapping[str, object]:
        return {
            "config": str(self.config),
            "exists": self.there,
            "workspace": self.workspace,
            "works": [one.as_json() for one in self.works],
            "profiles": [profile.as_json() for profile in self.profiles],
            "clients": dict(self.ties),
            "caps": [{"name": cap.name, "value": cap.value, "source": cap.source} for cap in self.caps],
            "idle_seconds": self.idle_seconds,
            "policy": self.policy,
            "git": {"mirror": self.mirrors},
            "durability": self.durability,
            "at_once": self.at_once,
            "workers": {name: list(command) for name, command in self.workers.items()},
            "notify": list(self.notify),
        }


def explain(setup: Setup, config: Path, workspace: "Workspace | None", raised: Caps | None = None) -> ConfigResult:
    """What counts in a workspace, or anywhere; `raised` are the caps that the person allowed this workspace."""
    clients: tuple[ClientId, ...] = () if workspace is None else workspace.clients()
    limits = LimitSettings() if workspace is None else workspace.settings.limits
    return ConfigResult(
        config=config,
        there=setup.source == "config",
        workspace=None if workspace is None else str(workspace.root),
        works=tuple(_works(setup, client) for client in (None, *clients)),
        profiles=tuple(_profile(profile) for profile in setup.profiles.values()),
        ties=dict(setup.ties),
        caps=explained(limits, setup.caps, raised=raised or Caps()),
        idle_seconds=setup.idle_seconds,
        policy=table_text(),
        mirrors=setup.mirrors,
        durability=setup.durability,
        at_once=setup.at_once,
        workers=dict(setup.workers),
        notify=setup.notify,
    )


def _works(setup: Setup, client: "ClientId | None") -> WorksView:
    try:
        model = model_of(setup, None, None, client)
        profile = profile_of(setup, client)
    except OrchestratorFault as e:
        return WorksView(client, None, None, e.message)
    named = profile.name if profile is not None and profile.usable else None
    return WorksView(client, model, named)


def _profile(profile: Profile) -> ProfileView:
    return ProfileView(
        name=profile.name,
        base_url=profile.base_url or ANTHROPIC,
        credential=profile.found,
        usable=profile.usable,
        lacks=profile.lacks,
        model=profile.model or (FIRST if profile.base_url is not None else None),
        aliases=profile.models,
        local=profile.local,
        prices=tuple(sorted(profile.prices)),
    )
