"""Attempts with real processes: workers that behave, and workers that do everything else."""

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from onepen.subagents import outcome, supervision
from onepen.subagents.ending import Ending, Failed, Reported, Stopped, TimedOut
from onepen.subagents.host import Paused
from onepen.subagents.messages import Message, Text
from onepen.subagents.model import ModelReply, Usage
from onepen.subagents.pool import Assignment, Limits, Pool, ProcessPool, RequestRefused
from onepen.subagents.process.child import Child
from onepen.testing.bench import Bench, ScriptedHost
from onepen.testing.worker import worker


@pytest.fixture
def bench(either: Bench) -> Bench:
    return either


DONE = ["report", {"summary": "done"}]
CHILD = (["background", "echo $$ > pid; exec sleep 600"], ["shell", "until [ -s pid ]; do :; done"])
SHORT = Limits(seconds=1.0, silence=10.0)
SAID = ModelReply((Text("well"),), "end_turn", Usage(), "scripted")


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pid: int, within: float = 5.0) -> bool:
    end = time.monotonic() + within
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not alive(pid)


def pid_in(bench: Bench, name: str) -> int:
    return int((bench.drafts / name).read_text())


@contextmanager
def took_at_most(seconds: float) -> Iterator[None]:
    start = time.monotonic()
    yield
    assert time.monotonic() - start < seconds


def test_a_report_ends_an_attempt(bench: Bench) -> None:
    ending = bench.run(worker(["hello"], ["report", {"summary": "done", "answer": "1222", "complete": False}]))
    assert isinstance(ending, Reported)
    assert (ending.summary, ending.answer, ending.complete) == ("done", "1222", False)
    assert 0 < ending.seconds < 5
    assert not (bench.folder / "1" / "worker.log").exists()


def test_the_worker_is_told_its_task(bench: Bench) -> None:
    bench.run(worker(["shell", "cat > hello.txt <<E\n$SPACE\n$INPUTS\n$DRAFTS\n$(pwd)\nE"], DONE))
    space, inputs, drafts, here = bench.drafted()["hello.txt"].split()
    assert Path(space) == bench.space
    assert Path(inputs) == bench.folder / "inputs"
    assert Path(drafts) == Path(here) == bench.drafts


def test_questions_are_answered_in_order(bench: Bench) -> None:
    host = ScriptedHost([SAID, SAID])
    steps = (
        ["ask", {}],
        ["request", "search", {"query": "cone"}],
        ["ask", {}],
        ["send", "progress", {"text": "x" * 300}],
    )
    assert isinstance(bench.run(worker(*steps, DONE), host), Reported)
    assert host.asked == [("search", {"query": "cone"})]
    assert len(host.heard) == 2
    assert host.told == ["x" * 200]
    assert bench.log.count('"type":"model_reply"') == 2
    assert '"content":"nothing found"' in bench.log


def test_what_is_no_message_is_kept_and_means_nothing(bench: Bench) -> None:
    """Field case 40: a banner, a log line, messages glued and in pieces, bytes, colours: the result is taken."""
    host = ScriptedHost()
    ending = bench.run(
        worker(
            ["print", "Loading…\n"],
            ["print", "2026-11-29 [info     ] warmed up   model=x\n"],
            ["print", '{"note": "not a protocol message"}\n'],
            ["print", '{"v": 1, "type": "report", "summary": "in whose name?"}\n'],
            ["glued", ["hello", {"version": "0", "pid": 1}], ["progress", {"text": "glued"}]],
            ["print", "half a line, then "],
            ["split", 3, "progress", {"text": "split"}],
            ["bytes", "fffe0a"],
            ["print", "\x1b[31mred\x1b[0m\n"],
            DONE,
        ),
        host,
    )
    assert isinstance(ending, Reported) and ending.summary == "done"
    assert host.told == ["glued", "split"]
    for kept in ("Loading…", "warmed up", "not a protocol message", "half a line, then", "\\xff\\xfe", "\x1b[31mred"):
        assert kept in bench.log
    assert "glued" not in bench.log and "split" not in bench.log


