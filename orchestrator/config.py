"""The person's own config, `~/.config/onepen/config.toml`: what a workspace may never switch on by itself.

Flags come first, then `ONEPEN_*` in the environment, then this file, then the defaults. Imported only by commands that
run work.
"""

import os
import tomllib
from pathlib import Path

from platformdirs import user_config_path
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from ..memory.wording import in_words, key_of
from .errors import OrchestratorFault

FILE = "config.toml"


class ConfigUnreadable(OrchestratorFault):
    """Raised when the person's config is no TOML or says something it may not."""

    exit_code = 2

    def __init__(self, path: Path | str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


class Config(BaseSettings):
    """What the person decided for all workspaces on this machine."""

    model_config = SettingsConfigDict(env_prefix="ONEPEN_", extra="ignore", frozen=True)

    model: str = Field(default="offline", min_length=1, max_length=400)
    """The model that works where none is named: `offline`, or `scripted:FILE`."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        # No .env: a cloned workspace could bring one.
        return (init_settings, env_settings, TomlConfigSettingsSource(settings_cls, config_file()))


def config_file() -> Path:
    """Where the person's config lies; it need not exist."""
    return user_config_path("onepen") / FILE


def load_config() -> Config:
    """The config as it counts now; raises ConfigUnreadable."""
    try:
        return Config()
    except tomllib.TOMLDecodeError as e:
        raise ConfigUnreadable(config_file(), f"not TOML: {e}") from e
    except ValidationError as e:
        first = e.errors()[0]
        variable = f"ONEPEN_{first['loc'][0]}".upper() if first["loc"] else ""
        if variable in os.environ:
            raise ConfigUnreadable(variable, in_words(dict(first))) from e
        raise ConfigUnreadable(config_file(), f"{key_of(first['loc'])}: {in_words(dict(first))}") from e
