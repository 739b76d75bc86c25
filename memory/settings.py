"""What `onepen.toml` may say about a workspace: facts and limits, nothing that switches something on.

Base URLs, keys, commands, hooks, automatic approval and higher budgets come from the person's own config only.
"""

import tomllib
from typing import Annotated, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from .errors import MemoryFault
from .ids import shown
from .misfit import misfits

_ZONE = '"Europe/Berlin"'
_OWN = "is not for a workspace to say, since it comes from your own config only: remove it"
_WISH = "is a wish, which counts once you allow it: put it below [wishes], then see onepen trust"
_WANTED = {
    **dict.fromkeys(("base_url", "key", "api_key", "key_env", "token", "profiles", "provider", "clients"), _OWN),
    **dict.fromkeys(("wishes.base_url", "wishes.key", "wishes.api_key", "env", "hooks", "command", "commands"), _OWN),
    **dict.fromkeys(("model", "profile", "review", "budget"), _WISH),
    "id": 'add a line such as id = "kilnhouse7", with 8 to 32 small letters (a to z) and digits; a copy of this '
    "workspace has the right one",
    "timezone": f"write one such as {_ZONE}",
}
_Usd = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
_Tokens = Annotated[int, Field(ge=0, le=10**12)]
_Name = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,400}$")]
WorkspaceId = Annotated[str, StringConstraints(pattern=r"^[0-9a-z]{8,32}$")]


class SettingsUnreadable(MemoryFault):
    """Raised when onepen.toml can't be read, is no TOML or says what it may not; the message says what to do."""

    exit_code = 2

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


class LimitSettings(BaseModel):
    """Upper bounds of this workspace; the smaller of these and the person's own config counts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task_seconds: int = Field(default=600, ge=1, le=86_400)
    """How long one attempt of a task may take, in seconds."""
    silence_seconds: int = Field(default=120, ge=1, le=86_400)
    """How long a worker may say nothing before it is ended, in seconds."""
    turns: int = Field(default=40, ge=1, le=1_000)
    """How many model calls one attempt may make."""
    start_tokens: int = Field(default=5_000, ge=1_000, le=1_000_000)
    """How many tokens (estimated) a chat or an attempt begins with, tools included: indexes and day logs get what the
    notes leave of it. What is left out is said, with the call that shows it."""
    note_tokens: int = Field(default=2_400, ge=100, le=1_000_000)
    """How many tokens (estimated) of each note (RULES, OPS, SOUL, USER, BRIEF, PERSONA) stand in a prompt."""
    memory_tokens: int = Field(default=900, ge=100, le=1_000_000)
    """How many tokens (estimated) of MEMORY.md stand in a prompt."""
    index_tokens: int = Field(default=1_200, ge=100, le=100_000)
    """How many tokens (estimated) of each index stand in a prompt at most."""
    synthesis_exchanges: int = Field(default=30, ge=2, le=10_000)
    """After how many exchanges of a space (all its chats together) its synthesis is renewed."""
    chat_tokens: int = Field(default=24_000, ge=2_000, le=1_000_000)
    """How many tokens the messages of a chat may have before the synthesis is renewed and tells the older ones."""
    task_usd: float = Field(default=1.0, ge=0, le=1_000_000, allow_inf_nan=False)
    """What one task may cost in US dollars: all its attempts and reviews together."""
    day_usd: float = Field(default=5.0, ge=0, le=1_000_000, allow_inf_nan=False)
    """What this workspace may cost a day in US dollars."""
    client_day_usd: float = Field(default=5.0, ge=0, le=1_000_000, allow_inf_nan=False)
    """What one client's space may cost a day in US dollars."""
    task_tokens: int = Field(default=1_000_000, ge=0, le=10**12)
    """How many tokens one task may use where the model's price is unknown."""
    day_tokens: int = Field(default=5_000_000, ge=0, le=10**12)
    """How many tokens this workspace may use a day where the model's price is unknown."""


class WishSettings(BaseModel):
    """What this workspace would like beyond what it may; nothing of it counts until you allow it by `onepen trust`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: _Name | None = None
    """The model that works here where neither a command nor your own config names one."""
    profile: _Name | None = None
    """The profile of your own config that is used here where neither a command nor your config names one."""
    review: Literal["auto"] | None = None
    """`auto`: what is quoted word for word needs no person, where the policy allows it."""
    task_usd: _Usd | None = None
    """A higher budget for one task, in US dollars."""
    day_usd: _Usd | None = None
    """A higher budget for a day, in US dollars."""
    client_day_usd: _Usd | None = None
    """A higher budget for a day of one client's space, in US dollars."""
    task_tokens: _Tokens | None = None
    """How many tokens one task may use."""
    day_tokens: _Tokens | None = None
    """How many tokens the workspace may use a day."""

    @field_validator("model")
    @classmethod
    def _no_script(cls, name: str | None) -> str | None:
        if name is not None and name.startswith("scripted:"):
            raise ValueError("names a script: a workspace can't have a file read; name a model")
        return name


class WorkspaceSettings(BaseModel):
    """The settings of one workspace, read from `onepen.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: WorkspaceId
    """Names this workspace for ever, also in a clone; made by `onepen init`."""
    name: str = Field(default="", max_length=200)
    """What the person calls the workspace."""
    timezone: str | None = None
    """IANA name of the zone by which day logs are dated, such as "Europe/Berlin"; without it, the system's zone."""
    limits: LimitSettings = LimitSettings()
    """Upper bounds for work in this workspace."""
    wishes: WishSettings = WishSettings()
    """What this workspace would like; it counts once you allow it by `onepen trust`."""

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, name: str | None) -> str | None:
        if name is not None:
            try:
                ZoneInfo(name)
            except (ZoneInfoNotFoundError, ValueError, OSError) as e:
                raise ValueError(f"is {shown(name)}, which names no time zone: write one such as {_ZONE}") from e
        return name


def parse_settings(text: str, path: str = "onepen.toml") -> WorkspaceSettings:
    """The settings in a file's text; raises SettingsUnreadable with all that is wrong."""
    text = text.removeprefix("\ufeff")  # some editors begin a file with this mark
    try:
        return WorkspaceSettings.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as e:
        raise SettingsUnreadable(path, f"this is not TOML: {_told(e)}") from e
    except ValidationError as e:
        found = misfits(text, [dict(error) for error in e.errors()], _WANTED)
        raise SettingsUnreadable(path, "; ".join(str(misfit) for misfit in found)) from e


def _told(error: tomllib.TOMLDecodeError) -> str:
    """The parser's words, the place first."""
    message, at, place = str(error).partition(" (at ")
    return f"{place.removesuffix(')')}: {message[:1].lower()}{message[1:]}" if at else message