@pytest.mark.parametrize("text", ["[" * 60_000, '{"a":' * 60_000, '{"v":1,"type":"report","x":' + "[" * 60_000])
def test_deeply_nested_json_is_noise(bench: Bench, text: str) -> None:
    """F21."""
    source = bench.write("nested.json", text + "\n")
    assert isinstance(bench.run(worker(["shell", f"cat {source} >&1"], DONE)), Reported)
    assert "[onepen] on stdout (" in bench.log


def test_stderr_is_drained_and_kept_up_to_a_limit(bench: Bench) -> None:
    """Field case 42 (a)."""
    with took_at_most(5):
        ending = bench.run(worker(["stderr", 5 << 20], DONE), limits=Limits(log_bytes=100_000))
    assert isinstance(ending, Reported)
    size = (bench.folder / "1" / "worker.log").stat().st_size
    assert 100_000 <= size < 101_000
    assert f"[onepen] {(5 << 20) - 100_000} bytes more were printed and not kept" in bench.log


def test_a_grandchild_that_holds_the_pipes_keeps_nobody(bench: Bench) -> None:
    """Field case 42 (b)."""
    with took_at_most(5):
        ending = bench.run(
            worker(["background", "echo $$ > pid; exec sleep 600"], ["shell", "until [ -s pid ]; do :; done"], DONE)
        )
    assert isinstance(ending, Reported)
    assert gone(pid_in(bench, "pid"))
    assert "something that the worker had started was still there" in bench.log


def test_a_worker_that_stays_after_its_report_is_ended(bench: Bench) -> None:
    """Field case 42 (c)."""
    with took_at_most(outcome.GRACE + 3):
        ending = bench.run(worker(["shell", "echo $PPID > pid"], DONE, ["sleep", 600]))
    assert isinstance(ending, Reported)
    assert gone(pid_in(bench, "pid"))
    assert "it had reported 2 s before; the worker was still running and was ended" in bench.log


def test_a_worker_that_closes_its_stdout_is_ended(bench: Bench) -> None:
    """Field case 42 (d)."""
    with took_at_most(outcome.GRACE + 3):
        ending = bench.run(worker(["shell", "echo $PPID > pid"], ["close", 1], ["sleep", 600]))
    assert isinstance(ending, Failed) and ending.signal == "SIGTERM"
    assert gone(pid_in(bench, "pid"))
    assert "it had closed its stdout" in bench.log


def test_time_is_limited(bench: Bench) -> None:
    """One that sleeps, with everything that it started; the draft that it left is kept."""
    steps = (["shell", "echo text > a.md; echo $PPID > worker"], ["background", "echo $$ > child; sleep 600 & wait"])
    with took_at_most(SHORT.seconds + supervision.KILL_GRACE + 2):
        ending = bench.run(worker(*steps, ["sleep", 600]), limits=SHORT)
    assert isinstance(ending, TimedOut) and ending.kind == "time" and 1 <= ending.seconds < 3
    assert gone(pid_in(bench, "worker")) and gone(pid_in(bench, "child"))
    assert bench.drafted()["a.md"] == "text\n"


def test_noise_is_no_sign_of_life(bench: Bench) -> None:
    steps = [[step, given] for _ in range(40) for step, given in (("print", "."), ("sleep", 0.1))]
    ending = bench.run(worker(*steps), limits=Limits(seconds=20, silence=0.5))
    assert isinstance(ending, TimedOut) and ending.kind == "silence" and ending.seconds < 3


def test_a_worker_that_waits_for_an_answer_may_be_silent(bench: Bench) -> None:
    async def slow() -> ModelReply:
        await anyio.sleep(0.8)
        return SAID

    ending = bench.run(worker(["ask", {}], DONE), ScriptedHost([slow]), limits=Limits(seconds=20, silence=0.5))
    assert isinstance(ending, Reported)


