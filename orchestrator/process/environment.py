"""What an orchestrator in the background sees of the environment in which it was started: a list of what is allowed.

It outlives the shell that started it and works for others, too. So keys and settings don't stay with it: each request
brings its own. What is passed on is what the machine is, not what the person wants.
"""

from collections.abc import Mapping

ALLOWED = (
    "HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "TMPDIR", "TZ", "TZDIR", "USER",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
    "SSL_CERT_DIR", "SSL_CERT_FILE",
)  # fmt: skip
"""Passed on if set: where programs, folders and time zones lie, who the person is, and how the network is reached."""

FIXED = {"PYDANTIC_DISABLE_PLUGINS": "__all__"}
"""A plugin of another package has no business there, and looking for them takes time."""


def background_environment(parent: Mapping[str, str]) -> dict[str, str]:
    """The environment of an orchestrator that is started from one with the environment `parent`."""
    passed = {name: value for name, value in parent.items() if name in ALLOWED or name.startswith("LC_")}
    return {**passed, **FIXED}
