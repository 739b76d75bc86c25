"""Which model a task gets, and through which of the person's profiles: decided from names alone, nothing is called."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..errors import OrchestratorFault

if TYPE_CHECKING:
    from ...memory.ids import ClientId
    from ...subagents.definition import AgentDefinition
    from .setup import Profile, Setup

OFFLINE = "offline"
SCRIPTED = "scripted:"
INHERIT = "inherit"
FIRST = "default"
"""The name of whatever a server of one's own lists first."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {"sonnet": "claude-sonnet-5-5", "opus": "claude-opus-5-5", "haiku": "claude-haiku-5-5"}
)
"""What Claude Code's short names mean where the person's profile says nothing else."""

ORDINARY = "default"
"""The profile that is used where nothing is said; the environment's own key makes one."""

USUAL = "sonnet"
"""What works where there is a key and no word."""

_ANTHROPIC = "api.anthropic.com"


class NoSuchProfile(OrchestratorFault):
    """Raised when a profile is named that the person's config doesn't have."""

    exit_code = 2

    def __init__(self, name: str, by: str, known: tuple[str, ...]) -> None:
        listed = ", ".join(known) or "none"
        super().__init__(
            f"profile {name!r} ({by}): not in your config, which has {listed}; it is written as a table "
            f"[profiles.{name}] there",
            hint="onepen config show",
        )


class ProfileContradicts(OrchestratorFault):
    """Raised when a request names another profile than the one to which its client is tied."""

    exit_code = 2

    def __init__(self, client: str, tied: str, asked: str) -> None:
        super().__init__(
            f"client {client} is tied to profile {tied} by your config, so --profile {asked} is not used for it",
            hint="onepen config show",
        )


class ProfileUnusable(OrchestratorFault):
    """Raised when a profile has to be used and nothing can be called with it; another one is never used instead."""

    exit_code = 2

    def __init__(self, profile: "Profile", why: str) -> None:
        lacks = profile.lacks or "it names neither a key (key_env, token_env, keyring) nor a server (base_url)"
        super().__init__(
            f"profile {profile.name} ({why}) can't be used: {lacks}; --model offline works without one",
            hint="onepen config show",
        )


def free(name: str) -> bool:
    """Whether a name means a model that runs inside onepen."""
    return name == OFFLINE or name.startswith(SCRIPTED)


def profile_of(setup: "Setup", client: "ClientId | None") -> "Profile | None":
    """The one profile that may be used for a client's space, whether it can be used or not; None: there is none.

    A tie comes before all else. Raises ProfileContradicts or NoSuchProfile.
    """
    tied = None if client is None else setup.ties.get(client)
    if tied is not None:
        if setup.via not in (None, tied):
            raise ProfileContradicts(str(client), tied, str(setup.via))
        return _named(setup, tied, f"client {client} is tied to it")
    if setup.via is not None:
        return _named(setup, setup.via, "--profile")
    if setup.profile != ORDINARY:
        return _named(setup, setup.profile, "your usual one")
    return setup.profiles.get(ORDINARY)


def usable_profile(setup: "Setup", client: "ClientId | None") -> "Profile | None":
    """As `profile_of`, but None where no server and no key was named anywhere.

    Raises ProfileUnusable where one was named, and what `profile_of` raises.
    """
    profile = profile_of(setup, client)
    if profile is None or profile.usable:
        return profile
    if client is not None and client in setup.ties:
        raise ProfileUnusable(profile, f"client {client} is tied to it")
    if setup.via is not None:
        raise ProfileUnusable(profile, "--profile")
    if profile.lacks or profile.name != ORDINARY:
        raise ProfileUnusable(profile, "your usual one")
    return None


def model_of(setup: "Setup", asked: str | None, agent: "AgentDefinition | None", client: "ClientId | None") -> str:
    """The name by which a new task or chat keeps its model: what was asked for, what the agent's definition says, else
    the person's own choice.

    An alias becomes the id that it means now, so that the same model goes on with the task later. `agent` None: the
    main agent. Raises what `usable_profile` raises.
    """
    if asked is not None and free(asked):
        return asked
    usual = setup.model or ""
    if free(usual) and asked in (None, INHERIT):
        return usual
    profile = usable_profile(setup, client)
    if asked not in (None, INHERIT):
        return meaning(str(asked), profile)
    usual = usual if usual not in ("", INHERIT) else _usual_of(setup, profile, client)
    if free(usual):
        return usual
    wanted = INHERIT if agent is None else agent.model
    # A definition comes with the workspace, so it can't name a script to be read; and its short names are Claude's,
    # so a server of one's own that doesn't say what they mean works with its usual model.
    if wanted == INHERIT or free(wanted) or (wanted in ALIASES and not _means(wanted, profile)):
        wanted = usual
    return meaning(wanted, profile)


def meaning(name: str, profile: "Profile | None") -> str:
    """The id that a name means with a profile; a name that is no alias is an id."""
    said = profile.models if profile is not None else {}
    return said.get(name) or ALIASES.get(name, name)


def _means(alias: str, profile: "Profile | None") -> bool:
    return profile is None or alias in profile.models or not own_server(profile)


def own_server(profile: "Profile") -> bool:
    """Whether the profile's server is another than Anthropic's own."""
    return profile.base_url is not None and urlsplit(profile.base_url).hostname != _ANTHROPIC


def _usual_of(setup: "Setup", profile: "Profile | None", client: "ClientId | None") -> str:
    if profile is None:
        # Without a key, a model that was chosen is said to be out of reach; it isn't quietly replaced.
        ordinary = profile_of(setup, client)
        return (ordinary.model if ordinary is not None else None) or OFFLINE
    if profile.model is not None:
        return profile.model
    return FIRST if own_server(profile) else USUAL


def _named(setup: "Setup", name: str, by: str) -> "Profile":
    found = setup.profiles.get(name)
    if found is None:
        raise NoSuchProfile(name, by, tuple(sorted(setup.profiles)))
    return found