def test_a_worker_s_time_stands_still_while_its_call_waits_for_a_server(bench: Bench) -> None:
    """The wait is longer than the time limit; what comes after it is limited as before."""

    class Waiting(ScriptedHost):
        async def model(self, delta: tuple[Message, ...], prefix_sha: str, paused: Paused) -> ModelReply:
            with paused():
                await anyio.sleep(1.2)
            return SAID

    ending = bench.run(worker(["ask", {}], DONE), Waiting(), limits=SHORT)
    assert isinstance(ending, Reported) and ending.seconds > SHORT.seconds
    ending = bench.run(worker(["ask", {}], ["sleep", 600]), Waiting(), limits=SHORT, attempt=2)
    assert isinstance(ending, TimedOut) and ending.seconds < 1.2 + SHORT.seconds + 1


def test_sigterm_ignored(bench: Bench) -> None:
    """F19."""
    steps = (["deaf"], ["shell", "echo $PPID > pid"], ["sleep", 600])
    with took_at_most(SHORT.seconds + supervision.KILL_GRACE + 2):
        ending = bench.run(worker(*steps), limits=SHORT)
    assert isinstance(ending, TimedOut)
    assert gone(pid_in(bench, "pid"))


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGABRT", "SIGKILL"])
def test_a_signal_is_noticed_at_once(bench: Bench, name: str) -> None:
    ending = bench.run(worker(["hello"], ["signal", name]))
    assert isinstance(ending, Failed)
    assert (ending.signal, ending.exit_code) == (name, None)
    assert ending.reason == f"the worker ended by {name} without a report"
    assert ending.seconds < 4


def test_an_exit_is_noticed_with_its_last_words(bench: Bench) -> None:
    ending = bench.run(worker(["shell", "echo 'no module named x' >&2"], ["exit", 7]))
    assert isinstance(ending, Failed)
    assert (ending.exit_code, ending.signal) == (7, None)
    assert ending.reason == "the worker exited with 7 without a report; its last words: 'no module named x'"


def test_a_death_during_a_model_call_is_noticed_at_once(bench: Bench) -> None:
    cancelled: list[float] = []

    async def never() -> ModelReply:
        try:
            os.kill(pid_in(bench, "pid"), signal.SIGKILL)
            killed = time.monotonic()
            await anyio.sleep(60)
        finally:
            cancelled.append(time.monotonic() - killed)
        return SAID

    ending = bench.run(worker(["shell", "echo $PPID > pid"], ["ask", {}], DONE), ScriptedHost([never]))
    assert isinstance(ending, Failed) and ending.signal == "SIGKILL"
    assert cancelled[0] < 0.5  # it takes 1 to 5 ms; the machine that runs the tests may be busy


def test_a_program_that_is_not_there(bench: Bench) -> None:
    ending = bench.run(["/no/such/program"])
    assert isinstance(ending, Failed)
    assert re.search("/no/such/program: .*could not be started: No such file or directory", ending.reason)


@pytest.mark.parametrize("step", [["flood", 1 << 30], ["endless", 1 << 30], ["shell", "yes '{\"type\"'"]])
def test_a_flood_is_cut(bench: Bench, step: list[Any]) -> None:
    with took_at_most(10):
        ending = bench.run(worker(step, ["sleep", 600]), limits=Limits(seconds=20, noise_bytes=1 << 20, log_bytes=1000))
    assert isinstance(ending, Failed) and ending.reason == "it printed more than 1048576 bytes beside the wire"
    assert (bench.folder / "1" / "worker.log").stat().st_size < 3000


def test_a_message_in_another_name_changes_nothing(bench: Bench) -> None:
    """F21, field case 46."""
    host = ScriptedHost()
    ending = bench.run(
        worker(
            ["foreign", bench.task, 2, "report", {"summary": "of a later attempt"}],
            ["foreign", "t2", 1, "report", {"summary": "of another task"}],
            ["foreign", bench.task, 2, "progress", {"text": "foreign"}],
            ["report", {"summary": "mine"}],
            ["report", {"summary": "once more"}],
        ),
        host,
    )
    assert isinstance(ending, Reported) and ending.summary == "mine"
    assert host.told == []
    assert "ignored, it speaks for task 't1abc', attempt 2" in bench.log
    assert "ignored, it speaks for task 't2', attempt 1" in bench.log
    assert "ignored, it came late: the attempt was over" in bench.log and "once more" in bench.log


