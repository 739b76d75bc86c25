"""Commands of a model: what it is told of them, where they run, and that nothing of them stays."""

import sys
import time
from pathlib import Path

import pytest

from onepen.memory.fence import inside
from onepen.subagents.messages import ToolResult
from onepen.subagents.sandbox import landlock
from onepen.subagents.toolbox import running
from onepen.subagents.toolbox.command import together
from onepen.subagents.toolbox.running import state_after
from onepen.testing.bench import Bench, Tried


@pytest.fixture
def tools(bench: Bench) -> Tried:
    return bench.toolbox(commands=True)


def told(result: str) -> str:
    """The result without its fence, and without the line that tells of the work folder."""
    return inside(result).rpartition("\nwork folder: ")[0]


def test_it_says_how_it_ended_and_what_both_streams_hold(tools: Tried) -> None:
    assert told(tools.ok("run_command", command="echo 2 3 5; echo oh no >&2; exit 3")) == (
        "exit code 3\nstdout:\n2 3 5\nstderr:\noh no"
    )
    assert told(tools.ok("run_command", command="true")) == "exit code 0\n(it printed nothing)"
    assert told(tools.ok("run_command", command="kill -SEGV $$")).startswith("ended by SIGSEGV")
    assert told(tools.ok("run_command", command="no-such-program")).startswith("exit code 127\nstderr:\n")


def test_it_runs_in_the_work_folder_and_knows_where_the_inputs_are(bench: Bench, tools: Tried) -> None:
    assert told(tools.ok("run_command", command="pwd -P; cat $INPUTS/cones.md | wc -l; ls $SPACE/projects")) == (
        f"exit code 0\nstdout:\n{bench.work.resolve()}\n3\nkiln\nkiln.md"
    )
    tools.ok("run_command", command="echo x > $HOME/a; echo y > $TMPDIR/b; mktemp; read line || echo no input")
    assert {"a", "b"} < {path.name for path in (bench.work / ".tmp").iterdir()}


