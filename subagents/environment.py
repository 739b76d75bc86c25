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


def command_environment(parent: Mapping[str, str], *, tmp: Path, inputs: Path, space: Path) -> dict[str, str]:
    """The environment of a command whose worker has the environment `parent`.

    HOME and TMPDIR are its private folder `tmp`. INPUTS and SPACE name what it may read. The Python that runs onepen
    comes last on PATH: there is one wherever onepen is.
    """
    passed = {name: value for name, value in parent.items() if name in COMMANDS or name.startswith(ALLOWED_PREFIX)}
    path = os.pathsep.join((parent.get("PATH") or os.defpath, str(Path(sys.executable).parent)))
    own = {"HOME": str(tmp), "TMPDIR": str(tmp), "INPUTS": str(inputs), "SPACE": str(space)}
    return {**passed, "PATH": path, **own, "PYTHONDONTWRITEBYTECODE": "1"}
