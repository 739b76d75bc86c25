"""The profile for macOS's `sandbox-exec`, in its own language. Nobody has tested it yet: it is written by the book.

What isn't allowed is denied. Paths are compared without links, so they are resolved before they come here.
"""

from collections.abc import Iterable
from pathlib import Path

from .confinement import Confinement

_SYSTEM = (
    "/System",
    "/Library/Frameworks",
    "/usr/lib",
    "/usr/share",
    "/private/var/db/timezone",
    "/private/etc/localtime",
)
_PROGRAMS = ("/bin", "/usr/bin", "/usr/libexec", "/usr/local/bin", "/opt/homebrew")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/dtracehelper")


def profile(confinement: Confinement, system: Iterable[Path], interpreter: Path) -> str:
    """What `sandbox-exec -p` takes; `interpreter` is what it starts."""
    readable = [*_SYSTEM, *map(str, system), *map(str, (*confinement.read, *confinement.programs))]
    writable = [*map(str, (*confinement.write, *confinement.work))]
    runs = [*_PROGRAMS, *map(str, (*confinement.programs, *confinement.work))] if confinement.commands else []
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow file-read-metadata)",
        "(allow sysctl-read)",
        "(allow signal (target same-sandbox))",
        f"(allow process-exec (literal {_quoted(str(interpreter))}))",
        f"(allow file-read* {_places([*readable, *writable, *runs])})",
        f"(allow file-write* {_places(writable)})",
        f"(allow file-read* file-write-data {' '.join(f'(literal {_quoted(one)})' for one in _DEVICES)})",
    ]
    if runs:
        lines += ["(allow process-fork)", f"(allow process-exec {_places(runs)})"]
    return "\n".join(lines) + "\n"


def _places(paths: Iterable[str]) -> str:
    return " ".join(f"(subpath {_quoted(path)})" for path in paths)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
