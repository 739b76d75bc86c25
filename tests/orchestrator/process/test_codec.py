"""What crosses the socket comes out as it went in."""

import json
from pathlib import Path

import pytest

from onepen.memory.ids import TaskId
from onepen.orchestrator.decision import Decision, DecisionResult
from onepen.orchestrator.process.codec import TYPES, plain, read, typed
from onepen.orchestrator.process.protocol import Garbled
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.results import (
    CommitResult,
    DelegateResult,
    DraftView,
    TaskView,
    UsageTotals,
)
from onepen.orchestrator.settings.setup import Profile, Secret, Setup
from onepen.staging.finding import Finding

DRAFT = DraftView(
    id="t1-1", task="t1", agent="researcher", client=None, target="research/x.md", status="waiting",
    provenance="external", findings=(Finding("uncited", "warn", "no source", 3),), created="2026-11-30", sha256="ab",
    path="staging/t1/1/drafts/x.md", sources=("inputs/a.md:1",),
)  # fmt: skip
TASK = TaskView(
    task=TaskId("t1"), agent="researcher", client="acme", status="in_review", attempts=1, text="Find it",
    drafts=(DRAFT,), usage=UsageTotals(1, 2, 3, 4), stages=None,
)  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [
        CommitResult("c1-aaaaaa", ("memory/2026-11-30.md",), ("a notice",)),
        DecisionResult((Decision(DRAFT, "committed", "", "c1-aaaaaa", ("a",)),), ("note",)),
        DelegateResult((TASK,), (), interrupted=True),
        (TASK, TASK),
        None,
        {"a": (1, 2.5, "x", None, True)},
    ],
)
def test_an_answer_comes_out_as_it_went_in(value: object) -> None:
    assert read(json.loads(json.dumps(typed(value)))) == value


def test_every_listed_type_is_there() -> None:
    for name in TYPES:
        with pytest.raises(Garbled, match="other fields"):
            read({"=": name, "no such field": 1})


@pytest.mark.parametrize("name", ["Path", "os.system", "Secret", "", 7])
def test_no_other_type_is_made(name: object) -> None:
    with pytest.raises(Garbled):
        read({"=": name})


def test_a_request_is_plain_and_holds_its_secrets() -> None:
    setup = Setup(profiles={"p": Profile("p", key=Secret("made-up-value"))}, trusted=frozenset({"b", "a"}))
    sent = json.loads(json.dumps(plain({"request": DelegateRequest(("x",), inputs=(Path("/in"),)), "setup": setup})))
    assert sent["request"]["inputs"] == ["/in"]
    assert sent["setup"]["profiles"]["p"]["key"] == {"value": "made-up-value"}
    assert sent["setup"]["trusted"] == ["a", "b"]


def test_what_is_no_value_is_refused() -> None:
    with pytest.raises(TypeError, match="can't cross"):
        plain(object())