def test_a_report_after_the_time_limit_is_late(bench: Bench) -> None:
    """The first attempt ignores the end signal for a while, then reports; the second isn't touched by it."""
    late = "trap 'sleep 0.3; echo \"$LINE\"; exit 0' TERM; sleep 600 & wait"
    line = json.dumps({"v": 1, "task": bench.task, "attempt": 1, "type": "report", "summary": "late"})

    async def both() -> list[Ending]:
        endings: list[Ending] = []
        pool = bench.pool(worker(["shell", f"LINE='{line}'; {late}"]))
        other = bench.pool(worker(["sleep", 2], ["report", {"summary": "second"}], ["report", {"summary": "again"}]))

        async def one(pool: Pool, attempt: int, limits: Limits) -> None:
            endings.append(await pool.run(bench.assignment(attempt=attempt, limits=limits), ScriptedHost()))

        async with anyio.create_task_group() as group:
            group.start_soon(one, pool, 1, Limits(seconds=0.7))
            group.start_soon(one, other, 2, Limits(seconds=20))
        return endings

    first, second = anyio.run(both)
    assert isinstance(first, TimedOut)
    assert isinstance(second, Reported) and second.summary == "second"
    assert "late" not in (bench.folder / "2" / "worker.log").read_text().replace("it came late", "")


def test_a_message_that_is_not_understood_is_named(bench: Bench) -> None:
    ending = bench.run(worker(["send", "report", {"summary": 7}]))
    assert isinstance(ending, Failed)
    assert "a message of it was not understood: report.summary: Input should be a valid string" in ending.reason


def test_a_refused_request_fails_the_attempt_and_the_worker_is_told(bench: Bench) -> None:
    host = ScriptedHost([RequestRefused("the prefix differs")])
    ending = bench.run(worker(["ask", {}]), host)
    assert isinstance(ending, Failed) and ending.reason == "the prefix differs"
    assert '"error":"the prefix differs"' in bench.log


def test_an_error_of_the_host_passes_through_as_it_is(bench: Bench) -> None:
    class Broken(Exception):
        pass

    with pytest.raises(Broken):
        bench.run(worker(["shell", "echo $PPID > pid"], ["ask", {}], ["sleep", 600]), ScriptedHost([Broken()]))
    assert gone(pid_in(bench, "pid"))


def test_a_reply_too_long_for_the_wire_fails_the_attempt(bench: Bench) -> None:
    long = ModelReply((Text("x" * (5 << 20)),), "end_turn", Usage(), "scripted")
    ending = bench.run(worker(["ask", {}]), ScriptedHost([long]))
    assert isinstance(ending, Failed) and "a line of the wire has at most" in ending.reason


def test_half_a_character_in_a_reply_is_replaced(bench: Bench) -> None:
    half = ModelReply((Text("a \ud83d b"),), "end_turn", Usage(), "scripted")
    assert isinstance(bench.run(worker(["ask", {}], DONE), ScriptedHost([half])), Reported)
    assert "a \ufffd b" in bench.log


def test_cancelling_ends_the_worker_and_what_it_started(bench: Bench) -> None:
    async def whole() -> None:
        pool = bench.pool(worker(*CHILD, ["ask", {}]))
        async with anyio.create_task_group() as group:

            async def reached() -> ModelReply:
                group.cancel_scope.cancel()
                await anyio.sleep(60)
                return SAID

            group.start_soon(pool.run, bench.assignment(), ScriptedHost([reached]))

    anyio.run(whole)
    assert gone(pid_in(bench, "pid"))


