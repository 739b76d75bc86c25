"""T7, field case 31: the key is in the orchestrator and nowhere else: no worker, log, draft or dump holds it."""

import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onepen.subagents.environment import ALLOWED, FIXED
from onepen.testing.messages_api import MessagesApi
from onepen.testing.program import Program, orchestrators

KEY = "canary-key-9161"
ENVIRONMENT = {
    "ANTHROPIC_API_KEY": KEY,
    "NEW_VENDOR_TOKEN": "tok-FAKE-9161",
    "AWS_SECRET_ACCESS_KEY": "aws-FAKE-9162",
    "DATABASE_URL": "postgres://u:FAKE-9163@h/d",
}
VALUES = (KEY, "tok-FAKE-9161", "aws-FAKE-9162", "FAKE-9163")
RULES: list[dict[str, Any]] = [
    {"turn": 1, "delay": 2.5, "reply": [{"tool": "search", "input": {"query": "cone"}}]},
    {"turn": 2, "reply": [{"tool": "report", "input": {"summary": "Done.", "answer": "At 1222 degrees."}}]},
]


def children(pid: int) -> set[int]:
    """All processes below one."""
    found: set[int] = set()
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            below = {int(one) for one in task.read_text().split()}
        except OSError:
            continue
        found |= below.union(*map(children, below))
    return found


def memory(pid: int) -> Iterator[bytes]:
    """What a process holds in memory of its own, piece by piece."""
    maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as file:
        for line in maps:
            found = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
            if found is None or line.endswith(("[vvar]", "[vsyscall]")):
                continue
            first, end = int(found[1], 16), int(found[2], 16)
            try:
                file.seek(first)
                yield file.read(end - first)
            except OSError:
                continue


def seen(pid: int) -> dict[str, bytes]:
    """What can be known of a process from outside; memory only where the system lets us look."""
    folder = Path(f"/proc/{pid}")
    found = {name: (folder / name).read_bytes() for name in ("environ", "cmdline", "limits")}
    try:
        found["memory"] = b"".join(memory(pid))
    except PermissionError:
        pass
    return found


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="processes are looked at through /proc")
def test_no_worker_holds_a_key_and_nothing_that_it_leaves_does(tmp_path: Path) -> None:
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    ws = tmp_path / "ws"
    (tmp_path / "cones.md").write_text("Cone 6 was reached at 1222 degrees.\n")
    looked: dict[int, dict[str, bytes]] = {}

    def look() -> None:
        """At every process below the orchestrator, while its workers wait for the model."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and len(looked) < 3:
            for server in orchestrators(tmp_path):
                for pid in children(server) - looked.keys():
                    try:
                        found = seen(pid)
                        own = Path(f"/proc/{server}/cmdline").read_bytes()
                    except (OSError, ValueError):
                        continue
                    if found["cmdline"] != own:  # else it is a copy of the orchestrator that becomes another program
                        looked[pid] = found
            time.sleep(0.05)

    with MessagesApi(RULES) as api:
        env = {**api.env, **ENVIRONMENT}
        watcher = threading.Thread(target=look)
        watcher.start()
        texts = ("When was cone 6 reached?", "How hot?")
        ran = onepen("delegate", *texts, "--input", "cones.md", "--json", "-C", ws, env=env)
        assert ran.code == 0 and all(t["answer"] or t["drafts"] for t in ran.json["tasks"]), ran
        watcher.join()
        assert any(request.headers.get("x-api-key") == KEY for request in api.requests)
        held = {pid: b"".join(memory(pid)) for pid in orchestrators(tmp_path) if os.geteuid() == 0}
        onepen.ok("down", cwd=ws, env=env)
    assert all(KEY.encode() in text for text in held.values()), "the look into memory would find it"
    assert len(looked) >= 2, "no worker was seen"
    for pid, found in looked.items():
        for what, data in found.items():
            assert [value for value in VALUES if value.encode() in data] == [], (pid, what, found["cmdline"])
        names = {one.partition(b"=")[0].decode() for one in found["environ"].split(b"\0") if one}
        assert {n for n in names if not n.startswith("LC_")} <= {*ALLOWED, *FIXED, "PYTHONPATH"}, names
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert [value for value in VALUES if value.encode() in path.read_bytes()] == [], path
    assert [p for p in tmp_path.rglob("core*") if p.is_file()] == []
