"""What a worker sees of its parent's environment: a list of what is allowed, never a list of what is forbidden.

Keys, tokens and addresses have names that nobody can list, so nothing passes but what is named here.
"""

from collections.abc import Mapping

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
