"""The person's own config, `~/.config/onepen/config.toml`: what a workspace may never switch on by itself.

It names servers, where keys are found, budgets, and which client's work goes where. Keys don't stand in it. Imported
only by commands that run work or show settings.
"""

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator, model_validator

from ...memory.ids import shown
from ...memory.misfit import misfits
from ...subagents.process.descriptors import AT_ONCE
from ..errors import OrchestratorFault
from ..gateway.address import on_this_machine
from .place import FILE as FILE
from .place import config_file as config_file

_INSTEAD = 'name the variable that holds it, such as key_env = "ACME_KEY", or write keyring = true'
_KEYS = frozenset({"key", "api_key", "apikey", "token", "auth_token", "secret", "password", "credential"})


class ConfigUnreadable(OrchestratorFault):
    """Raised when the person's config is no TOML or says something it may not; the message says what to write."""

    exit_code = 2

    def __init__(self, place: Path | str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _holds_no_key(cls, values: object) -> object:
        if isinstance(values, dict) and (found := sorted(_KEYS & {str(key).lower() for key in values})):
            raise ValueError(f"has {found[0]}: a key doesn't stand in this file; {_INSTEAD}")
        return values


_Rate = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
_Usd = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
_Tokens = Annotated[int, Field(ge=0, le=10**12)]
_Least = Annotated[int, Field(ge=1, le=1_000_000)]
_Name = Annotated[str, StringConstraints(min_length=1, max_length=400, strip_whitespace=True)]


class PriceTable(_Table):
    """What a model's tokens cost, in US dollars for a million; it comes before the prices that onepen knows."""

    input: _Rate
    """Tokens that are neither written to nor read from a cache."""
    output: _Rate
    """Tokens of the reply."""
    cache_write: _Rate | None = None
    """Tokens written to the cache; without it, 1.25 times `input`."""
    cache_write_1h: _Rate | None = None
    """Tokens written to the cache for an hour; without it, twice `input`, or `cache_write` where that is no dearer than
    `input`."""
    cache_read: _Rate | None = None
    """Tokens read from the cache; without it, the same as `input`: a server that caches for less has to say so."""


class ProfileTable(_Table):
    """One way to reach models: a server, where its key is found, and what you say of its models."""

    base_url: str | None = None
    """The server's address, such as "http://127.0.0.1:8080"; without it, Anthropic's own."""
    key_env: str | None = None
    """The name of the environment variable that holds the key (sent as X-Api-Key)."""
    token_env: str | None = None
    """The name of the environment variable that holds a token (sent as Authorization: Bearer)."""
    keyring: bool = False
    """The key is in the system's keyring: service `onepen`, user the profile's name (`pip install onepen[keyring]`)."""
    model: _Name | None = None
    """The model that works where none is named; at a server of your own, the first that it lists."""
    local: bool = False
    """The server must be on this machine: any other address is refused, whatever `base_url` says one day."""
    sonnet: _Name | None = None
    """The model that an agent's `model: sonnet` means here."""
    opus: _Name | None = None
    """The model that an agent's `model: opus` means here."""
    haiku: _Name | None = None
    """The model that an agent's `model: haiku` means here."""
    silence_seconds: float = Field(default=180.0, ge=1, le=86_400, allow_inf_nan=False)
    """How long the server may send nothing before a call is given up."""
    call_seconds: float = Field(default=900.0, ge=1, le=86_400, allow_inf_nan=False)
    """How long one call may take."""
    patience_seconds: float = Field(default=1_800.0, ge=0, le=604_800, allow_inf_nan=False)
    """How long one call may be put off in all while the server asks to wait or doesn't answer."""
    prices: dict[str, PriceTable] = Field(default_factory=dict)
    """Prices by model id: a table [profiles.NAME.prices."ID"]."""
    cached_from: dict[str, _Least] = Field(default_factory=dict)
    """From how many tokens on a model caches a prompt, by its id: a table [profiles.NAME.cached_from]; without it, what
    onepen knows and what the server's counters have shown."""
    diagnostics: bool | None = None
    """Whether the server is asked why its cache missed (`diagnostics` of the Messages API); without it, Anthropic's own
    is, and no other."""

    @field_validator("key_env", "token_env")
    @classmethod
    def _names_a_variable(cls, name: str | None) -> str | None:
        # Whoever writes the key itself here is not shown it again.
        if name is not None and (not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name) or _looks_secret(name)):
            raise ValueError('is no name of a variable: write the name, such as "ACME_KEY", never the key itself')
        return name

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, url: str | None) -> str | None:
        return None if url is None else address(url)

    @model_validator(mode="after")
    def _fits_together(self) -> "ProfileTable":
        if self.local and self.base_url is not None and not on_this_machine(self.base_url):
            raise ValueError("says local = true, so base_url has to be on this machine, such as http://127.0.0.1:8080")
        return self


