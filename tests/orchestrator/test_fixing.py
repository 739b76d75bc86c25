"""What `doctor --fix` does with the pen: each fix by itself, only what is still right, and never a person's text."""

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from onepen.memory.exam.remedy import Fix
from onepen.orchestrator.diagnosis import Fixed
from onepen.orchestrator.service import Service

MakeService = Callable[..., Service]


@pytest.fixture
def begun(service: Service) -> Service:
    service.log("the first line")
    return service


def fixed(service: Service) -> tuple[Fixed, ...]:
    return service.fix(tuple(one.fix for one in service.doctor().fixes)).fixes


def kinds(service: Service) -> set[str]:
    return {problem.kind for problem in service.doctor().problems}


def test_lines_that_a_crash_cut_short_are_moved_aside_and_the_others_stay(begun: Service, root: Path) -> None:
    usage = root / "logs/usage-2026-11.jsonl"
    usage.write_text('{"v": 1, "task": "t1"}\n{"v": 1, "tas')
    commits = root / "logs/commits-2026-11.jsonl"
    whole = commits.read_text()
    commits.write_text(whole[:60] + "\n" + whole)  # a line that was cut, and came again
    assert {"usage_unreadable", "commit_unreadable"} <= kinds(begun)
    done = fixed(begun)
    assert [(one.fix.kind, one.fix.path, one.fix.line, one.outcome) for one in done] == [
        ("line", "logs/commits-2026-11.jsonl", 1, "done"),
        ("line", "logs/usage-2026-11.jsonl", 2, "done"),
    ]
    assert usage.read_text() == '{"v": 1, "task": "t1"}\n' and commits.read_text() == whole
    kept = [path.read_text() for path in sorted((root / ".onepen/aside/logs").iterdir())]
    assert kept == [whole[:60] + "\n", '{"v": 1, "tas']
    assert begun.doctor().problems == () and begun.doctor().fixes == ()
    assert begun.log("and on").commit is not None


def test_days_that_were_copied_here_are_sealed_and_it_is_one_fix(begun: Service, root: Path) -> None:
    for back in range(2, 90):
        path = root / f"memory/{date(2026, 11, 29) - timedelta(days=back)}.md"
        path.write_text("- 09:00+01:00 [note] x\n")
    (one,) = begun.doctor().fixes
    assert one.fix.kind == "seal" and "88 days, 2026-09-01 to 2026-11-27" in one.fix.what
    (done,) = fixed(begun)
    assert (done.outcome, done.commit is not None) == ("done", True)
    assert begun.doctor().problems == ()


def test_what_is_not_right_any_more_is_told_and_the_others_are_done(begun: Service, root: Path) -> None:
    (root / "projects/.kiln.md.new.tmp").write_text("half")
    (root / "projects/dyes.md").write_text("# Dyes\n\n## Indigo\n\nBlue.\n")
    fixes = tuple(one.fix for one in begun.doctor().fixes)
    (root / "projects/.kiln.md.new.tmp").unlink()
    done = begun.fix(fixes).fixes
    assert [(one.fix.kind, one.outcome) for one in done] == [("index", "done"), ("aside", "failed")]
    assert "changed meanwhile" in done[1].note
    assert "(dyes.md#indigo)" in (root / "projects/_index.md").read_text()


@pytest.mark.parametrize(
    "fix",
    [
        Fix("aside", "projects/_index.md", "x"),
        Fix("aside", "onepen.toml", "x"),
        Fix("aside", "../.other.new.tmp", "x"),
        Fix("line", "memory/2026-11-29.md", "x", 1, "0" * 64),
        Fix("line", "logs/commits-2026-11.jsonl", "x", 1, "0" * 64),
        Fix("git", "SOUL.md", "x"),
        Fix("registry", "agents/../SOUL.md", "x"),
    ],
    ids=lambda fix: f"{fix.kind}-{fix.path}",
)
def test_a_request_that_was_never_offered_changes_nothing(begun: Service, root: Path, fix: Fix) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and ".onepen" not in path.parts}
    (done,) = begun.fix((fix,)).fixes
    assert done.outcome == "failed"
    after = {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and ".onepen" not in path.parts}
    assert after == before and not (root / ".onepen/aside").exists()


def test_an_agent_is_listed_by_its_own_description(begun: Service, root: Path) -> None:
    (root / "agents/poet.md").write_text("---\nname: poet\ndescription: Rhymes on demand.\n---\nRhyme.\n")
    (done,) = fixed(begun)
    assert done.commit is not None and "Rhymes on demand." in (root / "agents/_index.md").read_text()
    assert begun.doctor().problems == ()
