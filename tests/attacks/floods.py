"""Attacks on what there is only so much of: the disk, memory, descriptors."""

import mmap
import os
import resource
import signal

from tests.attacks.attack import attack
from tests.attacks.world import World


@attack("a file of 1 GiB among the drafts")
def _(w: World) -> bool:
    with (w.drafts / "large.md").open("wb") as file:
        file.truncate(1 << 30)
    return True


@attack("3,000 files among the drafts")
def _(w: World) -> bool:
    for number in range(3_000):
        os.close(os.open(w.drafts / f"{number}.md", os.O_WRONLY | os.O_CREAT))
    return True


@attack("8 GiB of memory")
def _(w: World) -> bool:
    return len(mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)) > 0


@attack("1,000 open files")
def _(w: World) -> bool:
    return len([os.open(w.card, os.O_RDONLY) for _ in range(1_000)]) == 1_000


@attack("leave its memory behind in a file (core dump)")
def _(w: World) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (most, most))
    os.chdir(w.drafts)
    os.kill(os.getpid(), signal.SIGQUIT)


@attack("raise its own limits again")
def _(w: World) -> bool:
    resource.setrlimit(resource.RLIMIT_NOFILE, (1_000, 1_000))
    return True