class BudgetTable(_Table):
    """Your own caps. They bound what any workspace allows, and without them onepen's cautious ones do."""

    task_usd: _Usd | None = None
    """What one task may cost in US dollars: all its attempts and reviews together."""
    day_usd: _Usd | None = None
    """What a workspace may cost a day in US dollars."""
    client_day_usd: _Usd | None = None
    """What one client's space may cost a day in US dollars."""
    task_tokens: _Tokens | None = None
    """How many tokens one task may use where the model's price is unknown."""
    day_tokens: _Tokens | None = None
    """How many tokens a workspace may use a day where the model's price is unknown."""


class GitTable(_Table):
    """The git mirror: what onepen commits is committed to git, too (docs/how-to/git.md)."""

    mirror: bool = False
    """In every workspace that is a git repository of its own."""
    workspaces: dict[str, bool] = Field(default_factory=dict)
    """In single ones, or not in them: a table [git.workspaces] of `"WORKSPACE-ID" = true`; the id stands in its
    onepen.toml."""

    @field_validator("workspaces")
    @classmethod
    def _are_workspaces(cls, said: dict[str, bool]) -> dict[str, bool]:
        for workspace in said:
            if not _WORKSPACE.fullmatch(workspace):
                raise ValueError(f"has {shown(workspace)}, which is no id: it stands in the workspace's onepen.toml")
        return said

    def mirrors(self, workspace: str) -> bool:
        """Whether the workspace of that id is to be mirrored."""
        return self.workspaces.get(workspace, self.mirror)


class NotifyTable(_Table):
    """A program that is told when a batch has ended (docs/how-to/batches.md)."""

    command: list[str] = []
    """The program and its arguments, such as ["notify-send", "onepen"]; a line that says how it went comes behind them,
    the batch as JSON on its stdin. It runs without a shell, in the folder /, for ten seconds at most."""

    @field_validator("command")
    @classmethod
    def _can_be_found(cls, command: list[str]) -> list[str]:
        return _program(command, '["notify-send", "onepen"]') if command else command


class WorkerTable(_Table):
    """A program of your own that works as a sub-agent (docs/how-to/foreign-workers.md)."""

    command: list[str]
    """The program and its arguments, such as ["~/bin/poet", "--fast"]; it runs in a sandbox, in the folder /."""

    @field_validator("command")
    @classmethod
    def _can_be_found(cls, command: list[str]) -> list[str]:
        return _program(command, '["~/bin/poet"]')


class WorkersTable(BaseModel):
    """The processes that make attempts."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, WorkerTable]

    at_once: int = Field(default=AT_ONCE, ge=1, le=1_000)
    """How many run at the same time; others wait until one has ended. It counts from the orchestrator's next start."""

    @property
    def named(self) -> dict[str, WorkerTable]:
        """The programs that work as sub-agents, by name."""
        return dict(self.__pydantic_extra__ or {})

    @model_validator(mode="after")
    def _have_names(self) -> "WorkersTable":
        for name in self.named:
            if not _WORKER.fullmatch(name):
                raise ValueError(f"has {shown(name)}, which is no name: write small letters, digits and '-'")
        return self


def _program(command: list[str], example: str) -> list[str]:
    """A command line as it is started; raises ValueError for one that can't be.

    It runs in the folder /, so whatever is meant by a relative path is not found there, or is another file.
    """
    if not command or not all(part and "\0" not in part for part in command):
        raise ValueError(f"names no program: write one such as {example}")
    found = [os.path.expanduser(part) if part.startswith("~/") else part for part in command]  # noqa: PTH111
    if "/" in found[0] and not found[0].startswith("/"):
        raise ValueError(f"has {shown(found[0])}: write its whole path, or a bare name that is on your PATH")
    return found


_WORKER = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_WORKSPACE = re.compile(r"[0-9a-z]{8,32}")
_CLIENT = re.compile(r"([0-9a-z]{8,32}/)?[a-z0-9][a-z0-9-]{0,63}")


