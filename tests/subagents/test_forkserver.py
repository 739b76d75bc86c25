"""The fork server with real workers: each begins anew, and nothing of it is left."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import anyio
import pytest

from onepen.subagents.ending import TimedOut
from onepen.subagents.environment import child_environment
from onepen.subagents.pool import Limits, ProcessPool
from onepen.subagents.process.forked import ForkedChild
from onepen.subagents.process.forkserver import ForkServer, NoForkServer
from onepen.subagents.process.order import Order, Word
from onepen.subagents.process.rehearsal import rehearse
from onepen.subagents.sandbox.level import probe
from onepen.testing.bench import Bench, ScriptedHost, call
from onepen.testing.processes import alive, below, children, marked, wait_until
from onepen.testing.worker import worker

pytestmark = pytest.mark.skipif(not ForkServer.possible(), reason="the fork server works on Linux only")
ENVIRONMENT = child_environment(os.environ)


@pytest.fixture
def own() -> Iterator[ForkServer]:
    """A server that a test may kill."""
    made = ForkServer(ENVIRONMENT)
    yield made
    anyio.run(made.close)


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    async def whole() -> Any:
        with anyio.fail_after(40):
            return await work()

    return anyio.run(whole)


def shell(text: str, **environment: str) -> Order:
    return Order({**ENVIRONMENT, **environment}, ("/bin/sh", "-c", text))


async def output(child: ForkedChild) -> bytes:
    """All that it prints until it has ended; it isn't finished yet."""
    said = b""
    async with anyio.create_task_group() as group:
        group.start_soon(child.watch)
        while data := await child.read(child.stdout):
            said += data
    return said


async def ran(server: ForkServer, order: Order) -> tuple[str, int]:
    child = await server.spawn(order)
    said = await output(child)
    return said.decode(), await child.finish()


async def started(server: ForkServer, order: Order) -> tuple[ForkedChild, list[int]]:
    """A child that goes on, and the process ids that it prints first, in one line."""
    child = await server.spawn(order)
    line = b""
    while not line.endswith(b"\n"):
        line += await child.read(child.stdout)
    return child, [int(pid) for pid in line.split()]


def serving(server: ForkServer) -> int:
    """The process id of the fork server, the warden's child."""
    pid = server.pid
    assert pid is not None
    wait_until(lambda: bool(children(pid)))
    return children(pid)[0]


def test_orders_and_words_come_through_as_they_are() -> None:
    order = Order({"A": "ä\n"}, ("/bin/true", "x"), {"read": ["/a"]})
    assert Order.decode(order.encode()) == order
    word = Word("refused", -9, "ä")
    assert Word.decode(word.encode()) == word


def test_a_program_is_run_with_its_environment_and_nothing_else(server: ForkServer) -> None:
    text, status = run(lambda: ran(server, Order({"ONLY": "this"}, ("/usr/bin/env",))))
    assert (text, status) == ("ONLY=this\n", 0)


def test_it_stands_alone(server: ForkServer) -> None:
    """In a session of its own, in `/`, with three descriptors, SIGPIPE as programs expect it, nothing blocked."""
    look = "ls -l /proc/self/fd; cat /proc/self/status; cut -d' ' -f5,6 /proc/$$/stat; echo $$; pwd"
    text, _ = run(lambda: ran(server, shell(look)))
    *before, ids, pid, folder = text.splitlines()
    assert ids == f"{pid} {pid}" and folder == "/"
    assert len([line for line in before if "pipe:" in line]) == 3
    assert not [line for line in before if "socket:" in line or "eventpoll" in line or "pidfd" in line]
    masks = dict(line.split(":\t") for line in before if line.startswith("Sig"))
    assert int(masks["SigBlk"], 16) == 0
    assert int(masks["SigIgn"], 16) & (1 << (signal.SIGPIPE - 1)) == 0


