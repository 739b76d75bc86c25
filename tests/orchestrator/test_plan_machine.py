"""A state machine that breaks the plan: start, finish, lose, duplicate, reject, crash and replay.

Beside the plan stands a small world: a pen that knows keys, and a journal. Whatever happens in whatever order, memory
holds the accepted drafts, each once, and the state is what the journal replays to.
"""

from typing import Literal

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from onepen.memory.ids import AgentId, DraftId, TaskId
from onepen.orchestrator.tasks.events import (
    AttemptFailed,
    AttemptLost,
    AttemptReported,
    AttemptStarted,
    AttemptTimedOut,
    Cancelled,
    CommitRefused,
    Committed,
    DraftFacts,
    Event,
    Judged,
    Resumed,
    TaskAdded,
)
from onepen.orchestrator.tasks.plan import (
    DRAFT_TRANSITIONS,
    MAX_CRASHES,
    TRANSITIONS,
    Commit,
    Review,
    Spawn,
    TaskState,
    due,
    key_of,
    replay,
    step,
)
from onepen.staging.verdict import Accepted, Bound, Escalated, Refused, SentBack, Verdict

TARGETS = ("research/a.md", "research/b.md", "projects/kiln.md")
BOUND = Bound("a" * 64, "")
_THEN = {(row.event, phase): row.then for row in TRANSITIONS for phase in row.phases}
_DRAFT_THEN = {(word, status): then for word, statuses, then in DRAFT_TRANSITIONS for status in statuses}


