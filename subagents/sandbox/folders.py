"""Which folders of the system a worker needs: Python's own, the libraries' and, for commands, the programs'.

Narrow ones are named, never `/usr` or a whole environment: somebody's workspace may lie in them.
"""

import os
import site
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from .confinement import Confinement, exposed

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store", "/usr/share/zoneinfo")
_FILES = ("/etc/localtime", "/etc/ld.so.cache")
_PROGRAMS = ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/libexec", "/usr/local/bin", "/run/current-system/sw")
_TEXTS = ("/usr/share", "/usr/include", "/usr/local/share", "/usr/local/include")
_NAMES = ("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/alternatives", "/etc/python3")
DEVICES = tuple(map(Path, ("/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/dev/random")))
"""What a worker may read and write of /dev: devices that hold nothing."""


@cache
def libraries() -> tuple[Path, ...]:
    """What a worker of ours reads: the interpreter's folders, those of installed packages, this package, libraries."""
    own = sysconfig.get_paths()
    named = [own[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    prefixes = [f"{prefix}/{lib}" for prefix in (sys.prefix, sys.base_prefix) for lib in ("lib", "lib64")]
    packages = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    loaded = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    zones = [os.environ.get("TZDIR", "")]
    return _resolved([*named, *prefixes, *packages, *_rooms(), *_LIBRARIES, *loaded, *zones, *_FILES])


@cache
def programs() -> tuple[Path, ...]:
    """What a command may run and read beside: the system's programs, the interpreter, and what both look up."""
    prefixes = [f"{prefix}/{part}" for prefix in (sys.prefix, sys.base_prefix) for part in ("bin", "include")]
    return _resolved([*_PROGRAMS, *prefixes, f"{sys.prefix}/pyvenv.cfg", *_TEXTS, *_NAMES])


@cache
def interpreter() -> tuple[Path, ...]:
    """What it takes to start the interpreter: where it is said to lie, a link in an environment, and where it does."""
    said = Path(sys.executable)
    return (said.parent, *_resolved([str(said.resolve().parent), f"{sys.prefix}/pyvenv.cfg"]))


def of_program(confinement: Confinement) -> tuple[Path, ...]:
    """The files and folders on the command line of somebody's program; one with memory in it isn't opened by that."""
    real = (path.resolve() for path in confinement.programs)
    return tuple(path for path in real if not exposed((path,), confinement))


def _rooms() -> Iterable[str]:
    """Where this package lies, and is looked for; in a clone its rooms are links to folders beside it."""
    package = Path(__file__).parents[2]
    return [str(package.parent), *(str(package / room) for room in ("subagents", "staging", "memory"))]


def _resolved(paths: Iterable[str]) -> tuple[Path, ...]:
    """Each place once, without links and without what lies below another; what isn't there is left out."""
    real = sorted({os.path.realpath(path) for path in paths if path.startswith("/") and _there(path)})
    kept: list[str] = []
    for path in real:
        if not any(path.startswith(f"{above}/") for above in kept):
            kept.append(path)
    return tuple(map(Path, kept))


def _there(path: str) -> bool:
    try:
        return Path(path).exists()
    except PermissionError:
        return False