STRANGE = """
    import gc, json, os, resource, signal, sys
    from onepen.subagents.process import launch
    from onepen.subagents import worker
    from onepen.subagents.__main__ import main

    def seen():
        return {
            "mark": getattr(json, "mark", None), "environment": dict(os.environ), "folder": os.getcwd(),
            "umask": os.umask(0o022), "fds": sorted(os.listdir("/proc/self/fd")), "modules": len(sys.modules),
            "alarm": str(signal.getsignal(signal.SIGALRM)), "files": resource.getrlimit(resource.RLIMIT_NOFILE),
            "path": sys.path, "gc": gc.isenabled(), "session": os.getsid(0) == os.getpid(), "nice": os.nice(0),
        }

    def strange():
        os.write(1, json.dumps(seen()).encode())
        json.mark = "was here"
        os.environ["LEFT"] = "behind"
        os.chdir("/tmp")
        os.umask(0)
        os.dup(1)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99))
        sys.path.append("/planted")
        os.nice(5)
        import wave
        gc.disable()
        return 7

    worker.main = strange
    sys.exit(main(sys.argv[1:]))
"""


def test_nothing_of_one_worker_is_left_in_the_next(tmp_path: Path) -> None:
    """It changes a module, its environment, folder, umask, descriptors, signals, limits: the next sees none of it."""
    (tmp_path / "strange.py").write_text(dedent(STRANGE))

    async def two() -> list[tuple[str, int]]:
        server = ForkServer(ENVIRONMENT, (sys.executable, "-P", str(tmp_path / "strange.py")))
        try:
            return [await ran(server, Order({"OWN": "yes"})) for _ in range(2)]
        finally:
            await server.close()

    (first, status), second = run(two)
    assert status == 7 and second == (first, 7)
    seen = json.loads(first)
    assert seen["environment"] == {"OWN": "yes"} and seen["folder"] == "/"
    assert seen["fds"] == ["0", "1", "2", "3"]  # the last is the listing itself
    assert seen["gc"] and seen["session"] and seen["mark"] is None


def test_what_a_worker_may_need_is_there_before_the_fork(bench: Bench) -> None:
    """A module that is imported late costs each worker the same again, and in a sandbox it might not be readable."""
    program = bench.write(
        "late.py",
        """
        import sys
        from onepen.subagents.process import launch
        from onepen.subagents import worker
        from onepen.subagents.process.forkserving import warm
        from onepen.subagents.sandbox.level import probe
        warm(probe())
        before = set(sys.modules)
        worker.main()
        print(sorted(set(sys.modules) - before), file=sys.stderr)
        """,
    )
    near = {
        "card": "kiln",
        "old_text": "fire at 1201 - soap",
        "new_text": "x",
        "index_entry": {"section_id": "firing", "summary": "fires"},
    }
    hit = {**near, "old_text": "fire at 1200\n- soak", "new_text": "fire at 1222\n- soak"}
    calls = [
        call(("read_card", {"card": "kiln"}), ("read_input", {"name": "cones.md"}), ("search", {"query": "cone"})),
        call(("propose_edit", near), ("propose_edit", hit)),
        call(("write_draft", {"text": "# Ofen\n\nHeiß.\n", "target": "research/ofen.md", "title": "Öfen"})),
        call(("edit_draft", {"name": "ofen.md", "old_text": "Heiß", "new_text": "Warm"}), ("nonsense", {"x": 1})),
        call(("report", {"summary": "done"})),
    ]
    host = ScriptedHost(calls)
    bench.run([sys.executable, "-P", str(program)], host)
    assert [result.is_error for result in host.results] == [False, False, False, True, False, False, False, True]
    assert bench.log == "[]\n"


