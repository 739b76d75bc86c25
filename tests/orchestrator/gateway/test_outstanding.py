"""A call that was out when its process died is booked by the next one, once, with the most that it may have cost."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import anyio
import pytest

from onepen.memory.ids import ClientId
from onepen.orchestrator.gateway.account import Account, Amount, Caps
from onepen.orchestrator.gateway.failure import CallBroken, CallFailed, Final
from onepen.orchestrator.gateway.gateway import Gateway
from onepen.orchestrator.gateway.outstanding import FOLDER, Outstanding, Unstored, left_behind
from onepen.orchestrator.settings.models import Served
from onepen.orchestrator.tasks.conversation import Conversation, Prefix
from onepen.subagents.messages import Text, user
from onepen.subagents.model import Listener, LostCall, ModelReply, ModelRequest, OnLost
from onepen.testing.scripted import ScriptedModel

from .conftest import PRICE, nobody_waits, request

ACCOUNT = Account(ClientId("acme"), "t1", "writer", Caps())
DIES = dedent(
    """\
    import os, signal, sys
    from pathlib import Path
    from onepen.orchestrator.gateway.account import Account, Amount, Caps
    from onepen.orchestrator.gateway.outstanding import Outstanding

    calls = Outstanding(Path(sys.argv[1]))
    account = Account(None, "t1", "writer", Caps())
    back = calls.leaves(account, "m", Amount(0.5))
    calls.leaves(account, "m", Amount(0.25))
    calls.returns(back)
    print("out", flush=True)
    signal.pause()
    """
)


def test_what_came_back_is_not_left_behind(tmp_path: Path) -> None:
    calls = Outstanding(tmp_path)
    one, other = calls.leaves(ACCOUNT, "m", Amount(0.5)), calls.leaves(ACCOUNT, "m", Amount(0.0, 700))
    calls.returns(one)
    calls.returns(other)
    calls.close()
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_the_file_of_a_busy_process_stays_short(tmp_path: Path) -> None:
    calls = Outstanding(tmp_path)
    for _ in range(3_000):
        calls.returns(calls.leaves(ACCOUNT, "m", Amount(0.5)))
    (file,) = (tmp_path / FOLDER).iterdir()
    assert file.stat().st_size < 300 << 10
    calls.close()


def test_a_live_process_s_calls_are_not_lost_and_a_dead_one_s_are(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", DIES, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as out:
        assert out.readline() == b"out\n"
    assert list(left_behind(tmp_path)) == []
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    ((path, (call,)),) = left_behind(tmp_path)
    assert (call.client, call.purse, call.agent, call.model, call.most) == (None, "t1", "writer", "m", Amount(0.25))
    path.write_bytes(path.read_bytes() + b'{"out": {"numb')  # the last line may be torn
    assert [len(calls) for _, calls in left_behind(tmp_path)] == [1]


def out(root: Path) -> int:
    """How many calls would be booked as lost if this process ended now."""
    (path,) = (root / FOLDER).iterdir()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return sum("out" in line for line in lines) - sum("back" in line for line in lines)


def test_a_call_is_out_until_its_reply_is_stored(tmp_path: Path) -> None:
    """A server wants to be paid for a reply that came and was lost with the process, as for one that never came."""
    served = Served(ScriptedModel([{"reply": [{"text": "1222"}]}]), PRICE)
    seen: list[int] = []

    async def whole() -> None:
        gateway, unstored = Gateway(outstanding=Outstanding(tmp_path)), Unstored()

        async def ask(wanted: ModelRequest, on_lost: OnLost) -> ModelReply:
            reply = await gateway.reply(
                served, wanted, ACCOUNT, on_lost=on_lost, waiting=nobody_waits, unstored=unstored
            )
            seen.append(out(tmp_path))
            return reply

        prefix = Prefix("scripted", (), (), "f" * 64)
        path = tmp_path / "transcript.jsonl"

        def kept() -> None:
            assert '"kind": "reply"' in path.read_text()
            unstored.stored()

        talk = Conversation(path, ask, prefix, agent="writer", turns=3, kept=kept)
        await talk.reply((user(Text("How hot?")),), "")
        seen.append(out(tmp_path))

    anyio.run(whole)
    assert seen == [1, 0]


def test_a_call_that_broke_is_back_as_soon_as_that_is_told(tmp_path: Path) -> None:
    lost: list[LostCall] = []

    async def whole() -> None:
        gateway = Gateway(outstanding=Outstanding(tmp_path))
        with pytest.raises(CallFailed):
            await gateway.reply(
                Served(_Broken([]), PRICE), request(), ACCOUNT, on_lost=lost.append, waiting=nobody_waits,
                unstored=Unstored(),
            )  # fmt: skip

    anyio.run(whole)
    assert len(lost) == 1 and out(tmp_path) == 0


class _Broken(ScriptedModel):
    async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        raise CallBroken(Final("the server is gone"))


def test_nothing_is_kept_where_there_is_no_workspace(tmp_path: Path) -> None:
    calls = Outstanding(None)
    calls.returns(calls.leaves(ACCOUNT, "m", Amount(0.5)))
    calls.close()
    assert list(left_behind(tmp_path)) == []


def test_a_file_that_was_taken_for_abandoned_while_it_was_made_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock
    removed: list[Path] = []

    def late(fd: int, operation: int) -> None:
        if not removed:
            removed.append(next((tmp_path / FOLDER).iterdir()))
            removed[0].unlink()
        lock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", late)
    calls = Outstanding(tmp_path)
    calls.leaves(ACCOUNT, "m", Amount(0.5))
    (file,) = (tmp_path / FOLDER).iterdir()
    assert file != removed[0] and file.stat().st_size
    calls.close()
