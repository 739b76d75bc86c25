"""How an attempt ends when its model can't be asked, can't be paid or refuses; what was left is kept."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.memory.ids import ClientId
from onepen.orchestrator.errors import OrchestratorFault
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.results import DelegateResult
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.models import Served
from onepen.subagents.definition import AgentDefinition
from onepen.subagents.model import Listener, ModelReply, ModelRequest
from onepen.testing.scripted import ScriptedModel

MakeService = Callable[..., Service]
DRAFT = {"title": "Cones", "text": "# Cones\n\n## Heat\n\nNot known.\n"}
WRITES: dict[str, object] = {"turn": 1, "reply": [{"tool": "write_draft", "input": DRAFT}]}
REPORTS: dict[str, object] = {"turn": 2, "reply": [{"tool": "report", "input": {"summary": "done"}}]}


class OutOfMoney(OrchestratorFault):
    exit_code = 4


class ServerGone(OrchestratorFault):
    pass


class Failing:
    """A scripted model whose calls fail from the n-th on."""

    name = "scripted"

    def __init__(self, rules: list[dict[str, object]], after: int, error: Exception) -> None:
        self.script = ScriptedModel(rules)
        self._after = after
        self._error = error
        self.asked = 0

    async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        self.asked += 1
        if self.asked > self._after:
            raise self._error
        return await self.script.reply(request)

    def __call__(self, name: str, definition: AgentDefinition, client: ClientId | None) -> Served:
        return Served(self)


def delegate(service: Service) -> DelegateResult:
    return anyio.run(partial(service.delegate, DelegateRequest(("How hot?",), ("writer",), target="research/cones.md")))


def test_a_budget_that_is_reached_keeps_the_drafts_and_is_no_failure(make_service: MakeService) -> None:
    model = Failing([WRITES], 1, OutOfMoney("task t1: 0.98 of 1.00 US dollars are spent"))
    result = delegate(make_service(models=model))
    [task] = result.tasks
    assert (task.status, result.exit_code, task.attempts) == ("over_budget", 4, 1)
    assert task.reason == "task t1: 0.98 of 1.00 US dollars are spent"
    assert [(d.target, d.status) for d in task.drafts] == [("research/cones.md", "waiting")]
    assert "incomplete" in {f.kind for f in task.drafts[0].findings}


def test_a_budget_that_was_gone_before_says_that_nothing_was_started(make_service: MakeService) -> None:
    model = Failing([], 0, OutOfMoney("the day's budget of 5.00 US dollars is spent"))
    [task] = delegate(make_service(models=model)).tasks
    assert (task.status, task.drafts) == ("over_budget", ())
    assert task.reason == "not started: the day's budget of 5.00 US dollars is spent"
    assert make_service().status().tasks[0].status == "over_budget"


def test_what_a_budget_ended_goes_on_without_paying_again(make_service: MakeService) -> None:
    [task] = delegate(make_service(models=Failing([WRITES], 1, OutOfMoney("enough")))).tasks
    more = Failing([WRITES, REPORTS], 9, OutOfMoney("enough"))
    [done] = anyio.run(partial(make_service(models=more).resume, task.task)).tasks
    assert (done.status, done.attempts, more.asked) == ("in_review", 2, 1)


def test_a_call_that_failed_for_good_is_not_tried_again_by_the_task(make_service: MakeService) -> None:
    model = Failing([WRITES], 1, ServerGone("529 six times"))
    result = delegate(make_service(models=model))
    [task] = result.tasks
    assert (task.status, task.reason, result.exit_code) == ("failed", "529 six times", 1)
    assert (task.attempts, len(task.drafts)) == (1, 1)


@pytest.mark.parametrize(
    ("content", "reason"),
    [([], "the model refused"), ([{"text": "That I\nwon't do."}], "the model refused: That I won't do.")],
)
def test_a_refusal_is_told_as_one_with_the_words_given(
    make_service: MakeService, root: Path, content: list[object], reason: str
) -> None:
    script = [WRITES, {"turn": 2, "reply": content, "stop_reason": "refusal"}]
    result = delegate(make_service(script=script))
    [task] = result.tasks
    assert (task.status, task.reason, result.exit_code) == ("refused", reason, 1)
    assert (task.attempts, task.answer) == (1, None)
    assert [d.status for d in task.drafts] == ["waiting"]
    assert not (root / "research/cones.md").exists()
    assert [t.status for t in make_service().status().tasks] == ["refused"]


def test_after_a_refusal_resume_asks_the_model_again(make_service: MakeService) -> None:
    refuses: dict[str, object] = {"turn": 1, "reply": [], "stop_reason": "refusal"}
    [task] = delegate(make_service(script=[refuses])).tasks
    assert task.status == "refused"
    [done] = anyio.run(partial(make_service(script=[WRITES, REPORTS]).resume, task.task)).tasks
    assert (done.status, done.attempts) == ("in_review", 2)