def test_a_rehearsal_leaves_nothing_open_and_nothing_written() -> None:
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208
    rehearse()
    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("exit 3", 3), ("kill -SEGV $$", -signal.SIGSEGV), ("kill -ABRT $$", -signal.SIGABRT),
        ("kill -KILL $$", -signal.SIGKILL), ("kill -TERM $$", -signal.SIGTERM),
    ],
)  # fmt: skip
def test_an_exit_is_told_at_once(server: ForkServer, how: str, status: int) -> None:
    """F18: noticed within 50 ms. A busy machine adds its own, so the best of several counts."""

    async def one() -> tuple[float, int]:
        child = await server.spawn(shell(f"cat /proc/uptime; exec 1>&-; {how}"))
        said = float((await output(child)).split()[0])
        noticed = time.clock_gettime(time.CLOCK_BOOTTIME) - said
        return noticed, await child.finish()

    async def several() -> list[tuple[float, int]]:
        return [await one() for _ in range(5)]

    took = run(several)
    assert {one[1] for one in took} == {status}
    assert min(one[0] for one in took) < 0.05


def test_memory_that_runs_out_ends_one_worker(server: ForkServer) -> None:
    """F18: out of memory, here by its own limit."""
    hungry = f"ulimit -v 400000; exec {sys.executable} -c 'x = bytearray(1 << 30)'"
    assert run(lambda: ran(server, shell(hungry)))[1] == 1
    assert run(lambda: ran(server, shell("exit 0")))[1] == 0


_SLEEPS = "until read name </proc/$!/comm && [ $name = sleep ]; do :; done"
ESCAPED = (
    f"setsid sh -c '(sleep 600 >&2 & echo $!; exec sleep 601 >&2) & echo $!; {_SLEEPS}; exec sleep 602 >&2' & echo $!; "
    f"{_SLEEPS}"
)
"""Prints the ids of its processes: each in a session of its own, with nobody between them and the fork server.

Nobody leaves before all of them are there, since one that is left alone is ended on sight.
"""


def test_what_a_worker_leaves_is_ended_with_it(server: ForkServer) -> None:
    """F22: a daemon that left the session, with children that left their parents."""

    async def work() -> tuple[list[int], bool, bool]:
        child = await server.spawn(shell(f"echo $({ESCAPED}); exit 0"))
        pids = [int(pid) for pid in (await output(child)).split()]
        left = await child.left_something()
        survived = any(map(alive, pids))
        await child.finish()
        return pids, left, survived

    pids, left, survived = run(work)
    assert len(pids) == 3 and left and not survived


def test_what_hides_from_a_worker_that_goes_on_is_ended_on_sight(server: ForkServer) -> None:
    async def work() -> None:
        child, pids = await started(server, shell("echo $$ $(sleep 600 >/dev/null & echo $!); exec sleep 600"))
        own, stranger = pids
        await anyio.to_thread.run_sync(wait_until, lambda: not alive(stranger))
        assert alive(own)
        await child.finish()
        assert not alive(own)

    run(work)


def test_a_tree_that_goes_on_growing_is_ended(server: ForkServer) -> None:
    """F22: forty shells in sessions of their own start orphans as fast as they can. None is left, no other ends."""
    grows = "while :; do (sleep 600 &); sleep 0.02; done"
    bomb = f"for i in $(seq 40); do setsid sh -c '{grows}' >/dev/null 2>&1 & done; sleep 1; echo 0; wait"

    async def work() -> None:
        other, (pid,) = await started(server, shell("echo $$; exec sleep 600"))
        child, _ = await started(server, shell(bomb, BOMB="here"))
        await child.finish()
        assert not marked("BOMB=here")
        assert alive(pid)
        await other.finish()

    run(work)


def test_letting_go_of_the_lead_ends_a_worker(server: ForkServer) -> None:
    async def work() -> list[int]:
        child, pids = await started(server, shell("trap '' TERM; setsid sleep 600 & echo $$ $!; wait"))
        child.kill()
        return pids

    pids = run(work)
    wait_until(lambda: not any(map(alive, pids)))


