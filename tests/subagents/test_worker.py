"""Our own worker as a real process: what it does, what it never imports, and that it dies with its parent."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from onepen.subagents import wire
from onepen.subagents.assignment import hello
from onepen.subagents.ending import Failed, Reported, TimedOut
from onepen.subagents.environment import child_environment
from onepen.subagents.messages import Text
from onepen.subagents.model import ModelReply, Usage
from onepen.subagents.pool import Limits, RequestRefused
from onepen.subagents.prompt import first_message, prefix_sha, read_snapshot, system_blocks, tools
from onepen.testing.bench import Bench, ScriptedHost, agent, call
from onepen.testing.worker import worker

COMMAND = (sys.executable, "-P", "-m", "onepen.subagents")
REPORT = call(("report", {"summary": "done"}))
ENTRY = {"section_id": "firing", "summary": "Fire at 1220 since cone 6."}


def test_a_whole_attempt(bench: Bench) -> None:
    host = ScriptedHost(
        [
            call(("read_input", {"name": "cones"}), ("search", {"query": "cone 6"})),
            call(("propose_edit", {"card": "kiln", "section": "firing", "old_text": "fire at 1200",
                                   "new_text": "fire at 1220", "index_entry": ENTRY})),
            call(("report", {"summary": "One edit.", "answer": "1222", "complete": True})),
        ]
    )  # fmt: skip
    ending = bench.run(None, host)
    assert isinstance(ending, Reported)
    assert (ending.summary, ending.answer, ending.complete) == ("One edit.", "1222", True)
    assert list(bench.drafted()) == ["kiln-firing.md"]
    assert "provenance: external" in bench.drafted()["kiln-firing.md"]
    assert host.heard[0] == (first_message(bench.assignment()),)
    assert [result.is_error for result in host.results] == [False, False, False]
    assert host.asked == [("search", {"query": "cone 6"})]
    assert host.told == ["started", "read_input cones, search cone 6", "propose_edit kiln", "report"]
    assert not (bench.folder / "1" / "worker.log").exists()


def test_it_computes_the_prefix_that_the_orchestrator_computes(bench: Bench) -> None:
    host = ScriptedHost([REPORT])
    bench.run(None, host, model="claude-x")
    system = system_blocks(read_snapshot(bench.root / "snapshot"), agent())
    assert host.prefixes == {prefix_sha("claude-x", system, tools())}


def test_drafts_outside_are_refused_and_named(bench: Bench) -> None:
    before = {path: path.read_bytes() for path in bench.root.rglob("*") if path.is_file()}
    names = ["../../projects/kiln.md", "/tmp/onepen-x.md", "a/../../x.md", "C:\\x.md", "..\\x.md"]
    targets = ["projects/../x.md", "/tmp/onepen-x.md", "clients/other/projects/secret.md", "SOUL.md"]
    calls = [("write_draft", {"text": "x", "title": "X", "name": name}) for name in names]
    calls += [("write_draft", {"text": "x", "target": target}) for target in targets]
    host = ScriptedHost([call(*calls), REPORT])
    assert isinstance(bench.run(None, host), Reported)
    assert all(result.is_error for result in host.results)
    for result, asked in zip(host.results, [*names, *targets], strict=True):
        assert repr(asked) in result.content
    assert {path: path.read_bytes() for path in bench.root.rglob("*") if path.is_file()} == before
    assert not Path("/tmp/onepen-x.md").exists()


def test_what_a_library_prints_is_not_on_the_wire(bench: Bench) -> None:
    """Stdout is stderr for whatever the worker's code prints."""
    program = dedent("""
        import os, sys
        from onepen.subagents import worker
        def loud(read=worker.read_snapshot):
            def said(folder):
                print("printed", flush=True)
                os.write(1, b"written\\n")
                assert sys.stdin.read() == ""
                return read(folder)
            return said
        worker.read_snapshot = loud()
        sys.exit(worker.main())
    """)
    ending = bench.run((sys.executable, "-P", "-c", program), ScriptedHost([REPORT]))
    assert isinstance(ending, Reported)
    assert bench.log == "printed\nwritten\n"


def test_it_may_use_no_more_turns_than_it_was_given(bench: Bench) -> None:
    host = ScriptedHost([call(("search", {"query": str(k)})) for k in range(9)])
    ending = bench.run(None, host, limits=Limits(seconds=20, turns=3))
    assert isinstance(ending, Reported) and not ending.complete
    assert "all 3 turns are used up" in ending.summary
    assert len(host.heard) == 3


def test_a_refused_request_ends_it_at_once(bench: Bench) -> None:
    ending = bench.run(None, ScriptedHost([RequestRefused("over budget")]))
    assert isinstance(ending, Failed) and ending.reason == "over budget" and ending.exit_code == 1
    assert bench.log == "over budget\n"


def test_a_snapshot_that_is_gone(bench: Bench) -> None:
    (bench.root / "snapshot" / "OPS.md").unlink()
    ending = bench.run(None, ScriptedHost([REPORT]))
    assert isinstance(ending, Failed) and "OPS.md" in ending.reason and ending.exit_code == 1


