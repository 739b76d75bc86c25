"""The plan, event by event; the machine that breaks things is in test_plan_machine.py."""

import pytest

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
    Edited,
    Event,
    Judged,
    Resumed,
    Shown,
    TaskAdded,
)
from onepen.orchestrator.tasks.plan import (
    CUT_SHORT,
    DRAFT_TRANSITIONS,
    LEFT_OPEN,
    TRANSITIONS,
    AskPerson,
    Commit,
    Review,
    Spawn,
    Stop,
    TaskState,
    due,
    key_of,
    replay,
    step,
)
from onepen.staging.verdict import Accepted, Bound, Escalated, Refused, SentBack

TASK = TaskId("t1")
ADDED = TaskAdded(TASK, AgentId("researcher"))
D1, D2 = DraftId("t1-1"), DraftId("t1-2")
BOUND = Bound("a" * 64, "")


def facts(id_: DraftId, target: str = "research/cones.md", *, blocked: bool = False) -> DraftFacts:
    return DraftFacts(id_, f"{id_}.md", "" if blocked else target, "a" * 64, blocked=blocked)


def reported(n: int, *drafts: DraftFacts, answer: str = "") -> AttemptReported:
    return AttemptReported(n, drafts, answer=answer, seconds=1.5)


def accepted(by: str = "user:ana") -> Accepted:
    return Accepted(by, BOUND)


def run(*events: Event) -> TaskState:
    return replay(events)


def test_a_new_task_wants_its_first_attempt() -> None:
    state, instructions = step(TaskState(), ADDED)
    assert state.status == "queued"
    assert instructions == (Spawn(1),)


def test_the_way_of_a_draft_into_memory() -> None:
    state = run(ADDED, AttemptStarted(1))
    assert state.status == "running"
    assert due(state) == ()
    state, instructions = step(state, reported(1, facts(D1)))
    assert state.status == "in_review"
    assert instructions == (Review(D1),)
    state, instructions = step(state, Judged(D1, Escalated("checks", BOUND, "a person decides")))
    assert instructions == (AskPerson(D1),)
    state, instructions = step(state, Judged(D1, accepted()))
    assert instructions == (Commit(D1, accepted()),)
    state, instructions = step(state, Committed(D1, "c1-abcdef"))
    assert (state.status, instructions) == ("committed", ())
    draft = state.draft(D1)
    assert draft is not None
    assert draft.commit == "c1-abcdef"


def test_an_answer_without_a_draft_is_answered() -> None:
    state = run(TaskAdded(TASK, AgentId("researcher"), answer=True), AttemptStarted(1), reported(1, answer="1220 °C"))
    assert (state.status, state.answer) == ("answered", "1220 °C")


def test_a_report_with_nothing_in_it_has_failed() -> None:
    assert run(ADDED, AttemptStarted(1), reported(1)).status == "failed"


def test_a_crashing_worker_is_tried_three_times_then_put_in_quarantine() -> None:
    state = run(ADDED)
    for n in (1, 2):
        state, _ = step(state, AttemptStarted(n))
        state, instructions = step(state, AttemptFailed(n, "SIGSEGV"))
        assert instructions == (Spawn(n + 1),)
    state, _ = step(state, AttemptStarted(3))
    state, instructions = step(state, AttemptFailed(3, "SIGSEGV", drafts=(facts(D1),)))
    assert state.status == "quarantined"
    assert instructions == (Review(D1),)
    draft = state.draft(D1)
    assert draft is not None
    assert draft.incomplete == CUT_SHORT


def test_a_worker_that_reports_something_left_open_did_not_end_early() -> None:
    for complete, why in ((True, ""), (False, LEFT_OPEN)):
        state = run(ADDED, AttemptStarted(1), AttemptReported(1, (facts(D1),), "", "found nothing", complete))
        draft = state.draft(D1)
        assert draft is not None
        assert draft.incomplete == why


def test_what_can_not_help_is_not_tried_again() -> None:
    state = run(ADDED, AttemptStarted(1), AttemptFailed(1, "no such model", again=False))
    assert (state.status, state.reason) == ("failed", "no such model")


def test_a_time_out_keeps_the_drafts_and_is_not_tried_again_by_itself() -> None:
    state = run(ADDED, AttemptStarted(1), AttemptTimedOut(1, "silence", 120, (facts(D1),)))
    assert (state.status, state.reason) == ("timed_out", "no word for 120 s")
    assert due(state) == (Review(D1),)
    state, instructions = step(state, Resumed())
    assert Spawn(2) in instructions


def test_a_dead_orchestrator_costs_no_try_however_often_it_dies() -> None:
    events: list[Event] = [ADDED]
    for n in range(1, 21):
        events += [AttemptStarted(n), AttemptLost(n)]
        assert replay(events).status == "interrupted"
        events.append(Resumed())
    state = replay(events)
    assert (state.status, state.crashes) == ("queued", 0)
    assert due(state) == (Spawn(21),)