class Config(_Table):
    """Your own settings, for all workspaces on this machine, read from `~/.config/onepen/config.toml`."""

    model: _Name | None = None
    """The model that works where none is named: `offline`, `sonnet`, `opus`, `haiku`, or an id that the server knows.

    Without it Claude (`sonnet`) works where there is a key, and `offline` elsewhere. `ONEPEN_MODEL` comes before it.
    """
    profile: _Name | None = None
    """The profile that is used where nothing else is said; without it, the one named `default`.

    `ONEPEN_PROFILE` comes before it. Without a profile `default`, ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN and
    ANTHROPIC_BASE_URL in the environment make one.
    """
    idle_seconds: int = Field(default=600, ge=1, le=604_800)
    """How long an orchestrator with nothing to do stays in the background."""
    durability: Literal["full", "lazy"] = "full"
    """When what an orchestrator commits counts as made: `full`, once it is on the disk; `lazy`, once the system has it.

    With `lazy` a power cut may take the last second, and a killed process nothing; neither ever leaves a mixture of old
    and new. It counts from the orchestrator's next start on.
    """
    profiles: dict[_Name, ProfileTable] = Field(default_factory=dict)
    """The ways to reach models: a table [profiles.NAME] each."""
    clients: dict[str, _Name] = Field(default_factory=dict)
    """Ties: the profile that a client's work goes through, and no other, such as acme = "acme-account".

    `"WORKSPACE-ID/acme"` ties that client of one workspace only; the id stands in its onepen.toml.
    """
    budget: BudgetTable = BudgetTable()
    """Your caps: a table [budget]."""
    git: GitTable = GitTable()
    """The git mirror: a table [git]."""
    workers: WorkersTable = WorkersTable()
    """The processes that make attempts: a table [workers], and [workers.NAME] for each program of your own."""
    notify: NotifyTable = NotifyTable()
    """What is run when a batch has ended: a table [notify]."""

    @field_validator("clients")
    @classmethod
    def _are_clients(cls, ties: dict[str, str]) -> dict[str, str]:
        for client in ties:
            if not _CLIENT.fullmatch(client):
                raise ValueError(f'has {shown(client)}, which is no client: write acme or "WORKSPACE-ID/acme"')
        return ties

    @model_validator(mode="after")
    def _profiles_are_there(self) -> "Config":
        known = {"default", *self.profiles}
        for client, name in self.clients.items():
            if name not in known:
                raise ValueError(f"ties client {client} to profile {name}, which isn't there: write [profiles.{name}]")
        if self.profile is not None and self.profile not in known:
            raise ValueError(f"has profile = {self.profile!r}, which isn't there: write [profiles.{self.profile}]")
        return self


def load_config(path: Path) -> Config | None:
    """The config in a file, None where there is none; raises ConfigUnreadable."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return None
    except OSError as e:
        raise ConfigUnreadable(path, f"can't be read: {e.strerror or e}") from e
    except UnicodeDecodeError as e:
        raise ConfigUnreadable(path, "is not UTF-8 text") from e
    return parse_config(text, path)


def parse_config(text: str, path: Path | str = FILE) -> Config:
    """The config in a file's text; raises ConfigUnreadable, which repeats no key that stands there."""
    from ...staging.secret import secret_findings

    for finding in secret_findings(text, first_line=1):
        if finding.level == "block":
            raise ConfigUnreadable(path, f"line {finding.line}: a key or password stands here; {_INSTEAD}")
    try:
        return Config.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as e:
        raise ConfigUnreadable(path, f"this is not TOML: {e}") from e
    except ValidationError as e:
        errors = [dict(error) for error in e.errors(include_url=False)]
        raise ConfigUnreadable(path, "; ".join(str(found).strip() for found in misfits(text, errors, {}))) from e


def address(url: str) -> str:
    """A server's address as it is used, without the ending that the API's paths bring themselves; raises ValueError."""
    parts = urlsplit(url.strip())
    if parts.username is not None or parts.password is not None:
        raise ValueError("holds a name or password: a key doesn't stand in an address; name it by key_env")
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ValueError('is no address of a server: write one such as "https://llm.example.org"')
    path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path}"


def _looks_secret(text: str) -> bool:
    from ...staging.secret import mask

    return mask(text) != text