class Plan(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.journal: list[Event] = []
        self.state = TaskState()
        self.memory: dict[str, DraftId] = {}
        self.accepted: set[DraftId] = set()
        self.number = 0
        self.happen(TaskAdded(TaskId("t"), AgentId("researcher")))

    def happen(self, event: Event) -> None:
        before = self.state
        self.journal.append(event)
        self.state, _ = step(before, event)
        if before.phase != self.state.phase:
            expected = _THEN.get((type(event), before.phase), ("queued",))
            assert self.state.phase in expected, (before.phase, event, self.state.phase)
        for old in before.drafts:
            new = self.state.draft(old.id)
            assert new is not None, "a draft is never forgotten"
            if new.status != old.status:
                verdict = event.verdict if isinstance(event, Judged) else event
                assert new.status in _DRAFT_THEN[(type(verdict).__name__, old.status)]

    def _facts(self, aims: list[str]) -> tuple[DraftFacts, ...]:
        made = []
        for target in aims:
            self.number += 1
            made.append(DraftFacts(DraftId(f"t-{self.number}"), f"{self.number}.md", target, "a" * 64))
        return tuple(made)

    def _due(self, kind: type) -> list[object]:
        return [i for i in due(self.state) if isinstance(i, kind)]

    @precondition(lambda self: self._due(Spawn))
    @rule()
    def start(self) -> None:
        [spawn] = self._due(Spawn)
        assert isinstance(spawn, Spawn)
        self.happen(AttemptStarted(spawn.attempt))
        assert self.state.alive == spawn.attempt

    @precondition(lambda self: self.state.alive)
    @rule(aims=st.lists(st.sampled_from(TARGETS), min_size=1, max_size=3))
    def finish(self, aims: list[str]) -> None:
        self.happen(AttemptReported(self.state.alive, self._facts(aims)))

    @precondition(lambda self: self.state.alive)
    @rule(again=st.booleans(), kind=st.sampled_from(("", "", "budget", "refusal")))
    def crash_of_the_worker(self, again: bool, kind: Literal["", "budget", "refusal"]) -> None:
        self.happen(AttemptFailed(self.state.alive, "SIGSEGV", again, self._facts(["research/a.md"]), kind=kind))

    @precondition(lambda self: self.state.alive)
    @rule(aims=st.lists(st.sampled_from(TARGETS), max_size=2))
    def time_out(self, aims: list[str]) -> None:
        self.happen(AttemptTimedOut(self.state.alive, "time", 600, self._facts(aims)))

    @precondition(lambda self: self.state.alive)
    @rule()
    def lose(self) -> None:
        self.happen(AttemptLost(self.state.alive))

    @rule()
    def resume(self) -> None:
        self.happen(Resumed())

    @rule()
    def cancel(self) -> None:
        self.happen(Cancelled())

    @rule(data=st.data())
    def late_and_double(self, data: st.DataObject) -> None:
        self.happen(data.draw(st.sampled_from(self.journal)))

    @precondition(lambda self: self.state.drafts)
    @rule(data=st.data(), kind=st.sampled_from(("accept", "back", "refuse", "escalate")), person=st.booleans())
    def judge(self, data: st.DataObject, kind: str, person: bool) -> None:
        draft = data.draw(st.sampled_from(self.state.drafts))
        who = "user:ana" if person else "checks"
        verdicts: dict[str, Verdict] = {
            "accept": Accepted(who, BOUND),
            "back": SentBack(who, BOUND, "why"),
            "refuse": Refused(who, BOUND, "why"),
            "escalate": Escalated(who, BOUND, "why"),
        }
        self.happen(Judged(draft.id, verdicts[kind]))
        if not person and (draft.reviewed or draft.status != "waiting"):
            assert self.state.draft(draft.id) == draft, "a reviewer that is no person overrules nobody"

    @precondition(lambda self: self._due(Commit))
    @rule(conflict=st.booleans(), crash=st.booleans())
    def commit(self, conflict: bool, crash: bool) -> None:
        instruction = self._due(Commit)[0]
        assert isinstance(instruction, Commit)
        draft = self.state.draft(instruction.draft)
        assert draft is not None
        key = key_of(self.state, draft, draft.facts.target)
        holder = self.memory.get(key)
        if holder is not None and holder != draft.id:
            self.happen(CommitRefused(draft.id, "duplicate", key))
        elif conflict and holder is None:
            self.happen(CommitRefused(draft.id, "conflict", key))
        else:
            self.memory[key] = draft.id
            if crash:  # between the pen and the journal
                self.state = replay(self.journal)
                assert instruction in due(self.state)
            else:
                self.happen(Committed(draft.id, key))

    @rule()
    def crash_of_the_orchestrator(self) -> None:
        self.state = replay(self.journal)
        if self.state.alive:
            self.happen(AttemptLost(self.state.alive))

    @invariant()
    def the_journal_replays_to_the_state(self) -> None:
        assert replay(self.journal) == self.state

    @invariant()
    def memory_is_the_accepted_drafts_each_once(self) -> None:
        committed = [d.id for d in self.state.drafts if d.status == "committed"]
        assert len(committed) == len(set(committed))
        assert set(committed) <= set(self.memory.values())
        written = list(self.memory.values())
        assert len(written) == len(set(written))

    @invariant()
    def nothing_is_started_twice(self) -> None:
        assert len(self._due(Spawn)) <= (0 if self.state.alive else 1)
        assert self.state.crashes <= MAX_CRASHES

    @invariant()
    def each_draft_is_decided_or_due(self) -> None:
        due_for = {i.draft for i in due(self.state) if not isinstance(i, Spawn) and hasattr(i, "draft")}
        open_ones = {d.id for d in self.state.drafts if d.status in {"waiting", "approved"}}
        assert due_for == open_ones


def test_a_review_is_due_only_once() -> None:
    state = replay(
        [
            TaskAdded(TaskId("t"), AgentId("researcher")),
            AttemptStarted(1),
            AttemptReported(1, (DraftFacts(DraftId("t-1"), "1.md", "research/a.md", "a" * 64),)),
        ]
    )
    assert due(state) == (Review(DraftId("t-1")),)
    assert not any(
        isinstance(i, Review) for i in due(step(state, Judged(DraftId("t-1"), Escalated("checks", BOUND, "")))[0])
    )


Plan.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestPlan = Plan.TestCase