@pytest.mark.parametrize("who", ["server", "warden"])
def test_when_one_of_the_two_is_killed_the_other_ends_all(own: ForkServer, who: str) -> None:
    """The workers, and what had left them; the next order finds a new server."""

    async def work() -> None:
        child, pids = await started(own, shell(f"echo $$ $({ESCAPED}); exec sleep 600"))
        assert own.pid is not None
        warden, server = own.pid, serving(own)
        os.kill(server if who == "server" else warden, signal.SIGKILL)
        killed = time.monotonic()
        await child.watch()
        assert await child.finish() == -signal.SIGKILL
        wait_until(lambda: not any(map(alive, (*pids, server, warden))))
        assert len(pids) == 4 and time.monotonic() - killed < 5
        assert (await ran(own, shell("echo again")))[0] == "again\n"
        assert own.pid != warden

    run(work)


def test_the_end_of_its_process_is_the_end_of_all(tmp_path: Path) -> None:
    """kill -9 of the process that holds the server, which is no parent of anybody but the warden."""
    program = """
        import os, sys, anyio
        from onepen.subagents.process.forkserver import ForkServer
        from onepen.subagents.process.order import Order

        async def main():
            server = ForkServer(dict(os.environ))
            children = [await server.spawn(Order({**os.environ}, ("/bin/sh", "-c", TEXT))) for _ in range(5)]
            print("up", flush=True)
            await anyio.sleep(600)

        anyio.run(main)
    """
    text = f"while :; do ({ESCAPED}) >/dev/null; touch {tmp_path}/$$; sleep 0.3; done"  # who left is soon ended
    program = dedent(program).replace("TEXT", repr(text))
    environment = {**os.environ, "HOME": str(tmp_path)}
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP):
        with subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE) as parent:
            assert parent.stdout is not None and parent.stdout.readline() == b"up\n"
            wait_until(lambda: len(list(tmp_path.iterdir())) == 5 and len(marked(f"HOME={tmp_path}")) >= 1 + 2 + 5 * 5)
            parent.send_signal(number)
            killed = time.monotonic()
        wait_until(lambda: not marked(f"HOME={tmp_path}"))
        assert time.monotonic() - killed < 5
        for made in tmp_path.iterdir():
            made.unlink()


def test_a_worker_that_can_not_be_forked_waits_for_room(tmp_path: Path) -> None:
    """The limit of processes is reached for a while: nothing is refused as long as others may end."""
    (tmp_path / "crowded.py").write_text(
        dedent("""
        import os, sys
        from onepen.subagents.__main__ import main
        fork = os.fork

        def full():
            full.count += 1
            if full.count in (3, 4, 5):  # the first is the server itself, the second the worker that goes on
                raise BlockingIOError(11, "Resource temporarily unavailable")
            return fork()

        full.count = 0
        os.fork = full
        sys.exit(main(sys.argv[1:]))
        """)
    )

    async def work() -> str:
        server = ForkServer(ENVIRONMENT, (sys.executable, "-P", str(tmp_path / "crowded.py")))
        try:
            first, _ = await started(server, shell("echo 0; exec sleep 600"))
            text, _ = await ran(server, shell("echo in"))
            await first.finish()
            return text
        finally:
            await server.close()

    assert run(work) == "in\n"


def test_a_server_that_does_not_come_up_is_named(tmp_path: Path) -> None:
    server = ForkServer(ENVIRONMENT, ("/no/such/interpreter",))
    server.start_early()
    with pytest.raises(NoForkServer, match="could not be started: No such file or directory"):
        run(lambda: server.spawn(shell("true")))


def test_a_worker_of_a_server_that_died_early_was_refused(tmp_path: Path) -> None:
    server = ForkServer(ENVIRONMENT, (sys.executable, "-c", "import time; time.sleep(0.3); raise SystemExit(1)"))

    async def work() -> ForkedChild:
        child = await server.spawn(shell("true"))
        await child.finish()
        return child

    assert run(work).refused == "the fork server has ended"


