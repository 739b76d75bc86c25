"""The driver: stopping, several tasks side by side, and failures that stay where they are."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.memory.commit.pen import Pen, PenLost
from onepen.memory.ids import ClientId, TaskId
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.results import DelegateResult
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.models import Served
from onepen.orchestrator.stop import StopSign
from onepen.orchestrator.tasks.journal import Journal
from onepen.subagents.definition import AgentDefinition, NoSuchAgent
from onepen.subagents.model import Listener, Model, ModelReply, ModelRequest
from onepen.subagents.pool import Assignment, Ending, Failed, Host
from onepen.subagents.process.descriptors import AT_ONCE
from onepen.testing.clock import FixedClock
from onepen.testing.pool import InProcessPool

MakeService = Callable[..., Service]


class Endless:
    """A pool whose workers never end; `running` are those that were started."""

    def __init__(self, started: Callable[[int], None]) -> None:
        self._started = started
        self.running = 0

    async def run(self, assignment: Assignment, host: Host) -> Ending:
        self.running += 1
        self._started(self.running)
        await anyio.sleep_forever()
        raise AssertionError

    def stop(self, task: TaskId, attempt: int) -> None:
        raise AssertionError("nobody cancels")


def run(service: Service, *texts: str, stop: StopSign | None = None) -> DelegateResult:
    return anyio.run(partial(service.delegate, DelegateRequest(texts), stop=stop))


def test_ctrl_c_twice_ends_what_runs_and_leaves_it_to_be_resumed(make_service: MakeService, root: Path) -> None:
    stop = StopSign()

    def started(count: int) -> None:
        if count == 3:
            stop.press()
            stop.press()

    result = run(make_service(pool=Endless(started)), "one", "two", "three", stop=stop)
    assert (result.interrupted, result.exit_code) == (True, 130)
    assert [t.status for t in result.tasks] == ["interrupted"] * 3
    assert make_service().status().suggestion == "onepen resume t3"
    for task in result.tasks:
        [done] = anyio.run(partial(make_service().resume, task.task)).tasks
        assert (done.status, done.attempts) == ("in_review", 2)
        events = Journal(root / "staging" / task.task / "run.jsonl", FixedClock("2026-11-29T09:30:00+01:00")).events()
        assert [type(e).__name__ for e in events][:5] == [
            "TaskAdded",
            "AttemptStarted",
            "AttemptLost",
            "Resumed",
            "AttemptStarted",
        ]


def test_ctrl_c_once_lets_what_runs_finish_and_starts_nothing_new(make_service: MakeService) -> None:
    stop = StopSign()

    def crashing(assignment: Assignment) -> Ending | None:
        if assignment.text == "two":
            stop.press()
            return Failed("ended by SIGSEGV", None, "SIGSEGV", 0.1)
        return None

    pool = InProcessPool(instead=crashing)
    result = run(make_service(pool=pool), "one", "two", stop=stop)
    assert result.exit_code == 130
    assert {t.text: t.status for t in result.tasks} == {"one": "in_review", "two": "queued"}
    assert len([a for a in pool.assignments if a.text == "two"]) == 1


def test_a_bug_in_one_task_is_not_anothers(make_service: MakeService) -> None:
    class Broken:
        name = "broken"

        async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
            if "two" in request.messages[0].text:
                raise ZeroDivisionError("oh")
            return await self.inner.reply(request)

        def __init__(self, inner: Model) -> None:
            self.inner = inner

    def models(name: str, definition: AgentDefinition, client: ClientId | None) -> Served:
        from onepen.orchestrator.extractive.offline import Offline

        return Served(Broken(Offline()))

    result = run(make_service(models=models), "one", "two", "three")
    assert [t.status for t in result.tasks] == ["in_review", "failed", "in_review"]
    assert "ZeroDivisionError: oh" in result.tasks[1].reason
    assert result.exit_code == 1


def test_a_pen_that_is_lost_ends_the_run_and_nothing_is_half_done(
    make_service: MakeService, root: Path, tmp_path: Path
) -> None:
    source = tmp_path / "cones.md"
    source.write_text("Cone 6 was reached at 1222 degrees.\n")

    def lose(assignment: Assignment) -> Ending | None:
        (root / ".onepen/pen.lock").unlink()
        return None

    request = DelegateRequest(("At how many degrees was cone 6 reached?",), inputs=(source,), review="auto")
    with pytest.raises(PenLost):
        anyio.run(partial(make_service(pool=InProcessPool(instead=lose)).delegate, request))
    assert not list((root / "research").glob("at-*"))
    [done] = anyio.run(partial(make_service().resume, "t1")).tasks
    assert (done.status, done.attempts) == ("committed", 1)


def test_what_a_task_needs_is_looked_for_before_it_goes_on(make_service: MakeService, root: Path) -> None:
    run(make_service(pool=InProcessPool(instead=lambda a: Failed("crash", 1, None, 0.1))), "one")
    before = (root / "staging/t1/run.jsonl").read_bytes()
    (root / "agents/researcher.md").unlink()
    with pytest.raises(NoSuchAgent):
        anyio.run(partial(make_service().resume, "t1"))
    assert (root / "staging/t1/run.jsonl").read_bytes() == before


def test_more_tasks_than_places_all_get_their_turn(make_service: MakeService) -> None:
    most = 0
    now = 0

    class Counting(InProcessPool):
        async def run(self, assignment: Assignment, host: Host) -> Ending:
            nonlocal most, now
            now += 1
            most = max(most, now)
            try:
                return await super().run(assignment, host)
            finally:
                now -= 1

    count = AT_ONCE + 4
    result = run(make_service(pool=Counting()), *(f"question {k}" for k in range(count)))
    assert [t.status for t in result.tasks] == ["in_review"] * count
    assert 2 <= most <= AT_ONCE
    targets = [t.drafts[0].target for t in result.tasks]
    assert len(set(targets)) == count


def test_equal_texts_get_targets_of_their_own(make_service: MakeService, root: Path) -> None:
    result = run(make_service(), "What is a cone?", "What is a cone?")
    assert [t.drafts[0].target for t in result.tasks] == ["research/what-is-a-cone.md", "research/what-is-a-cone-2.md"]


def test_the_pen_is_held_while_work_runs_and_free_afterwards(make_service: MakeService, root: Path) -> None:
    seen: list[object] = []

    def look(assignment: Assignment) -> Ending | None:
        status = make_service().status()
        seen.append(status.orchestrator)
        assert [t.status for t in status.tasks] == ["running"]
        return None

    run(make_service(pool=InProcessPool(instead=look)), "one")
    assert seen and seen[0] is not None
    assert make_service().status().orchestrator is None
    Pen.open(open_workspace(root), FixedClock("2026-11-29T09:30:00+01:00"), wait=0).close()


def test_review_md_can_be_read_without_onepen(make_service: MakeService, root: Path, tmp_path: Path) -> None:
    source = tmp_path / "cones.md"
    source.write_text("Cone 6 was reached at 1222 degrees.\n")
    request = DelegateRequest(("At how many degrees was cone 6 reached?",), inputs=(source,))
    [task] = anyio.run(partial(make_service().delegate, request)).tasks
    path = root / "staging" / task.task / "review.md"
    text = path.read_text()
    assert f"## {task.drafts[0].id}: research/at-how-many-degrees-was-cone-6-reached.md" in text
    assert "- Status: waiting (a person decides)" in text
    assert '+> "Cone 6 was reached at 1222 degrees." (inputs/cones.md:1)' in text
    make_service().approve([task.drafts[0].id])
    assert "- Commit: c1-" in path.read_text()


def test_the_fence_in_review_md_is_longer_than_any_in_the_draft(
    make_service: MakeService, root: Path, tmp_path: Path
) -> None:
    source = tmp_path / "cones.md"
    source.write_text("Cone 6 was reached at ``````1222`````` degrees.\n")
    request = DelegateRequest(("At how many degrees was cone 6 reached?",), inputs=(source,))
    [task] = anyio.run(partial(make_service().delegate, request)).tasks
    lines = (root / "staging" / task.task / "review.md").read_text().split("\n")
    assert [line for line in lines if line.startswith("`")] == ["```````diff", "```````"]
