"""Commits that wait at the same time share one sync, and each is told what came of its own."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.memory.change import Change
from onepen.memory.commit.pen import PenLost
from onepen.memory.commit.redo import scan
from onepen.memory.errors import MemoryFault
from onepen.memory.history import VERSION, Commit
from onepen.memory.problem import Problem
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.committing import Committer, Told, at_once
from onepen.orchestrator.pens import HeldPen
from onepen.orchestrator.results import CommitResult
from onepen.orchestrator.service import Service
from onepen.testing.clock import FixedClock

MakeService = Callable[..., Service]


def change(text: str) -> Change:
    return Change(None, text, "user:ana", log=(("note", text),))


def commit_of(one: Change) -> Commit:
    return Commit(
        v=VERSION, id="c1-aaaaaa", key=None, time="", who="", what=one.what, draft=None, agent=None, task=None,
        reviewer=None, sources=(), paths=(), changes=(),
    )  # fmt: skip


class Groups:
    """What a pen was asked for, group by group; a change called "bad" is refused, and at "bug" there is one."""

    def __init__(self) -> None:
        self.seen: list[list[str]] = []

    def __call__(self, changes: Sequence[Change]) -> tuple[Sequence[Commit | Exception], tuple[Problem, ...]]:
        self.seen.append([one.what for one in changes])
        if any(one.what == "bug" for one in changes):
            raise ZeroDivisionError
        told = Problem("memory", 0, "x", "info", f"{len(changes)} at once")
        return [MemoryFault("no") if one.what == "bad" else commit_of(one) for one in changes], (told,)


async def ask(committer: Committer, *texts: str) -> list[Told]:
    told: dict[int, Told] = {}

    async def one(k: int, text: str) -> None:
        told[k] = await committer.commit(change(text))

    async with anyio.create_task_group() as group:
        for k, text in enumerate(texts):
            group.start_soon(one, k, text)
    return [told[k] for k in range(len(texts))]


def test_those_who_wait_at_the_same_time_go_together_and_in_order() -> None:
    groups = Groups()
    told = anyio.run(ask, Committer(groups), "a", "bad", "c")
    assert groups.seen == [["a", "bad", "c"]]
    assert [t.outcome.what if isinstance(t.outcome, Commit) else str(t.outcome) for t in told] == ["a", "no", "c"]
    assert [t.problems[0].message for t in told] == ["3 at once"] * 3


def test_more_than_a_group_takes_go_in_several_and_nobody_is_forgotten() -> None:
    groups = Groups()
    texts = [f"{k}" for k in range(10)]
    told = anyio.run(ask, Committer(groups, most=4), *texts)
    assert groups.seen == [texts[:4], texts[4:8], texts[8:]]
    assert [t.outcome.what for t in told if isinstance(t.outcome, Commit)] == texts


def test_one_alone_waits_for_nobody_and_later_ones_are_served() -> None:
    groups = Groups()
    committer = Committer(groups)

    async def twice() -> None:
        await committer.commit(change("a"))
        await committer.commit(change("b"))

    anyio.run(twice)
    assert groups.seen == [["a"], ["b"]]


def test_a_bug_is_told_to_all_who_waited_and_the_queue_goes_on() -> None:
    groups = Groups()
    committer = Committer(groups)

    async def scene() -> None:
        told: list[Told] = []

        async def second() -> None:
            told.append(await committer.commit(change("bug")))

        async with anyio.create_task_group() as group:
            with pytest.raises(ZeroDivisionError):
                group.start_soon(second)
                await committer.commit(change("a"))
        assert [type(t.outcome) for t in told] == [ZeroDivisionError]
        assert isinstance((await committer.commit(change("d"))).outcome, Commit)

    anyio.run(scene)


def test_who_is_cancelled_while_waiting_leaves_the_others_alone() -> None:
    groups = Groups()
    committer = Committer(groups)

    async def scene() -> list[Told]:
        async with anyio.create_task_group() as group:
            group.start_soon(committer.commit, change("leader"))
            group.start_soon(committer.commit, change("second"))
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        return await ask(committer, "later")

    assert isinstance(anyio.run(scene)[0].outcome, Commit)
    assert [text for group in groups.seen for text in group] == ["leader", "second", "later"]


def test_at_once_runs_what_waits_for_nothing_and_refuses_what_waits() -> None:
    async def three() -> int:
        return 3

    async def in_a_loop() -> None:
        with pytest.raises(AssertionError, match="waits for others"):
            at_once(anyio.sleep(0))

    assert at_once(three()) == 3
    anyio.run(in_a_loop)


@pytest.fixture
def broken() -> list[MemoryFault]:
    return []


@pytest.fixture
def pen(root: Path, clock: FixedClock, broken: list[MemoryFault]) -> Iterator[HeldPen]:
    with HeldPen.open(View(open_workspace(root)), clock, wait=0.05, on_broken=broken.append) as held:
        yield held


async def logs(service: Service, *texts: str) -> list[CommitResult | BaseException]:
    came: dict[str, CommitResult | BaseException] = {}

    async def one(text: str) -> None:
        try:
            came[text] = await service.log_shared(text, request=f"r-{text}")
        except MemoryFault as e:
            came[text] = e

    async with anyio.create_task_group() as group:
        for text in texts:
            group.start_soon(one, text)
    return [came[text] for text in texts]


def test_log_requests_of_several_clients_share_a_record(
    make_service: MakeService, root: Path, pen: HeldPen, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = make_service(pens=pen)
    records: list[tuple[str, ...]] = []
    tidy = type(pen._scribe).tidy

    def looked(scribe: object) -> None:
        records.extend(record.commits for record in scan((root / ".onepen/redo/log").read_bytes()).records)
        tidy(pen._scribe)

    monkeypatch.setattr(type(pen._scribe), "tidy", looked)
    texts = [f"line {k}" for k in range(8)]
    came = anyio.run(partial(logs, service), *texts)
    commits = [one.commit for one in came if isinstance(one, CommitResult)]
    assert records == [tuple(commits)]
    assert len(set(commits)) == 8
    day = (root / "memory/2026-11-29.md").read_text().splitlines()
    assert [line.rpartition("] ")[2] for line in day] == texts
    again = anyio.run(partial(logs, service), "line 3")
    assert [one.again for one in again if isinstance(one, CommitResult)] == [True]


def test_a_pen_that_is_lost_is_told_to_all_who_wait(
    make_service: MakeService, root: Path, pen: HeldPen, broken: list[MemoryFault]
) -> None:
    service = make_service(pens=pen)
    (root / ".onepen/pen.lock").unlink()
    came = anyio.run(partial(logs, service), "a", "b", "c")
    assert [type(one) for one in came] == [PenLost] * 3
    assert [type(one) for one in broken] == [PenLost]
