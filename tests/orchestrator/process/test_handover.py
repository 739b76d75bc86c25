"""Short writing is done once, whoever does it and however often the other end dies."""

import os
from pathlib import Path
from typing import cast

import pytest

from onepen.memory.commit.pen import Pen
from onepen.memory.holder import Holder, PenHeld
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.process.errors import Gone
from onepen.orchestrator.process.find import Finder
from onepen.orchestrator.process.handover import Writer, written
from onepen.orchestrator.process.link import Link
from onepen.orchestrator.results import CommitResult
from onepen.orchestrator.service import Service
from onepen.testing.clock import FixedClock


class Found:
    """A finder that finds these one after another, then nobody."""

    def __init__(self, *links: object) -> None:
        self._links = list(links)

    def running(self) -> Link | None:
        return cast(Link, self._links.pop(0)) if self._links else None


class Dies:
    """An orchestrator that dies once it did what was asked, or before it."""

    def __init__(self, service: Service, *, does_it: bool) -> None:
        self._service = service
        self._does_it = does_it

    def log(self, text: str, **options: object) -> CommitResult:
        if self._does_it:
            self._service.log(text, **options)  # type: ignore[arg-type]  # what the command gave
        raise Gone(42)


def log(pen: Writer) -> CommitResult:
    return pen.log("called Ana", request="5f0c5f0c5f0c5f0c")


def lines(root: Path) -> list[str]:
    return [
        line.rpartition("] ")[2] for line in (root / "memory/2026-11-29.md").read_text().splitlines() if "] " in line
    ]


@pytest.mark.parametrize("fates", [[True], [False], [True, True], [False, True, False]])
def test_what_died_with_the_orchestrator_is_done_once(fates: list[bool], service: Service, root: Path) -> None:
    finder = cast(Finder, Found(*(Dies(service, does_it=fate) for fate in fates)))
    result = written(finder, lambda link: cast(Writer, link), lambda: service, log)
    assert lines(root) == ["called Ana"]
    assert result.commit is not None


def test_who_holds_the_pen_is_named_when_the_patience_is_over(service: Service, root: Path, clock: FixedClock) -> None:
    held = PenHeld(str(root), Holder(7, "vm", "now"))
    ticks = iter(range(100))
    tries = []

    def here() -> Writer:
        tries.append(1)
        raise held

    with pytest.raises(PenHeld, match="process 7 on vm"):
        written(cast(Finder, Found()), lambda link: service, here, log, patience=10, seconds=lambda: float(next(ticks)))
    assert len(tries) == 10


def test_one_that_comes_up_meanwhile_is_asked(service: Service, root: Path, clock: FixedClock) -> None:
    """Nobody listens yet, and the pen is taken already: the next look finds the orchestrator."""
    pen = Pen.open(open_workspace(root), clock)
    found = Found(None, "there")

    class Helps:
        def log(self, text: str, **options: object) -> CommitResult:
            return CommitResult("c1-aaaaaa", ())

    def here() -> Writer:
        raise PenHeld(str(root), Holder(os.getpid(), "vm", "now"))

    result = written(cast(Finder, found), lambda link: cast(Writer, Helps()), here, log)
    pen.close()
    assert result.commit == "c1-aaaaaa"


def test_one_that_comes_up_as_the_patience_ends_is_asked_all_the_same(service: Service, root: Path) -> None:
    """On a busy machine the pen is waited for until the patience is over, and meanwhile its holder can be reached."""
    times = iter((0.0, 0.0, 11.0))

    class Helps:
        def log(self, text: str, **options: object) -> CommitResult:
            return CommitResult("c1-aaaaaa", ())

    def here() -> Writer:
        raise PenHeld(str(root), Holder(os.getpid(), "vm", "now"))

    found, seconds = cast(Finder, Found(None, "there")), lambda: next(times)
    assert written(found, lambda link: cast(Writer, Helps()), here, log, patience=10, seconds=seconds).commit
