"""The pool without processes does what the real one does."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio

from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.service import Service
from onepen.subagents.pool import Pool, ProcessPool, Stopped
from onepen.testing.pool import InProcessPool

QUESTION = "At how many degrees was cone 6 reached?"


def test_it_leaves_the_same_draft_as_a_process(
    make_service: Callable[..., Service], root: Path, tmp_path: Path
) -> None:
    source = tmp_path / "cones.md"
    source.write_text("Cone 6 was reached at 1222 degrees.\n")
    bodies = []
    pools: list[Pool] = [InProcessPool(), ProcessPool()]
    for pool in pools:
        request = DelegateRequest((QUESTION,), inputs=(source,))
        [task] = anyio.run(partial(make_service(pool=pool).delegate, request)).tasks
        assert task.status == "in_review", task
        bodies.append((root / task.drafts[0].path).read_text().partition("edit:")[2])
    assert bodies[0] == bodies[1]
    assert "1222" in bodies[0]


def test_an_ending_can_be_put_in_its_place(make_service: Callable[..., Service]) -> None:
    pool = InProcessPool(instead=lambda assignment: Stopped(0.5))
    [task] = anyio.run(partial(make_service(pool=pool).delegate, DelegateRequest(("x",)))).tasks
    assert (task.status, task.reason) == ("interrupted", "it was cancelled")
    assert [(a.task, a.attempt) for a in pool.assignments] == [(task.task, 1)]
