"""What a batch would do and cost, told before anything of it is done."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...memory import snapshot
from ...memory.ids import AgentId, CardId
from ...memory.target import CardTarget, parse_target
from ...memory.tokens import estimate as tokens_of
from ...memory.view import View
from ...staging.policy import stages
from ...subagents.definition import AgentDefinition
from ...subagents.prompt import system_blocks, tools
from ...subagents.toolbox.toolset import tool_tokens
from ..gateway.account import Caps
from ..settings.models import Served, judges
from .answer import BatchPlan, Range
from .dossier import BatchDossier
from .estimate import Estimate, estimate, from_pilot
from .events import DoneBefore
from .preparing import Prepared
from .state import BatchState

_TURNS = (2.0, 6.0)
_REPLY_TOKENS = (150, 600)
_SECONDS_A_TURN = (2.0, 12.0)
_SOON, _LATE = 300.0, 24 * 3_600.0
"""Seconds until a Message Batch has ended: at best, and at the latest."""
_SHOWN = 3
_OVER_FEW = 3
"""From how many tasks that ran on what they cost says more than a guess."""


def foretold(
    prepared: Prepared,
    there: BatchDossier | None,
    known: Sequence[DoneBefore],
    served: Served | None,
    caps: Caps,
    view: View,
    agent: Callable[[AgentId], AgentDefinition],
    *,
    places: int,
) -> BatchPlan:
    """The plan of a batch that may be `there` already; `known` are its tasks that are done by others."""
    spec = prepared.spec
    state = BatchState.begin(prepared.items) if there is None else there.state
    items = prepared.items if there is None else there.items
    if there is None:
        for event in known:
            state.take(event, "")
    counts = state.counts
    left = [item for item in items if state.tasks[item.key].place == "pending"]
    concurrency = min(spec.concurrency or places, places)
    ranges = _ranges(prepared, state, [item.text for item in left], served, view, agent, concurrency)
    budget, source = _budget(spec.budget_usd, caps)
    return BatchPlan(
        batch=spec.batch,
        name=spec.name,
        tasks=counts.total,
        new=counts.pending,
        done=counts.done - state.twins,
        failed=counts.failed,
        twice=state.twins,
        begun=there is not None,
        client=spec.client,
        agent=spec.agent or "",
        model=spec.model or "",
        via=spec.via,
        review=spec.review or "person",
        reviewers=_reviewers(prepared),
        concurrency=concurrency,
        cost=ranges.cost,
        tokens=ranges.tokens,
        seconds=ranges.seconds,
        basis=ranges.basis,
        budget_usd=budget,
        budget_from=source,
        free=served is not None and served.free,
        tasks_sha256=spec.tasks_sha256,
        reads=tuple(item.text for item in left[:_SHOWN]),
        targets=tuple(item.target or "" for item in left[:_SHOWN]),
    )


def _ranges(
    prepared: Prepared,
    state: BatchState,
    texts: Sequence[str],
    served: Served | None,
    view: View,
    agent: Callable[[AgentId], AgentDefinition],
    concurrency: int,
) -> Estimate:
    over = [facts for facts in state.tasks.values() if facts.ended_at and facts.seconds]
    if len(over) >= _OVER_FEW:
        return from_pilot([f.cost_usd for f in over], [f.seconds for f in over], len(texts), concurrency)
    first = prepared.items[0]
    space = view.workspace.space(first.client)
    tool_size = tool_tokens(tools())
    taken = snapshot.take(view, space, tools=tool_size)
    prefix = sum(map(tokens_of, system_blocks(taken.files, agent(AgentId(first.agent)))))
    found = estimate(
        texts=texts,
        prefix_tokens=prefix,
        tool_tokens=tool_size,
        turns=_TURNS,
        out_tokens=_REPLY_TOKENS,
        price=None if served is None else served.price,
        cached=prepared.spec.via == "messages",
        concurrency=concurrency,
        seconds_a_turn=_SECONDS_A_TURN,
        half=prepared.spec.via == "message-batches",
    )
    if prepared.spec.via == "messages":
        return found
    patient = Range(_TURNS[0] * _SOON, _TURNS[1] * _LATE)
    return replace(found, seconds=patient, basis=f"{found.basis}; a Message Batch a turn, mostly within an hour")


def _budget(wanted: float | None, caps: Caps) -> tuple[float | None, str]:
    """What the batch may cost at most today, and where that is said."""
    bounds = [(wanted, "--budget"), (caps.day_usd, "the day's cap (onepen config show)")]
    said = [(usd, source) for usd, source in bounds if usd is not None]
    return min(said, default=(None, "no cap"), key=lambda one: one[0] or 0.0)


def _reviewers(prepared: Prepared) -> str:
    """Who has to agree to a draft, by the policy."""
    spec, first = prepared.spec, prepared.items[0]
    if spec.answer:
        return "nobody: answers are kept, no draft is filed"
    target = parse_target(first.target) if first.target else CardTarget("research", CardId("some-card"))

    def needed(*, quoted: bool) -> str:
        words = {"checks": "the checks", "model": "a model", "person": "you"}
        found = stages(
            origin="batch", target=target, provenance="external", cited=quoted, verbatim=quoted,
            auto=spec.review == "auto", model=judges(first.model),
        )  # fmt: skip
        return ", ".join(words[stage] for stage in found)

    least, most = needed(quoted=True), needed(quoted=False)
    return most if least == most else f"{most}; where all of it is quoted with its place: {least}"
