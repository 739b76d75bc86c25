"""A pen that a process holds for its life, and short requests that come twice."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from onepen.memory.commit.pen import Durability, PenLost
from onepen.memory.commit.redo import scan
from onepen.memory.errors import MemoryFault
from onepen.memory.holder import PenHeld, holder
from onepen.memory.settings import SettingsUnreadable
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.pens import HeldPen
from onepen.orchestrator.results import CommitResult
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.redact import Known
from onepen.testing.clock import FixedClock

MakeService = Callable[..., Service]
OpenPen = Callable[[], HeldPen]


@pytest.fixture
def broken() -> list[MemoryFault]:
    """What a held pen told of its end."""
    return []


@pytest.fixture
def open_pen(root: Path, clock: FixedClock, broken: list[MemoryFault]) -> Iterator[OpenPen]:
    pens: list[HeldPen] = []

    def open_it() -> HeldPen:
        pens.append(HeldPen.open(View(open_workspace(root)), clock, wait=0.05, on_broken=broken.append))
        return pens[-1]

    yield open_it
    for pen in pens:
        pen.close()


def day_log(root: Path) -> str:
    return (root / "memory/2026-11-29.md").read_text()


def test_a_held_pen_is_lent_and_nobody_else_gets_it(make_service: MakeService, root: Path, open_pen: OpenPen) -> None:
    pen = open_pen()
    service = make_service(pens=pen)
    first, second = service.log("one"), service.log("two")
    assert first.commit != second.commit
    assert holder(open_workspace(root).root) is not None
    with pytest.raises(PenHeld):
        open_pen()
    pen.close()
    assert holder(open_workspace(root).root) is None
    assert make_service().log("three").commit not in {first.commit, second.commit, None}
    assert [line.rpartition("] ")[2] for line in day_log(root).splitlines()] == ["one", "two", "three"]


def test_a_command_may_choose_to_be_told_soon_that_the_pen_is_held(
    make_service: MakeService, open_pen: OpenPen
) -> None:
    open_pen()
    began = time.monotonic()
    with pytest.raises(PenHeld):
        make_service().waiting(0.05).log("one")
    assert time.monotonic() - began < 5


def test_with_nothing_under_way_the_redo_log_is_empty(make_service: MakeService, root: Path, open_pen: OpenPen) -> None:
    service = make_service(pens=open_pen())
    service.log("one")
    assert not (root / ".onepen/redo/log").read_bytes()


def test_what_opening_it_found_is_told_once_and_later_hand_edits_to_whom_they_befall(
    make_service: MakeService, root: Path, open_pen: OpenPen
) -> None:
    make_service().add_project("Kiln")
    card = root / "projects/kiln.md"
    card.write_text(card.read_text() + "\n## Glaze\nCeladon.\n")
    pen = open_pen()
    assert [n for n in pen.notices if "projects/_index.md" in n]
    service = make_service(pens=pen)
    assert service.log("one").notices == pen.notices
    assert service.log("two").notices == ()
    card.write_text(card.read_text() + "\n## Slip\nWhite.\n")
    [told] = service.log("three").notices
    assert told.startswith("indexed what was edited by hand")
    assert service.log("four").notices == ()


def test_settings_that_change_meanwhile_count_for_the_next_request(
    make_service: MakeService, root: Path, open_pen: OpenPen
) -> None:
    service = make_service(pens=open_pen())
    settings = root / "onepen.toml"
    settings.write_text(settings.read_text().replace('name = "Test"', 'name = "Kiln house"'))
    assert service.afresh().status().name == "Kiln house"
    assert service.afresh().log("one").commit
    settings.write_text("name = \n")
    with pytest.raises(SettingsUnreadable):
        service.afresh()


def lose_the_lock_file(root: Path) -> None:
    (root / ".onepen/pen.lock").unlink()


def delete_the_redo_log(root: Path) -> None:
    (root / ".onepen/redo/log").unlink()


def swap_the_redo_log(root: Path) -> None:
    log = root / ".onepen/redo/log"
    log.rename(log.with_name("old"))
    log.write_bytes(b"{}\n")


@pytest.mark.parametrize("harm", [lose_the_lock_file, delete_the_redo_log, swap_the_redo_log])
def test_a_pen_that_is_lost_lends_no_more_and_says_so(
    harm: Callable[[Path], None],
    make_service: MakeService,
    root: Path,
    open_pen: OpenPen,
    broken: list[MemoryFault],
) -> None:
    service = make_service(pens=open_pen())
    service.log("one")
    harm(root)
    before = day_log(root)
    with pytest.raises(PenLost):
        service.log("two")
    assert day_log(root) == before
    [told] = broken
    assert isinstance(told, PenLost)
    with pytest.raises(PenLost):
        service.log("three")
    assert broken == [told]


def add_client(service: Service, request: str | None) -> CommitResult:
    return service.add_client("Müller", id="mueller", request=request)


def add_project(service: Service, request: str | None) -> CommitResult:
    return service.add_project("Ofen", request=request)


def add_research(service: Service, request: str | None) -> CommitResult:
    return service.add_research("Kegel", text="# Kegel\n\nText.\n", request=request)


def add_agent(service: Service, request: str | None) -> CommitResult:
    return service.add_agent("Glazer", request=request)


def log(service: Service, request: str | None) -> CommitResult:
    return service.log("called Ana", request=request)


@pytest.mark.parametrize("ask", [add_client, add_project, add_research, add_agent, log])
def test_a_request_that_comes_twice_is_done_once(
    ask: Callable[[Service, str | None], CommitResult], make_service: MakeService, root: Path
) -> None:
    make_service().log("what was before")
    first = ask(make_service(), "r-1")
    lines = day_log(root)
    again = ask(make_service(), "r-1")
    assert (first.commit, first.paths) == (again.commit, again.paths)
    assert (first.again, again.again) == (False, True)
    assert day_log(root) == lines


def test_the_same_words_in_two_requests_are_two_lines(make_service: MakeService, root: Path) -> None:
    service = make_service()
    assert log(service, "r-1") != log(service, "r-2")
    assert log(service, None) != log(service, None)
    assert day_log(root).count("called Ana") == 4


def records(root: Path) -> int:
    return len(scan((root / ".onepen/redo/log").read_bytes()).records)


def test_a_lazy_pen_is_flushed_within_a_second_by_a_timer(make_service: MakeService, root: Path) -> None:
    async def scene() -> None:
        later = asyncio.get_running_loop().call_later
        view, clock = View(open_workspace(root)), FixedClock("2026-11-29T10:00:00+01:00")
        with HeldPen.open(view, clock, wait=0.05, durability=Durability.LAZY, later=later) as pen:
            service = make_service(pens=pen)
            for k in range(3):
                service.log(f"line {k}")
            assert not (root / "memory/2026-11-29.md").exists()
            assert records(root) == 3
            began = time.monotonic()
            while records(root):
                await anyio.sleep(0.02)
            assert time.monotonic() - began < 1
            assert len(day_log(root).splitlines()) == 3
            service.log("last")
        assert len(day_log(root).splitlines()) == 4

    anyio.run(scene)


@pytest.mark.parametrize("durability", Durability)
def test_long_work_does_not_keep_what_was_committed_in_the_redo_log(
    durability: Durability, make_service: MakeService, root: Path
) -> None:
    """Or readers would not see that a person put an earlier version back, and a crash would undo it."""
    calls: list[Callable[[], None]] = []
    view, clock = View(open_workspace(root)), FixedClock("2026-11-29T10:00:00+01:00")
    with HeldPen.open(view, clock, wait=0.05, durability=durability, later=lambda _, call: calls.append(call)) as pen:
        long = pen.take(Known())
        make_service(pens=pen).log("one")
        make_service(pens=pen).log("two")
        assert (records(root), len(calls)) == (2, 1)
        calls.pop()()
        assert records(root) == 0
        make_service(pens=pen).log("three")
        calls.pop()()
        assert records(root) == 0
        long.close()


def test_without_a_timer_what_is_committed_lazily_is_flushed_at_once(make_service: MakeService, root: Path) -> None:
    view, clock = View(open_workspace(root)), FixedClock("2026-11-29T10:00:00+01:00")
    with HeldPen.open(view, clock, wait=0.05, durability=Durability.LAZY) as pen:
        make_service(pens=pen).log("one")
        assert day_log(root).endswith("one\n")


def test_a_flush_that_fails_ends_a_held_pen(make_service: MakeService, root: Path, broken: list[MemoryFault]) -> None:
    calls: list[Callable[[], None]] = []
    view, clock = View(open_workspace(root)), FixedClock("2026-11-29T10:00:00+01:00")
    pen = HeldPen.open(
        view,
        clock,
        wait=0.05,
        on_broken=broken.append,
        durability=Durability.LAZY,
        later=lambda _, call: calls.append(call),
    )
    make_service(pens=pen).log("one")
    (root / ".onepen/pen.lock").unlink()
    calls[0]()
    assert [type(one) for one in broken] == [PenLost]
    with pytest.raises(PenLost):
        pen.take(Known())
    pen.close()