@pytest.mark.parametrize("listens", [True, False])
def test_stopping_tells_the_worker_first(bench: Bench, listens: bool) -> None:
    async def whole() -> Ending:
        pool = bench.pool(worker(["send", "progress", {"text": "up"}], ["read"] if listens else ["sleep", 600]))

        class Stopping(ScriptedHost):
            def progress(self, text: str) -> None:
                pool.stop(bench.task, 1)
                pool.stop(bench.task, 9)

        return await pool.run(bench.assignment(), Stopping())

    with took_at_most(outcome.GRACE + 3):
        ending = anyio.run(whole)
    assert isinstance(ending, Stopped)
    assert ('"type":"cancel"' in bench.log) == listens


def test_one_that_is_stopped_while_it_starts_is_ended_too(bench: Bench) -> None:
    endings: list[Ending] = []

    class Busy(ProcessPool):
        async def _start(self, program: tuple[str, ...], assignment: Assignment) -> Child:
            await anyio.sleep(0.1)  # as when the fork server has more to do than it takes
            return await super()._start(program, assignment)

    async def whole() -> None:
        pool = Busy(worker(["hello"], ["sleep", 600]))

        async def one() -> None:
            endings.append(await pool.run(bench.assignment(), ScriptedHost()))

        async with anyio.create_task_group() as group:
            group.start_soon(one)
            await anyio.wait_all_tasks_blocked()
            pool.stop(bench.task, 1)

    with took_at_most(outcome.GRACE + 5):
        anyio.run(whole)
    assert [type(ending) for ending in endings] == [Stopped]


def test_many_side_by_side_do_not_wait_for_one_that_hangs(bench: Bench) -> None:
    async def whole() -> list[tuple[int, Ending]]:
        endings: list[tuple[int, Ending]] = []

        async def one(pool: Pool, attempt: int, limits: Limits) -> None:
            ending = await pool.run(bench.assignment(attempt=attempt, limits=limits), ScriptedHost())
            endings.append((attempt, ending))

        async with anyio.create_task_group() as group:
            group.start_soon(one, bench.pool(worker(["flood", 1 << 30])), 1, Limits(seconds=20, noise_bytes=4 << 20))
            group.start_soon(one, bench.pool(worker(["deaf"], ["sleep", 600])), 2, Limits(seconds=3))
            for attempt in range(3, 9):
                group.start_soon(one, bench.pool(worker(DONE)), attempt, Limits())
        return endings

    endings = anyio.run(whole)
    assert endings[-1][0] == 2 and isinstance(endings[-1][1], TimedOut)
    assert {attempt for attempt, ending in endings if isinstance(ending, Reported)} == set(range(3, 9))


def test_only_named_variables_reach_a_worker(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {"NEW_VENDOR_TOKEN": "tok-FAKE-1", "AWS_SECRET_ACCESS_KEY": "FAKE-2", "DATABASE_URL": "p://u:FAKE-3@h/d"}
    for name, value in {**secrets, "LC_ALL": "C.UTF-8", "PYTHONPATH": "/planted", "LD_PRELOAD": ""}.items():
        monkeypatch.setenv(name, value)
    bench.run(worker(["environment"], ["shell", "env > environment.md"], DONE))
    for text in (bench.log, bench.drafted()["environment.md"]):
        assert "FAKE" not in text and "/planted" not in text
        assert "C.UTF-8" in text and "PATH" in text


def test_descriptors_of_the_parent_do_not_reach_a_worker(bench: Bench) -> None:
    read, write = os.pipe()
    os.set_inheritable(write, True)
    ours = f"pipe:[{os.fstat(write).st_ino}]"
    try:
        bench.run(worker(["shell", "ls -l /proc/$PPID/fd > open"], DONE))
    finally:
        os.close(read)
        os.close(write)
    assert "pipe:[" in bench.drafted()["open"]
    assert ours not in bench.drafted()["open"]


def test_nothing_is_left_open(bench: Bench) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        bench.run(worker(DONE))
    assert len(list(Path("/proc/self/fd").iterdir())) == before