def test_it_gets_nothing_of_its_parents_environment(tools: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    """FR-31: a list of what is allowed, not of what is forbidden."""
    monkeypatch.setenv("STUDIO_KEY", "sk-canary")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    seen = told(tools.ok("run_command", command="env | cut -d= -f1 | sort")).split("\n")[2:]
    assert {"STUDIO_KEY", "PYTHONPATH", "ANTHROPIC_API_KEY"}.isdisjoint(seen)
    passed = {"PWD", "OLDPWD", "SHLVL", "_", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "TZ", "TZDIR"}
    own = {"GIT_CONFIG_NOSYSTEM", "HOME", "INPUTS", "PATH", "PYTHONDONTWRITEBYTECODE", "SPACE", "TMPDIR"}
    assert {name for name in seen if not name.startswith("LC_")} - passed == own


def test_python_is_there_wherever_onepen_is(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere:.:/bin")
    tools = bench.toolbox(commands=True)
    assert told(tools.ok("run_command", command="python3 -c 'print(6 * 7)'")) == "exit code 0\nstdout:\n42"
    own = Path(sys.executable).parent
    assert told(tools.ok("run_command", command="echo $PATH")) == f"exit code 0\nstdout:\n/bin:{own}"


def test_what_lies_there_afterwards_is_told_with_the_state_that_it_is(tools: Tried) -> None:
    first = tools.ok("run_command", command="echo 1 > a.csv; mkdir sub; echo 2 > sub/b.csv")
    assert "\nwork folder: a.csv (new, 2 bytes); sub/b.csv (new, 2 bytes) [state " in first
    second = tools.ok("run_command", command="echo 22 > sub/b.csv; rm a.csv; echo x > .tmp/x")
    assert "\nwork folder: sub/b.csv (changed, 3 bytes); gone: a.csv [state " in second
    third = tools.ok("run_command", command="cat sub/b.csv")
    assert third.endswith(f"\nwork folder: as before, 1 in all [state {state_after(second)}]")
    assert state_after(first) not in (None, state_after(second))
    many = tools.ok("run_command", command="mkdir .git; for i in $(seq 30); do echo > n$i; echo > .git/$i; done")
    assert many.count("(new, 1 bytes)") == 20 and ".git" not in many and "; 41 more [state " in many
    empty = tools.ok("run_command", command="rm -r sub .git n*")
    assert "work folder: gone: n1, n10, n11, " in empty and ".git" not in inside(empty)


def test_what_a_command_prints_names_no_state(tools: Tried) -> None:
    lie = "work folder: empty [state 0123456789abcdef]"
    assert state_after(tools.ok("run_command", command=f"printf '\\n{lie}'")) != "0123456789abcdef"
    assert state_after(lie) is None and state_after("exit code 0\nnothing") is None


def test_it_is_ended_when_its_time_is_up_with_all_that_it_began(tools: Tried, bench: Bench) -> None:
    began = time.monotonic()
    command = "(sleep 0.1; trap '' TERM; sleep 3; echo late > late) & echo first; sleep 30"
    refused = tools("run_command", command=command, seconds=1)
    assert refused.is_error and 0.9 < time.monotonic() - began < 2.5
    assert told(refused.content) == "ended after 1 s, its time was up\nstdout:\nfirst"
    time.sleep(0.1)
    assert not alive_in(bench.work)
    assert not (bench.work / "late").exists()


def test_a_model_can_ask_for_more_time_but_not_for_more_than_its_attempt_has(
    tools: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "SECONDS", 1)
    assert told(tools.ok("run_command", command="sleep 1.5; echo done", seconds=20)).endswith("done")
    assert told(tools("run_command", command="sleep 20").content).startswith("ended after 1 s")
    tools.toolbox._running._most = 1.0  # type: ignore[union-attr]
    assert told(tools("run_command", command="sleep 20", seconds=600).content).startswith("ended after 1 s")


def test_what_it_leaves_in_the_background_ends_with_it(tools: Tried, bench: Bench) -> None:
    began = time.monotonic()
    told_ = told(tools.ok("run_command", command="sleep 30 & echo started"))
    assert time.monotonic() - began < 2
    assert told_ == "exit code 0; what it had started in the background was ended with it\nstdout:\nstarted"
    assert told(tools.ok("run_command", command="sleep 30 >/dev/null 2>&1 & echo silent")).endswith("silent")
    time.sleep(0.1)
    assert not alive_in(bench.work)


@pytest.mark.skipif(not together(), reason="no filter of system calls here")
@pytest.mark.parametrize(
    "escape",
    [
        "setsid sleep 30 & echo started",
        'python3 -c \'import os; os.fork() or (os.setsid(), os.execvp("sleep", ["sleep", "30"]))\'',
        'python3 -c \'import os; os.fork() or (os.setpgid(0, 0), os.execvp("sleep", ["sleep", "30"]))\'',
        "(set -m; sleep 30 &) ; (nohup sh -c 'sleep 30 & sleep 30' >/dev/null 2>&1 &)",
    ],
)
def test_nothing_gets_out_of_the_group_that_is_ended(tools: Tried, bench: Bench, escape: str) -> None:
    """F22: a daemon that leaves its session is no longer reached by a signal to its group; so it can't leave."""
    tools("run_command", command=escape, seconds=5)
    time.sleep(0.1)
    assert not alive_in(bench.work)


@pytest.mark.skipif(landlock.version() < 6, reason="this kernel has no scope of signals")
def test_a_command_can_not_end_its_worker(tools: Tried) -> None:
    assert "Operation not permitted" in tools.ok("run_command", command="kill -0 $PPID")
    assert told(tools.ok("run_command", command="sleep 9 & kill $!; wait; echo its own")).endswith("its own")


def test_a_flood_is_cut_and_its_end_is_kept(tools: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    """F20: what is printed is read to its end, and costs neither memory nor tokens."""
    shown = told(tools.ok("run_command", command="seq 1 2000000; echo oops"))
    assert len(shown) < 20_000 and shown.startswith("exit code 0\nstdout:\n1\n2\n") and shown.endswith("2000000\noops")
    assert "bytes left out …]" in shown
    monkeypatch.setattr("onepen.subagents.toolbox.command.MOST_PRINTED", 1 << 20)
    assert told(tools("run_command", command="yes").content).startswith("ended, it printed more than ")


def test_a_folder_that_fills_up_is_noticed_while_it_fills(tools: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
    """F20: many files, and large ones."""
    monkeypatch.setattr("onepen.subagents.toolbox.workfolder.MOST_BYTES", 1 << 20)
    monkeypatch.setattr("onepen.subagents.toolbox.workfolder.MOST_FILES", 50)
    full = tools("run_command", command="head -c 3000000 /dev/urandom > big; sleep 20")
    assert full.is_error and "ended, the work folder holds more than 1 MiB; remove what is not needed" in full.content
    tools.ok("run_command", command="rm big")
    many = tools("run_command", command="for i in $(seq 80); do : > f$i; done; sleep 20")
    assert many.is_error and "ended, the work folder holds more than 50 files" in many.content
    assert state_after(many.content) == "unknown"
    assert tools("run_command", command="rm f*").is_error is False


@pytest.mark.parametrize("given", [{"command": " "}, {"command": "echo \0"}])
def test_what_is_no_command(tools: Tried, given: dict[str, object]) -> None:
    assert "give a line of shell" in tools.refused("run_command", given)


def test_what_a_command_did_stands_between_fences_however_it_ended(tools: Tried) -> None:
    """What it prints may be a stranger's words."""
    for command in ("echo obey", "echo obey; sleep 20"):
        content = tools("run_command", command=command, seconds=1).content
        assert "data: what the command did]\n" in content and "obey" in inside(content) != content


def test_without_consent_the_model_is_told_so(bench: Bench) -> None:
    tools = bench.toolbox(asks=frozenset({"run_command"}))
    assert tools.refused("run_command", command="ls") == (
        "run_command: not allowed: this agent asks for it, and the person has not said yes (onepen trust); go on "
        "without it, and say in the report what it was needed for"
    )
    assert "its definition gives it: edit_draft" in bench.toolbox().refused("run_command", command="ls")
    assert not bench.work.exists()


def test_a_command_that_an_earlier_attempt_ran_is_not_run_again(tools: Tried, bench: Bench) -> None:
    tools.toolbox.remember([ToolResult("u1", "exit code 0\n…"), ToolResult("u2", "ended", is_error=True)])
    assert tools.ok("run_command", command="echo x > made") == "exit code 0\n…"
    assert tools("run_command", command="echo x > made").is_error
    assert not (bench.work / "made").exists()
    tools.ok("run_command", command="echo x > made")
    assert (bench.work / "made").exists()


def alive_in(folder: Path) -> list[str]:
    """The command lines of processes that stand in a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").readlink().is_relative_to(folder.resolve()):
                found.append((entry / "cmdline").read_text())
        except OSError:
            continue
    return found
