"""Commands inside the sandbox, for root and for an ordinary user: what code work needs is there, all else is not."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from onepen.memory.fence import inside
from onepen.subagents.sandbox.level import probe

NOBODY = 65534
INSIDE = """
import json, os, sys
from pathlib import Path
from onepen.subagents.toolbox.running import Running
from onepen.subagents.sandbox.confine import confine
from onepen.subagents.sandbox.confinement import Confinement
from onepen.subagents.sandbox.level import probe
from onepen.subagents.toolbox.toolinput import RunCommand
from onepen.subagents.toolbox.workfolder import WorkFolder

root, user, commands = Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
if user != os.getuid():
    os.setgroups([]), os.setgid(user), os.setuid(user)
space = root / "space"
read = (root / "inputs", space / "projects", space / "research")
held = Confinement(read, (root / "drafts",), (root / "work",), private=(space,), commands=True)
confine(held, probe())
running = Running(WorkFolder(root / "work"), os.environ, root / "inputs", space, print)
results = [running.run(RunCommand(command=command, seconds=10))[0] for command in commands]
sys.stdout.write(json.dumps([*results, running.folder.take("made.csv").decode()]))
"""


@pytest.fixture(params=[0, NOBODY], ids=["root", "ordinary user"])
def user(request: pytest.FixtureRequest) -> int:
    if probe().kind != "landlock+seccomp":
        pytest.skip("no kernel sandbox here")
    if os.getuid() != 0:
        pytest.skip("only root can be somebody else")
    return int(request.param)


@pytest.fixture
def ground(user: int) -> Iterator[Path]:
    """Folders below a path that an ordinary user may walk."""
    root = Path(tempfile.mkdtemp(prefix="onepen-"))
    for name in ("inputs", "space/projects", "space/research", "space/memory", "drafts", "work"):
        (root / name).mkdir(parents=True)
    (root / "inputs/cones.csv").write_text("6,1222\n")
    (root / "space/memory/2026-11-30.md").write_text("canary\n")
    for path in (root, *root.rglob("*")):
        os.chown(path, user, user)
    yield root
    shutil.rmtree(root)


def run(root: Path, user: int, *commands: str) -> list[str]:
    order = (str(root), str(user), json.dumps(commands))
    done = subprocess.run([sys.executable, "-P", "-c", INSIDE, *order], capture_output=True, timeout=50)
    assert done.returncode == 0, done.stderr.decode()
    return [inside(text) for text in json.loads(done.stdout)]


def test_code_work_goes_on_inside_and_nothing_beyond(ground: Path, user: int) -> None:
    counts = (
        "awk -F, '{print $2}' $INPUTS/cones.csv | tee made.csv; python3 -c 'import csv, sqlite3; print(6 * 7)'; id -u"
    )
    builds = """
        printf 'all:\n\t@echo made\n' > Makefile
        if command -v make >/dev/null; then make; else echo made; fi
        ln -s made.csv link && cat link; mkfifo pipe; mktemp | grep -c /work/.tmp/
        if command -v git >/dev/null; then git init -q repo && git -C repo status --short; fi; echo done
    """
    reaches = """
        cat $SPACE/memory/2026-11-30.md; ls $SPACE; echo x > $SPACE/projects/planted.md; echo x > $INPUTS/x
        cat /proc/1/status; ls /root; echo x > /tmp/planted; kill -9 $PPID; setsid true
        python3 -c 'import socket; socket.socket()'
    """
    counted, built, reached, drafted = run(ground, user, counts, builds, reaches)
    assert counted.startswith(f"exit code 0\nstdout:\n1222\n42\n{user}\nwork folder: made.csv (new, 5 bytes)")
    assert built.startswith("exit code 0\nstdout:\nmade\n1222\n1\ndone\nwork folder: "), built
    assert drafted == "1222\n"
    assert "canary" not in reached and "stdout:" not in reached
    assert (reached.count("denied"), reached.count("not permitted")) == (7, 3), reached
    assert not (ground / "space/projects/planted.md").exists() and not Path("/tmp/planted").exists()
