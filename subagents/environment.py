"""What a worker sees of its parent's environment: a list of what is allowed, never a list of what is forbidden.

Keys, tokens and addresses have names that nobody can list, so nothing passes but what is named here. What a command of
a model sees is less still.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

ALLOWED = ("HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ", "TZDIR")
"""Passed on if set: where programs, libraries and time zones lie, and the language."""

ALLOWED_PREFIX = "LC_"
"""The parts of a locale (`LC_ALL`, `LC_CTYPE`, …) are passed on, too."""

FIXED = {"PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""Set for every worker: a plugin of another package has no business there, and looking for them takes time."""


def child_environment(parent: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worker whose parent has the environment `parent`."""
    passed = {name: value for name, value in parent.items() if name in ALLOWED or name.startswith(ALLOWED_PREFIX)}
    return {**passed, **FIXED}


COMMANDS = ("LANG", "LANGUAGE", "LD_LIBRARY_PATH", "TZ", "TZDIR")
"""What a command gets of its worker's environment, with the parts of a locale; PATH is added to."""


_QUIET = {"PYTHONDONTWRITEBYTECODE": "1", "GIT_CONFIG_NOSYSTEM": "1"}
"""Keeps out of the work folder what nobody wants there, and git from a file that it can't read."""


def command_environment(parent: Mapping[str, str], *, tmp: Path, inputs: Path, space: Path) -> dict[str, str]:
    """The environment of a command whose worker has the environment `parent`.

    HOME and TMPDIR are its private folder `tmp`. INPUTS and SPACE name what it may read. PATH has what can be looked
    into from here, and last the Python that runs onepen: there is one wherever onepen is.
    """
    passed = {name: value for name, value in parent.items() if name in COMMANDS or name.startswith(ALLOWED_PREFIX)}
    folders = (*(parent.get("PATH") or os.defpath).split(os.pathsep), str(Path(sys.executable).parent))
    own = {"HOME": str(tmp), "TMPDIR": str(tmp), "INPUTS": str(inputs), "SPACE": str(space)}
    path = os.pathsep.join(folder for folder in folders if _opens(folder))
    return {**passed, "PATH": path, **own, **_QUIET}


def _opens(folder: str) -> bool:
    """Whether a folder can be looked into: a program that lies in another one is found, and can't be started."""
    try:
        os.close(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
    except OSError:
        return False
    return folder.startswith("/")
