"""An installation of onepen whose workers are other programs: for stories in which workers misbehave."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

Workers = Mapping[str, list[list[Any]]]
Install = Callable[[Workers], dict[str, str]]

PATHS = """\
import site; site.addsitedir({real!r})
import instead
"""
INSTEAD = """\
import os, pathlib, sys
if sys.orig_argv[-2:] == ["-m", "onepen.subagents"]:
    import ctypes, signal
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # it dies with its parent, as onepen's own worker does
    steps = pathlib.Path(sys.prefix, "workers.json").read_text()
    os.execv(sys.executable, [sys.executable, "-P", "-m", "onepen.testing.worker", steps])
"""
PROGRAM = """\
#!{python}
import sys
from onepen.orchestrator.commands.app import main
sys.exit(main())
"""


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Gives the environment of a shell that finds an onepen of its own, which is the one under test but for its worker.

    What a worker does is looked up by the text of its task, see onepen.testing.worker.
    """

    def make(workers: Workers) -> dict[str, str]:
        folder = tmp_path / "env"
        packages = folder / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
        packages.mkdir(parents=True)
        programs = folder / "bin"
        programs.mkdir()
        real = Path(os.path.realpath(sys.executable))
        (programs / "python").symlink_to(real)
        (folder / "pyvenv.cfg").write_text(f"home = {real.parent}\n")
        (folder / "workers.json").write_text(json.dumps(workers))
        ours = next(path for path in sys.path if path.endswith("site-packages"))
        (packages / "instead.py").write_text(INSTEAD)
        (packages / "under_test.pth").write_text(PATHS.format(real=ours))
        (programs / "onepen").write_text(PROGRAM.format(python=programs / "python"))
        (programs / "onepen").chmod(0o755)
        return {"PATH": f"{programs}:{os.environ['PATH']}"}

    return make