@pytest.mark.parametrize(
    "late",
    [
        AttemptReported(1, (facts(D2),)),
        AttemptFailed(1, "late"),
        AttemptTimedOut(1, "time", 600),
        AttemptLost(1),
        AttemptStarted(2),
        AttemptStarted(1),
        ADDED,
        Judged(DraftId("t9-9"), accepted()),
        Committed(DraftId("t9-9"), "c9"),
    ],
)
def test_late_and_double_events_change_nothing(late: Event) -> None:
    state = run(ADDED, AttemptStarted(1), reported(1, facts(D1)))
    assert step(state, late) == (state, ())


def test_an_event_of_another_attempt_than_the_one_alive_is_ignored() -> None:
    state = run(ADDED, AttemptStarted(1), AttemptFailed(1, "crash"), AttemptStarted(2))
    assert step(state, reported(1, facts(D1))) == (state, ())


def test_sent_back_makes_an_attempt_with_the_reason_and_the_draft() -> None:
    state = run(ADDED, AttemptStarted(1), reported(1, facts(D1)), Judged(D1, Escalated("checks", BOUND, "")))
    state, instructions = step(state, Judged(D1, SentBack("user:ana", BOUND, "cite the page")))
    assert state.status == "sent_back"
    assert instructions == (Spawn(2, "t1-1.md: cite the page", (D1,)),)
    state, _ = step(state, AttemptStarted(2))
    state, instructions = step(state, reported(2, facts(D2)))
    assert (state.status, instructions) == ("in_review", (Review(D2),))


def test_an_attempt_after_a_send_back_that_crashes_gets_the_same_feedback_again() -> None:
    state = run(
        ADDED, AttemptStarted(1), reported(1, facts(D1)), Judged(D1, SentBack("user:ana", BOUND, "cite the page"))
    )
    state = step(step(state, AttemptStarted(2))[0], AttemptFailed(2, "crash"))[0]
    assert due(state) == (Spawn(3, "t1-1.md: cite the page", (D1,)),)
    assert state.round == 1
    state = step(step(state, AttemptStarted(3))[0], AttemptLost(3))[0]
    assert due(state) == ()
    assert due(step(state, Resumed())[0]) == (Spawn(4, "t1-1.md: cite the page", (D1,)),)


def test_two_drafts_sent_back_together_make_one_attempt() -> None:
    state = run(ADDED, AttemptStarted(1), reported(1, facts(D1), facts(D2, "projects/kiln.md")))
    state, instructions = step(state, Judged(D1, SentBack("checks", BOUND, "one")))
    assert instructions == ()
    _, instructions = step(state, Judged(D2, SentBack("checks", BOUND, "two")))
    assert instructions == (Spawn(2, "t1-1.md: one\nt1-2.md: two", (D1, D2)),)


def test_after_three_rounds_a_reviewer_that_is_no_person_has_to_ask_one() -> None:
    state = run(ADDED)
    for n in (1, 2, 3):
        state = step(step(state, AttemptStarted(n))[0], reported(n, facts(DraftId(f"t1-{n}"))))[0]
        state = step(state, Judged(DraftId(f"t1-{n}"), SentBack("model:m", BOUND, "no")))[0]
        assert state.status == "sent_back"
    state = step(step(state, AttemptStarted(4))[0], reported(4, facts(DraftId("t1-4"))))[0]
    after, instructions = step(state, Judged(DraftId("t1-4"), SentBack("model:m", BOUND, "no")))
    assert instructions == (AskPerson(DraftId("t1-4")),)
    assert after.status == "in_review"
    assert step(after, Judged(DraftId("t1-4"), SentBack("user:ana", BOUND, "once more")))[0].status == "sent_back"


@pytest.mark.parametrize(("kind", "status"), [("budget", "over_budget"), ("refusal", "refused")])
def test_what_a_budget_or_a_refusal_ends_is_not_tried_again_but_can_be_resumed(kind: str, status: str) -> None:
    ended = AttemptFailed(1, "words", True, (facts(D1),), 1.5, kind)  # type: ignore[arg-type]
    state, instructions = step(run(TaskAdded(TASK, AgentId("r"), budget_usd=1.0), AttemptStarted(1)), ended)
    assert (state.status, state.reason, state.crashes, instructions) == (status, "words", 0, (Review(D1),))
    draft = state.draft(D1)
    assert draft is not None and draft.incomplete == CUT_SHORT
    same, more = step(state, Resumed())[0], step(state, Resumed(5.0))[0]
    assert (same.budget_usd, more.budget_usd) == (1.0, 5.0)
    assert Spawn(2) in due(same) and same.status == "queued"


