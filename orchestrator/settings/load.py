"""From the shell's environment and the person's config to the setup that a request brings along.

A flag comes before `ONEPEN_*` in the environment, that before the config, and that before what onepen does by itself.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..errors import OrchestratorFault
from ..gateway.account import Caps
from ..gateway.price import Price
from .choice import FIRST, ORDINARY, free
from .config import Config, ConfigUnreadable, PriceTable, ProfileTable, address, config_file, load_config
from .grants import trust_file, trusted
from .keyring import key_from_keyring
from .setup import Profile, Secret, Setup

KEY, TOKEN, URL = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"
_WRITE_RATIO = 1.25


class CredentialUnusable(OrchestratorFault):
    """Raised when an environment variable holds what can't be a key; its value is not told."""

    exit_code = 2

    def __init__(self, variable: str) -> None:
        super().__init__(f"{variable}: holds a blank, a line break or a character beyond ASCII, so it is no key")


def load_setup(env: Mapping[str, str], workspace: str, *, via: str | None = None, path: Path | None = None) -> Setup:
    """What the person's shell and config say for the workspace of that id; `via` is --profile.

    Only the keys of profiles that may be used are looked for in the keyring. Raises ConfigUnreadable,
    CredentialUnusable or TrustUnreadable; a key that is merely missing is said when it is needed.
    """
    config = load_config(path or config_file())
    said = config or Config()
    usual = _set(env, "ONEPEN_PROFILE") or said.profile or ORDINARY
    ties = _ties(said.clients, workspace)
    tables = {ORDINARY: ProfileTable(), **said.profiles}
    wanted = {usual, *ties.values(), *([via] if via is not None else [])}
    profiles = {name: _profile(name, table, env, look=name in wanted) for name, table in tables.items()}
    named = _set(env, "ONEPEN_MODEL")
    model = named or (said.model if said.model is not None and free(said.model) else None)
    if named is None and model is None and said.model is not None and usual in profiles:
        # A model's name means something at one server only, so the config's is the usual profile's.
        ordinary = profiles[usual]
        profiles[usual] = replace(ordinary, model=ordinary.model or said.model)
    budget = said.budget
    return Setup(
        model=model,
        profiles=profiles,
        ties=ties,
        caps=Caps(budget.task_usd, budget.day_usd, budget.client_day_usd, budget.task_tokens, budget.day_tokens),
        trusted=trusted(trust_file()),
        via=via,
        profile=usual,
        idle_seconds=said.idle_seconds,
        mirrors=said.git.mirrors(workspace),
        durability=said.durability,
        at_once=said.workers.at_once,
        workers={name: tuple(table.command) for name, table in said.workers.named.items()},
        notify=tuple(said.notify.command),
        source="none" if config is None else "config",
    )


def _ties(clients: Mapping[str, str], workspace: str) -> dict[str, str]:
    """The ties that count in one workspace; one that names it comes before one that doesn't."""
    own = f"{workspace}/"
    general = {client: name for client, name in clients.items() if "/" not in client}
    return general | {c.removeprefix(own): name for c, name in clients.items() if c.startswith(own)}


def _profile(name: str, table: ProfileTable, env: Mapping[str, str], *, look: bool) -> Profile:
    url, key_env, token_env = table.base_url, table.key_env, table.token_env
    lacks, found = "", ""
    if name == ORDINARY and not (url or key_env or token_env or table.keyring):
        # Where the config names no server and no key of its own, the environment's go together.
        url = _url(env)
        key, token = _secret(env, KEY), _secret(env, TOKEN)
        key_env, token_env = KEY, TOKEN
    else:
        key = None if key_env is None else _secret(env, key_env)
        token = None if token_env is None else _secret(env, token_env)
        missing = [v for v, value in ((key_env, key), (token_env, token)) if v is not None and value is None]
        lacks = f"the environment has no {' and no '.join(missing)}" if missing else ""
        if table.keyring and key is None:
            key, lacks = key_from_keyring(name) if look else (None, "its key was not looked for in the keyring")
            found = "the keyring" if key is not None else ""
    named = [variable for variable, value in ((key_env, key), (token_env, token)) if value is not None]
    found = found or " and ".join(variable for variable in named if variable is not None)
    aliases = {"sonnet": table.sonnet, "opus": table.opus, "haiku": table.haiku}
    return Profile(
        name=name,
        base_url=url,
        key=key,
        token=token,
        model=table.model if table.model != FIRST else None,
        local=table.local,
        models={alias: id_ for alias, id_ in aliases.items() if id_ is not None},
        prices={id_: _price(rates) for id_, rates in table.prices.items()},
        silence_seconds=table.silence_seconds,
        call_seconds=table.call_seconds,
        patience_seconds=table.patience_seconds,
        lacks=lacks,
        found=found,
        cached_from=table.cached_from,
        diagnostics=table.diagnostics,
    )


def _price(rates: PriceTable) -> Price:
    write = rates.input * _WRITE_RATIO if rates.cache_write is None else rates.cache_write
    read = rates.input if rates.cache_read is None else rates.cache_read
    return Price(rates.input, write, read, rates.output, cache_write_1h=rates.cache_write_1h)


def _url(env: Mapping[str, str]) -> str | None:
    value = _set(env, URL)
    if value is None:
        return None
    try:
        return address(value)
    except ValueError as e:
        raise ConfigUnreadable(URL, str(e)) from e


def _secret(env: Mapping[str, str], variable: str) -> Secret | None:
    value = _set(env, variable)
    if value is None:
        return None
    if not value.isascii() or not value.isprintable() or " " in value:
        raise CredentialUnusable(variable)
    return Secret(value)


def _set(env: Mapping[str, str], variable: str) -> str | None:
    """The variable's value; an empty one counts as none."""
    return env.get(variable, "").strip() or None
