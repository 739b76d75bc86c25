"""A workspace that is moved away while it is worked in: whatever is written next fails, and nothing is begun anew."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from onepen.memory.disk import Disk
from onepen.memory.errors import OnepenError
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.pens import HeldPen
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.service import Service
from onepen.testing.clock import FixedClock
from onepen.testing.tally import spread

MakeService = Callable[..., Service]
CALLS = ("open", "write", "truncate", "rename", "exchange", "rename_new", "unlink", "mkdir")


class Mover:
    """Moves the workspace in `root` away before the n-th call that changes the file system, counted from 1."""

    def __init__(self, root: Path, n: int, patch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.n = n
        self.calls = 0
        for name in CALLS:
            patch.setattr(Disk, name, self._counted(getattr(Disk, name)))

    def _counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(disk: Disk, *args: Any) -> Any:
            self.calls += 1
            if self.calls == self.n:
                self.root.rename(self.root.with_name("moved"))
            return real(disk, *args)

        return call


async def work(make_service: MakeService, root: Path, clock: FixedClock) -> None:
    """A task with an input and a reviewing person, a line, a client and its first card."""
    with HeldPen.open(View(open_workspace(root)), clock, wait=0.05) as pen:
        service = make_service(pens=pen)
        inputs = (root.with_name("studio"),)
        done = await service.delegate(DelegateRequest(("Which cone for glaze?",), inputs=inputs))
        (draft,) = done.tasks[0].drafts
        service.approve([draft.id])
        service.log("fired")
        service.add_client("Acme")
        service.add_research("Cone 6", client="acme")
    make_service().log("put down")


@pytest.mark.parametrize("most", [25, pytest.param(1_000, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_nothing_is_begun_anew_where_a_workspace_was(
    most: int, make_service: MakeService, root: Path, clock: FixedClock, tmp_path: Path
) -> None:
    """Whichever call it is before: the old place stays empty, and in the new one it is whole once the pen is taken."""
    moved, new = root.with_name("moved"), tmp_path / "new"
    (tmp_path / "studio/old").mkdir(parents=True)
    (tmp_path / "studio/old/cones.md").write_text("Bisque goes to cone 06, glaze to cone 6.\n")
    shutil.copytree(root, new)

    def worked(n: int) -> int:
        with pytest.MonkeyPatch.context() as patch:
            mover = Mover(root, n, patch)
            with suppress(OnepenError, OSError):
                anyio.run(work, make_service, root, clock)
        return mover.calls

    calls = worked(0)
    assert calls > 200
    for n in spread(range(1, calls + 1), most):
        shutil.rmtree(root)
        shutil.copytree(new, root)
        worked(n)
        assert not root.exists(), n
        moved.rename(root)
        make_service().log("again")
        assert make_service().doctor().ok, n