def test_nothing_is_left_open(own: ForkServer) -> None:
    """Neither here nor there."""

    def open_in(pid: int) -> int:
        return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208

    async def work() -> None:
        await ran(own, shell("true"))
        server = serving(own)
        here, there = open_in(os.getpid()), open_in(server)
        for _ in range(5):
            await ran(own, shell("setsid sleep 600 & exit 1"))
        child = await own.spawn(shell("sleep 600"))
        child.kill()
        assert open_in(os.getpid()) == here
        await anyio.to_thread.run_sync(wait_until, lambda: open_in(server) <= there and not below(server))

    run(work)


def test_many_wait_for_a_server_that_still_makes_itself_ready(own: ForkServer) -> None:
    async def work() -> list[str]:
        said: list[str] = []

        async def one(number: int) -> None:
            said.append((await ran(own, shell(f"echo {number}")))[0])

        async with anyio.create_task_group() as group:
            for number in range(60):
                group.start_soon(one, number)
        return said

    assert sorted(int(text) for text in run(work)) == list(range(60))


def test_an_attempt_whose_server_is_killed_has_failed(bench: Bench, own: ForkServer) -> None:
    made = Bench.make(bench.root / "own", own)

    async def reached() -> Any:
        os.kill(serving(own), signal.SIGKILL)
        await anyio.sleep(60)

    ending = made.run(worker(["ask", {}]), ScriptedHost([reached]))
    assert getattr(ending, "signal", None) == "SIGKILL"


NOBODY = """
    import os, sys
    from onepen.subagents.process import forkserving, warden
    from onepen.subagents.__main__ import main
    from onepen.subagents.sandbox.level import probe

    forkserving.warm(probe())  # a root's interpreter may lie where nobody else may read
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.getuid() != 0, reason="all other tests run as an ordinary user already")
def test_as_an_ordinary_user(tmp_path: Path) -> None:
    """Taking orphans in, looking into /proc and killing what was left need no rights."""
    (tmp_path / "nobody.py").write_text(dedent(NOBODY))

    async def work() -> None:
        server = ForkServer(ENVIRONMENT, (sys.executable, "-P", str(tmp_path / "nobody.py")))
        try:
            text, _ = await ran(server, shell(f"id -u; echo $({ESCAPED})"))
            user, *left = (int(word) for word in text.split())
            assert user == 65534 and len(left) == 3 and not any(map(alive, left))
            child, pids = await started(server, shell(f"echo $$ $({ESCAPED}); exec sleep 600"))
            os.kill(serving(server), signal.SIGKILL)
            await child.finish()
            wait_until(lambda: not any(map(alive, pids)))
        finally:
            await server.close()

    run(work)


BOMB = (
    "bomb() { [ $1 -eq 0 ] || { bomb $(($1 - 1)) & bomb $(($1 - 1)) & }; sleep 600; }; touch began; "
    "bomb 9 2>/dev/null & exec sleep 600"
)
"""A thousand processes where nothing limits them, and no more; the first one needs no room for another."""


def test_a_fork_bomb_in_the_sandbox_is_held_small_and_ended(bench: Bench, server: ForkServer) -> None:
    """F22: the limit of processes holds root's workers, too; with the attempt all of it ends."""
    level = probe()
    if not level.confines:
        pytest.skip(f"nothing confines workers here: {level.words}")
    mark = f"BOMB={bench.root}"
    program = ("/usr/bin/env", mark, "/bin/sh", "-c", BOMB)
    seen: list[int] = []

    async def work() -> None:
        pool = ProcessPool(server=server, level=level)
        assignment = bench.assignment(program=program, commands=True, limits=Limits(seconds=3.0))
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                while True:
                    seen.append(len(marked(mark)))
                    await anyio.sleep(0.2)

            group.start_soon(watch)
            ending = await pool.run(assignment, ScriptedHost())
            group.cancel_scope.cancel()
        assert isinstance(ending, TimedOut)

    run(work)
    assert not marked(mark)
    assert 20 < max(seen) < 500  # counted one by one, while some end and others begin
