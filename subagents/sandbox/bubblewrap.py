"""The command line of bubblewrap, for Linux without Landlock: a small tree of its own, and no network (bwrap(1)).

The worker sees what is named and nothing else. The folders of the system are bound for reading, its own for writing;
processes, network, users and the like are its own (`--unshare-all`), and it dies with whoever started it.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from .confinement import Confinement

_LINKED = ("/bin", "/sbin", "/lib", "/lib64")


def command_line(
    program: str,
    confinement: Confinement,
    system: Iterable[Path],
    links: Mapping[str, str],
    command: Sequence[str],
) -> tuple[str, ...]:
    """`command` within bubblewrap; `system` are the folders that it needs of the system, `links` those of the root."""
    line = [program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    line += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    for name, target in links.items():
        line += ["--symlink", target, name]
    for path in (*system, *confinement.programs, *confinement.read):
        line += ["--ro-bind-try", str(path), str(path)]
    for path in (*confinement.write, *confinement.work):
        line += ["--bind-try", str(path), str(path)]
    return (*line, "--remount-ro", "/", "--chdir", "/", "--", *command)


def root_links() -> dict[str, str]:
    """Folders of the root that are links, as `/bin` is on many systems."""
    return {name: str(Path(name).readlink()) for name in _LINKED if Path(name).is_symlink()}
