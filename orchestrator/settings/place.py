"""Where the person's own config lies. Apart from config.py, which is slow to import: most commands only ask whether."""

from pathlib import Path

FILE = "config.toml"


def config_file() -> Path:
    """Where the person's config lies; it need not exist."""
    from platformdirs import user_config_path

    return user_config_path("onepen") / FILE