def test_a_reply_cut_at_the_limit_writes_nothing(bench: Bench) -> None:
    cut = {"card": "kiln", "old_text": "celadon"}
    whole = {**cut, "new_text": "tenmoku", "index_entry": {"section_id": "glaze", "summary": "Tenmoku."}}
    replies = [call(("propose_edit", given), stop="max_tokens") for given in (cut, whole)]
    host = ScriptedHost([*replies, REPORT])
    assert isinstance(bench.run(None, host), Reported)
    assert bench.drafted() == {}
    assert [("cut at the output limit" in r.content, r.is_error) for r in host.results] == [(True, True)] * 2


def test_half_a_character_from_a_model(bench: Bench) -> None:
    calls = call(("write_draft", {"text": "# New\n\na \ud83d b\n"})).content
    half = ModelReply((Text("\ud83d"), *calls), "tool_use", Usage(), "m")
    assert isinstance(bench.run(None, ScriptedHost([half, REPORT])), Reported)
    assert "a \ufffd b" in bench.drafted()["new.md"]


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.2])
def test_limits_hold_for_it_too(bench: Bench, seconds: float) -> None:
    ending = bench.run(None, ScriptedHost([REPORT]), limits=Limits(seconds=seconds))
    assert isinstance(ending, TimedOut | Reported)


def test_it_imports_nothing_heavy(bench: Bench) -> None:
    """What a worker has loaded when it waits for its first reply: no model library, no command line, no pen."""
    code = dedent("""
        import sys
        import onepen.subagents.worker
        print(*sys.modules)
    """)
    environment = child_environment(os.environ)
    run = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, timeout=30, env=environment
    )
    loaded = set(run.stdout.split())
    heavy = {
        "anthropic", "typer", "rich", "pydantic_settings", "structlog", "asyncio", "anyio", "platformdirs", "filelock",
        "snowballstemmer", "rapidfuzz", "ssl", "multiprocessing", "tomllib",
    }  # fmt: skip
    assert not heavy & loaded
    ours = {name for name in loaded if name.startswith("onepen.")}
    assert not {one for one in ours if "orchestrator" in one or one.endswith((".pen", ".redo", ".pool", ".testing"))}


def started(bench: Bench) -> "subprocess.Popen[bytes]":
    """A worker that has asked its first question and waits."""
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/")
    assert process.stdin is not None and process.stdout is not None
    bench.drafts.mkdir(parents=True)
    process.stdin.write(wire.encode(hello(bench.assignment())))
    process.stdin.flush()
    while json.loads(process.stdout.readline())["type"] != "model_request":
        pass
    return process


def test_it_ends_at_the_end_of_its_input(bench: Bench) -> None:
    process = started(bench)
    _, errors = process.communicate(timeout=10)
    assert (process.returncode, errors) == (1, b"the orchestrator is gone\n")


def test_it_ends_when_cancelled(bench: Bench) -> None:
    process = started(bench)
    _, errors = process.communicate(wire.encode(wire.Cancel(task=bench.task, attempt=1)), timeout=10)
    assert (process.returncode, errors) == (1, b"cancelled\n")


def test_it_ends_when_nobody_reads(bench: Bench) -> None:
    process = started(bench)
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdout.close()
    reply = wire.ModelReplied(task=bench.task, attempt=1, id=1, content=REPORT.content, stop_reason="tool_use")
    process.stdin.write(wire.encode(reply))
    process.stdin.flush()
    assert process.wait(timeout=10) == 1
    process.stdin.close()
    process.stderr.close()


ORCHESTRATOR = """
import sys
from pathlib import Path
import anyio
from onepen.testing.bench import Bench, ScriptedHost, call

async def never():
    Path(sys.argv[2]).touch()
    await anyio.sleep(600)

Bench(Path(sys.argv[1])).run(COMMAND, ScriptedHost([never]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("own", [True, False], ids=["our worker", "another program"])
def test_no_worker_outlives_the_process_of_its_pool(bench: Bench, number: signal.Signals, own: bool) -> None:
    """Ours is killed by the kernel and sees the end of its input, another program sees at least the latter.

    What a worker has started itself is ended with it while the pool lives; that nothing of it is left when the pool is
    killed needs a warden, which is not there yet.
    """
    reached = bench.root / "reached"
    command = None if own else worker(["shell", "echo $PPID > pid"], ["ask", {}], ["read"], ["exit", 0])
    program = ORCHESTRATOR.replace("COMMAND", repr(command))
    parent = subprocess.Popen([sys.executable, "-P", "-c", program, bench.root, reached], stderr=subprocess.PIPE)
    until(reached.exists)
    (child,) = children(parent.pid)
    before = sorted(bench.drafts.iterdir())
    parent.send_signal(number)
    killed = time.monotonic()
    until(lambda: not alive(child))
    assert time.monotonic() - killed < 3
    parent.communicate(timeout=10)
    assert parent.returncode != 0
    assert sorted(bench.drafts.iterdir()) == before


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Look again and again until it is so; fails after `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
