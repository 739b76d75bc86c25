"""A renewal that was cut off goes on where what it was given still is what there is to tell."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from onepen.memory.ids import AgentId, TaskId
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.chat.said import Exchange
from onepen.orchestrator.chat.unfinished import call_off, covered, unfinished
from onepen.orchestrator.tasks.desk import Desk
from onepen.orchestrator.tasks.dossier import Dossier
from onepen.orchestrator.tasks.events import AttemptLost, AttemptStarted
from onepen.staging.sheet import TaskSheet
from onepen.testing.clock import FixedClock

ONE, TWO, THREE = (Exchange("2026-11-29-aaaa", n, "2026-11-29T10:00:00+00:00", word, "Yes.") for n, word in
                   enumerate(("one", "two", "three"), 1))  # fmt: skip


def page(said: Sequence[Exchange]) -> str:
    return " ".join(one.asked for one in said)


@pytest.fixture
def cut_off(root: Path, clock: FixedClock) -> Dossier:
    """A renewal of "one two", interrupted by the end of its process."""
    view = View(open_workspace(root))
    sheet = TaskSheet(
        task=TaskId("abcdefgh"), agent=AgentId("synthesizer"), client=None, project=None, target=None,
        text="Renew the synthesis.", created=clock.now().isoformat(), answer=True,
    )  # fmt: skip
    papers = (("synthesis.md", "old\n"), ("said.md", "one two"))
    dossier, _ = Desk(view, clock).make(view.workspace.house, sheet, (), papers)
    return dossier.happened(AttemptStarted(1)).happened(AttemptLost(1, "the process ended", (), 1.0))


@pytest.mark.parametrize(
    ("said", "before", "told"),
    [
        ((ONE, TWO), "old\n", (ONE, TWO)),
        ((ONE, TWO, THREE), "old\n", (ONE, TWO)),  # what was said since is told by the next one
        ((ONE,), "old\n", ()),
        ((TWO, THREE), "old\n", ()),
        ((ONE, TWO), "renewed by another chat\n", ()),
    ],
)
def test_what_a_task_was_given_is_the_beginning_of_what_is_told(
    said: Sequence[Exchange], before: str, told: Sequence[Exchange], cut_off: Dossier
) -> None:
    assert covered(cut_off, said, before, page) == told


def test_one_that_is_called_off_is_not_found_again(cut_off: Dossier, clock: FixedClock) -> None:
    (found,) = unfinished(cut_off.space, clock, "synthesizer")
    assert found.task == cut_off.task and not unfinished(cut_off.space, clock, "researcher")
    call_off([found])
    assert not unfinished(cut_off.space, clock, "synthesizer")