@pytest.mark.parametrize("who", ["checks", "model:m"])
def test_a_reviewer_that_is_no_person_comes_late_where_a_person_was_quicker(who: str) -> None:
    words = (Accepted(who, BOUND), SentBack(who, BOUND, "no"), Refused(who, BOUND, "no"), Escalated(who, BOUND, "hm"))
    begun = (ADDED, AttemptStarted(1), reported(1, facts(D1)))
    for person in (Refused("user:ana", BOUND, "no"), SentBack("user:ana", BOUND, "no"), accepted()):
        decided = run(*begun, Judged(D1, person))
        assert all(step(decided, Judged(D1, late)) == (decided, ()) for late in words)
    waiting = run(*begun, Judged(D1, Escalated(who, BOUND, "a person decides")))
    assert all(step(waiting, Judged(D1, late)) == (waiting, ()) for late in words)


def test_a_blocked_draft_is_refused_from_the_start_and_named() -> None:
    state = run(ADDED, AttemptStarted(1), reported(1, facts(D1, blocked=True)))
    assert state.status == "refused"
    assert due(state) == ()


def test_two_changes_of_one_card_have_keys_of_their_own() -> None:
    state = run(ADDED, AttemptStarted(1), reported(1, facts(D1), facts(D2)))
    assert [key_of(state, d, d.facts.target) for d in state.drafts] == [
        "t1 research/cones.md",
        "t1 research/cones.md#2",
    ]


def test_what_a_new_attempt_repeats_has_the_same_key() -> None:
    state = run(
        ADDED,
        AttemptStarted(1),
        AttemptTimedOut(1, "time", 9, (facts(D1),)),
        Resumed(),
        AttemptStarted(2),
        reported(2, facts(D2)),
    )
    first, second = state.drafts
    assert key_of(state, first, "research/cones.md") == key_of(state, second, "research/cones.md")


def test_after_a_send_back_the_other_drafts_keep_their_keys() -> None:
    d3 = DraftId("t1-3")
    state = run(
        ADDED,
        AttemptStarted(1),
        reported(1, facts(D1), facts(D2)),
        Judged(D1, accepted()),
        Committed(D1, "c1-abcdef"),
        Judged(D2, SentBack("user:ana", BOUND, "shorter")),
        AttemptStarted(2),
        reported(2, facts(d3)),
    )
    third = state.draft(d3)
    assert third is not None
    assert key_of(state, third, "research/cones.md") == "t1 research/cones.md#2"


def test_a_target_that_a_person_changed_gets_a_key_that_no_sibling_holds() -> None:
    state = run(ADDED, AttemptStarted(1), reported(1, facts(D1), facts(D2, "projects/kiln.md")))
    second = state.draft(D2)
    assert second is not None
    assert key_of(state, second, "research/cones.md") == "t1 research/cones.md#2"


def test_a_refused_commit_waits_for_a_person_or_is_over() -> None:
    state = run(ADDED, AttemptStarted(1), reported(1, facts(D1)), Judged(D1, accepted()))
    assert step(state, CommitRefused(D1, "conflict", "moved on"))[0].status == "in_review"
    duplicate = step(state, CommitRefused(D1, "duplicate", "c1"))[0]
    assert duplicate.status == "committed"
    assert due(duplicate) == ()


def test_a_draft_changed_after_it_was_accepted_goes_back_to_the_person() -> None:
    state = run(ADDED, AttemptStarted(1), reported(1, facts(D1)), Judged(D1, accepted()))
    _, instructions = step(state, Edited(D1, "b" * 64))
    assert instructions == (AskPerson(D1),)


def test_shown_binds_the_next_verdict() -> None:
    state = run(ADDED, AttemptStarted(1), reported(1, facts(D1)), Shown(D1, Bound("b" * 64, "c" * 64)))
    draft = state.draft(D1)
    assert draft is not None
    assert draft.shown == Bound("b" * 64, "c" * 64)


def test_cancelling_stops_the_attempt_that_is_alive() -> None:
    state, instructions = step(run(ADDED, AttemptStarted(1)), Cancelled())
    assert (state.status, instructions) == ("cancelled", (Stop(1),))
    assert due(step(state, AttemptLost(1))[0]) == ()


def test_a_refused_draft_can_still_be_accepted_by_a_person_who_thinks_again() -> None:
    state = run(ADDED, AttemptStarted(1), reported(1, facts(D1)), Judged(D1, Refused("user:ana", BOUND, "no")))
    assert state.status == "refused"
    assert due(step(state, Judged(D1, accepted()))[0]) == (Commit(D1, accepted()),)


def test_the_tables_name_each_pair_once() -> None:
    pairs = [(row.event, phase) for row in TRANSITIONS for phase in row.phases]
    assert len(pairs) == len(set(pairs))
    words = [(word, status) for word, statuses, _ in DRAFT_TRANSITIONS for status in statuses]
    assert len(words) == len(set(words))
