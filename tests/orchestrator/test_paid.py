"""Tasks whose calls cost money or go over HTTP: budgets of many tasks together, refusals, a model that reviews."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anthropic  # noqa: F401 - a second of work, which no task here is to be charged for
import anyio
import pytest

from onepen.memory.ids import ClientId
from onepen.orchestrator.gateway.account import Caps
from onepen.orchestrator.gateway.clients import Clients
from onepen.orchestrator.gateway.price import Price
from onepen.orchestrator.requests import ChatRequest, DelegateRequest
from onepen.orchestrator.results import DelegateResult
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.models import Resolver, Served
from onepen.orchestrator.settings.setup import Profile, Secret, Setup
from onepen.orchestrator.usage import bookings
from onepen.subagents.definition import AgentDefinition
from onepen.testing.messages_api import MessagesApi
from onepen.testing.scripted import ScriptedModel

MakeService = Callable[..., Service]
MODEL = "claude-sonnet-5-5"
PRICE = Price(input=1.0, cache_write=1.0, cache_read=1.0, output=0.0)
CENTS_9 = {"input": 90_000}


def delegate(service: Service, *texts: str, **fields: object) -> DelegateResult:
    request = DelegateRequest(texts, ("writer",), **{"model": MODEL, **fields})  # type: ignore[arg-type]
    return anyio.run(partial(service.delegate, request))


def cost(service: Service) -> float:
    return sum(b.cost_usd or 0.0 for b, _ in bookings(service.workspace.space(None)))


# -- many tasks, one budget --------------------------------------------------------------------------------------------


class Priced:
    """A script whose calls are paid."""

    def __init__(self, rules: Sequence[Mapping[str, object]]) -> None:
        self.script = ScriptedModel(rules)

    def __call__(self, name: str, definition: AgentDefinition, client: ClientId | None) -> Served:
        return Served(self.script, PRICE)


TWO_CALLS: list[dict[str, object]] = [
    {"turn": 1, "usage": CENTS_9, "delay": 0.01, "reply": [{"tool": "search", "input": {"query": "cone"}}]},
    {"turn": 2, "usage": CENTS_9, "reply": [{"tool": "report", "input": {"summary": "s", "answer": "1222"}}]},
]


def test_many_tasks_never_go_far_beyond_one_budget_and_none_fails_for_it(make_service: MakeService) -> None:
    """Field case 64: 40 tasks, 8 at once, 9 cents a call, one dollar."""
    model = Priced(TWO_CALLS)
    service = make_service(models=model, setup=Setup(caps=Caps(day_usd=1.0)))
    service._workshop().slots.total_tokens = 8
    result = delegate(service, *(f"Question {n}?" for n in range(40)), answer=True)
    assert {t.status for t in result.tasks} == {"answered", "over_budget"}
    assert result.exit_code == 4
    assert cost(service) == pytest.approx(0.09 * len(model.script.requests))
    assert cost(service) <= 1.0 + 8 * 0.09
    untouched = [t.task for t in result.tasks if t.reason.startswith("not started: the day's budget")]
    assert untouched == [t.task for t in result.tasks if t.cost_usd == 0]


def test_with_a_higher_budget_a_task_goes_on_and_pays_nothing_twice(make_service: MakeService) -> None:
    service = make_service(models=Priced(TWO_CALLS), setup=Setup(caps=Caps(day_usd=0.09)))
    result = delegate(service, "How hot?", answer=True)
    assert [(t.status, t.cost_usd) for t in result.tasks] == [("over_budget", 0.09)]
    more = Priced(TWO_CALLS)
    again = make_service(models=more, setup=Setup(caps=Caps(day_usd=1.0)))
    [done] = anyio.run(partial(again.resume, "t1")).tasks
    assert (done.status, done.cost_usd, len(more.script.requests)) == ("answered", 0.18, 1)


def test_a_task_s_own_budget_counts_its_attempts_and_its_reviews(make_service: MakeService) -> None:
    draft = {"text": "# Heat\n\n## Result\n\nCone 6.\n", "title": "Heat"}
    model = Priced(
        [
            {"agent": "writer", "turn": 1, "usage": CENTS_9, "reply": [{"tool": "write_draft", "input": draft}]},
            {"agent": "writer", "usage": CENTS_9, "reply": [{"tool": "report", "input": {"summary": "s"}}]},
            {"agent": "reviewer", "reply": [{"tool": "verdict", "input": {"verdict": "accept", "reason": "x"}}]},
        ]
    )
    service = make_service(models=model)
    [task] = delegate(service, "How hot?", target="research/heat.md", budget_usd=0.18).tasks
    assert (task.status, task.drafts[0].status) == ("in_review", "waiting")
    assert "no model judged it: the budget of t1: $0.18" in task.drafts[0].reason
    assert [r.agent for r in model.script.requests] == ["writer", "writer"]


def test_the_budget_of_a_chat_bounds_each_task_that_it_gives_away(make_service: MakeService) -> None:
    task = {"agent": "writer", "task": "How hot?", "answer": True}
    model = Priced(
        [
            {"agent": "main", "turn": 1, "reply": [{"tool": "delegate", "input": task}]},
            {"agent": "main", "reply": [{"text": "Done."}]},
            *TWO_CALLS,
        ]
    )
    service = make_service(models=model)
    result = anyio.run(service.turn, ChatRequest("How hot?", model=MODEL, budget_usd=0.09))
    assert result.answer == "Done."
    assert "over_budget" in str(model.script.requests[-1].messages[-1])
    assert cost(service) == 0.09


# -- over HTTP ---------------------------------------------------------------------------------------------------------


Ask = Callable[[MessagesApi], DelegateResult]


@pytest.fixture
def ask(make_service: MakeService, tmp_path: Path) -> Ask:
    """A task over HTTP, from one input, without a person where the policy allows that."""
    cones = tmp_path / "cones.md"
    cones.write_text("Cone 6 was reached at 1222 degrees.\n")
    request = DelegateRequest(
        ("How hot?",), ("writer",), target="research/heat.md", inputs=(cones,), review="auto", model=MODEL
    )

    def ask(api: MessagesApi) -> DelegateResult:
        profile = Profile("default", base_url=api.url, key=Secret("k"), prices={MODEL: PRICE}, patience_seconds=2.0)
        setup = Setup(profiles={"default": profile})

        async def whole() -> DelegateResult:
            clients = Clients()
            try:
                return await make_service(models=Resolver(setup, clients), setup=setup).delegate(request)
            finally:
                await clients.close()

        return anyio.run(whole)

    return ask


def rules(*verdict: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    quoted = '# Heat\n\n## Result\n\n> "Cone 6 was reached at 1222 degrees." (inputs/cones.md:1)\n'
    draft = {"text": quoted, "sources": ["inputs/cones.md:1"]}
    return [
        *verdict,
        {"turn": 1, "reply": [{"tool": "read_input", "input": {"name": "cones.md"}}], "usage": {"input": 1_000}},
        {"turn": 2, "reply": [{"tool": "write_draft", "input": draft}], "usage": {"input": 2_000}},
        {"turn": 3, "reply": [{"tool": "report", "input": {"summary": "s"}}], "usage": {"input": 3_000}},
    ]


def test_a_model_drafts_and_another_call_of_it_judges(ask: Ask, service: Service, root: Path) -> None:
    given = {"verdict": "accept", "reason": "line 5 is quoted"}
    accept = {"forced": "verdict", "reply": [{"tool": "verdict", "input": given}], "usage": {"input": 4_000}}
    with MessagesApi(rules(accept)) as api:
        [task] = ask(api).tasks
        assert (task.status, len(api.asked)) == ("committed", 4)
        body = api.asked[3].body
    assert body["tool_choice"]["name"] == "verdict" and [tool["name"] for tool in body["tools"]] == ["verdict"]
    assert "1222" in (root / "research/heat.md").read_text()
    booked = [
        (b.role, b.agent, b.usage.input, round(b.cost_usd or 0.0, 6))
        for b, _ in bookings(service.workspace.space(None))
    ]
    assert booked == [
        ("", "writer", 1_000, 0.001),
        ("", "writer", 2_000, 0.002),
        ("", "writer", 3_000, 0.003),
        ("review", "reviewer", 4_000, 0.004),
    ]


@pytest.mark.parametrize("words", [[], [{"text": "I can't judge this."}]])
def test_a_reviewer_s_refusal_is_no_consent(ask: Ask, root: Path, words: list[object]) -> None:
    """Field case 57."""
    with MessagesApi(rules({"forced": "verdict", "reply": words, "stop_reason": "refusal"})) as api:
        [task] = ask(api).tasks
        assert len(api.asked) == 4
    assert (task.status, task.drafts[0].status) == ("in_review", "waiting")
    assert "the model refused to judge it" in task.drafts[0].reason
    assert not (root / "research/heat.md").exists()


def test_what_is_final_is_asked_once_and_what_was_drafted_is_kept(ask: Ask) -> None:
    with MessagesApi([{"turn": 3, "fault": 400}, *rules()]) as api:
        [task] = ask(api).tasks
        assert (task.status, task.attempts, len(api.asked)) == ("failed", 1, 3)
    assert "400" in task.reason
    assert [d.status for d in task.drafts] == ["waiting"]
    assert task.cost_usd == pytest.approx(0.003)
