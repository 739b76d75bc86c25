"""What a person's own command is told when a batch has ended, and that nothing it does matters to the batch."""

import json
import sys
import time
from pathlib import Path

import anyio
import pytest

from onepen.orchestrator.batch.answer import BatchView, Counts
from onepen.orchestrator.batch.notify import line_of, notify
from onepen.testing.processes import alive

VIEW = BatchView(
    "500-ab12cd34", "500.csv", "finished", Counts(committed=480, in_review=8, failed=12), cost_usd=1.5, seconds=3_700
)


def told(*command: str, seconds: float = 10.0) -> str | None:
    async def run() -> str | None:
        return await notify(command, line_of(VIEW), VIEW.as_json(), seconds=seconds)

    return anyio.run(run)


def test_one_line_says_how_it_ended() -> None:
    assert line_of(VIEW) == (
        "Batch 500.csv is finished: 488 of 500 done, 12 failed, 8 wait for review, cost $1.50, in 1 h 1 min"
    )
    unpriced = BatchView("x-ab12cd34", "-x\n.csv", "over_budget", Counts(pending=3), cost_usd=None)
    assert line_of(unpriced) == "Batch -x .csv has reached its budget: 0 of 3 done, cost unknown, in 0 s"


def test_it_gets_the_line_as_its_last_argument_and_the_batch_on_stdin(tmp_path: Path) -> None:
    script = tmp_path / "note.py"
    script.write_text(
        "import json, os, sys\n"
        f"open({str(tmp_path / 'seen')!r}, 'w').write(json.dumps([sys.argv[1:], json.load(sys.stdin), os.getcwd()]))\n"
    )
    assert told(sys.executable, str(script), "a b", "$HOME; echo") is None
    words, document, folder = json.loads((tmp_path / "seen").read_text())
    assert words == ["a b", "$HOME; echo", line_of(VIEW)], "no shell has read it"
    assert (document, folder) == (json.loads(json.dumps(VIEW.as_json())), "/")


def test_no_key_of_the_shell_reaches_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "made-up")
    assert told("/bin/sh", "-c", f'env > "{tmp_path}/env"') is None
    assert "ANTHROPIC" not in (tmp_path / "env").read_text() and "PATH=" in (tmp_path / "env").read_text()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("/bin/no-such-program",), "[notify] command '/bin/no-such-program' could not be started: No such file"),
        (("/bin/sh", "-c", "exit 3"), "[notify] command '/bin/sh' ended with 3"),
        (("/bin/sh", "-c", "exec <&-; exit 0"), None),
        ((), None),
    ],
)
def test_its_failure_is_a_note(command: tuple[str, ...], said: str | None) -> None:
    assert (told(*command) or "").startswith(said or "")
    assert (told(*command) is None) == (said is None)


def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    begun = time.monotonic()
    script = f'sleep 60 & echo $! > "{tmp_path}/pid"; wait'
    assert (
        told("/bin/sh", "-c", script, seconds=0.5) == "[notify] command '/bin/sh' was ended: it took longer than 0.5 s"
    )
    assert time.monotonic() - begun < 10
    deadline = time.monotonic() + 10
    while alive(int((tmp_path / "pid").read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_others_go_on_meanwhile() -> None:
    async def run() -> list[str]:
        order: list[str] = []

        async def ticks() -> None:
            await anyio.sleep(0.01)
            order.append("tick")

        async with anyio.create_task_group() as group:
            group.start_soon(ticks)
            await notify(("/bin/sh", "-c", "sleep 0.3"), "", {})
            order.append("told")
        return order

    assert anyio.run(run) == ["tick", "told"]
