"""Runs attacks: each in a process of its own against a world of its own, once for each way of being confined."""

import encodings.idna  # noqa: F401 - what Python would import later, it may not be able to
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from onepen.subagents.environment import child_environment
from onepen.subagents.sandbox.confine import confine
from onepen.subagents.sandbox.confinement import Confinement
from onepen.subagents.sandbox.level import Level, probe
from tests.attacks import floods, kernel_doors, memory, network, processes, reading  # noqa: F401
from tests.attacks.attack import ATTACKS, Attack
from tests.attacks.kernel import LIBC, call
from tests.attacks.world import DONE, World

MODES = ("free", "worker", "commands")
"""Without a sandbox; as a worker with onepen's own tools; as one that may run commands."""

NOBODY = 65_534
_SECONDS = 20.0
_NEW_MOUNTS_AND_NAMES = 0x04020000


@dataclass(frozen=True)
class Outcome:
    """What came of an attack: `works`, and if so what was seen; else what it met."""

    attack: str
    group: str
    mode: str
    works: bool
    seen: str


def outcomes(modes: Sequence[str], only: str = "", landlock: int | None = None) -> list[Outcome]:
    """All attacks as the user that this process runs as; `landlock` pretends an older kernel."""
    level = probe()
    if landlock is not None:
        level = replace(level, landlock=landlock)
    if os.getuid() == 0:
        LIBC.unshare(_NEW_MOUNTS_AND_NAMES)  # what root mounts or renames here is gone with us
        LIBC.mount(b"none", b"/", None, 0x44000, None)  # MS_REC | MS_PRIVATE
    with suppress(OSError):
        call("keyctl", 8, -4, -3)  # a login would have linked the user's keys into its session
    chosen = [one for one in ATTACKS if only in f"{one.group} {one.name}"]
    told: list[Outcome] = []
    world: World | None = None
    with _folder() as folder:
        for mode in modes:
            for one in chosen:
                world = world or World(folder / f"{mode}{len(told)}")
                outcome, world = _tried(one, mode, level, world)
                told.append(outcome)
    return told


def as_user(user: int, *arguments: object) -> list[Outcome]:
    """The same in a process of another user, for root."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reader)
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            LIBC.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: else /proc has all of ours as root's
            told = [vars(one) for one in outcomes(*arguments)]  # type: ignore[arg-type]
            with os.fdopen(writer, "w") as file:
                json.dump(told, file)
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as file:
        text = file.read()
    os.waitpid(pid, 0)
    return [Outcome(**one) for one in json.loads(text)]


def _tried(one: Attack, mode: str, level: Level, world: World) -> tuple[Outcome, World | None]:
    """What came of it, and the world again if it is as it was."""
    with world.alive():
        before = world.traces()
        said, error = _attacked(one, mode, level, world, lambda: world.traces() ^ before)
    works, seen = _judged(world, said)
    untouched = not said.changed and not any(world.drafts.iterdir())
    return Outcome(one.name, one.group, mode, works, seen if works else error), world if untouched else None


def _judged(world: World, said: "_Said") -> tuple[bool, str]:
    if said.changed:
        return True, "changed: " + "; ".join(sorted(said.changed))[:200]
    if world.secret.encode() in said.text:
        return True, "a secret was said"
    if said.text.startswith(DONE):
        return True, "it has got it"
    return (True, "its memory was left behind") if said.dumped else (False, "")


@dataclass
class _Said:
    text: bytes = b""
    changed: frozenset[str] = frozenset()
    dumped: bool = False


def _attacked(one: Attack, mode: str, level: Level, world: World, look) -> tuple[_Said, str]:  # type: ignore[no-untyped-def]
    """Run it in a process that is started as a worker is; it is looked at while it is still there."""
    out, say = os.pipe()
    hold, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(out)
        os.close(go)
        _be_attacker(one, mode, level, world, hold, say)
    os.close(say)
    os.close(hold)
    said = _Said()
    ready, _, _ = select.select([out], [], [], _SECONDS)
    text = os.read(out, 1 << 16) if ready else b"none it took too long"
    try:
        said.changed = look()
    finally:
        os.close(go)
    select.select([out], [], [], _SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(out)
    said.dumped = os.WCOREDUMP(status)
    if not text:
        return said, f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "said nothing"
    kind, _, rest = text.partition(b" ")
    said.text = rest if kind == b"got" else b""
    return said, "" if kind == b"got" else rest.decode(errors="replace")


def _be_attacker(one: Attack, mode: str, level: Level, world: World, hold: int, say: int) -> None:
    """Never returns."""
    try:
        os.dup2(hold, 0)
        os.dup2(say, 1)
        if mode == "free":
            os.setsid()
        else:
            os.environ.clear()
            os.environ.update(child_environment({}))
            os.chdir("/")
            confine(confinement(world, mode == "commands"), level)
        try:
            got = one.attempt(world)
            text = b"got " + (got if isinstance(got, bytes) else DONE if got else b"")
        except BaseException as e:  # noqa: BLE001
            text = f"none {type(e).__name__}: {e}".encode()
        os.write(1, text[:4096])
        os.read(0, 1)
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)


def confinement(world: World, commands: bool) -> Confinement:
    """As confinement_of would make it for this world; its library stands for a folder of installed packages."""
    return Confinement(
        read=(world.snapshot, world.space / "projects", world.space / "research", world.inputs),
        write=(world.drafts,),
        work=(world.work,) if commands else (),
        programs=(world.library,),
        commands=commands,
    )


@contextmanager
def _folder() -> Iterator[Path]:
    """Not below /tmp where another place is: attacks on /tmp are to be told from those on memory."""
    folder = Path(tempfile.mkdtemp(prefix="onepen-attacks-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
