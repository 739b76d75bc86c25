"""What somebody met who knew only the documentation: inputs that were changed, a client that is gone, no key."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from onepen.orchestrator.batch.dossier import InputsChanged
from onepen.orchestrator.batch.request import BatchRequest, GoOn
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.models import UnknownModel
from onepen.orchestrator.settings.setup import Setup

ANSWER: list[dict[str, object]] = [{"reply": [{"tool": "report", "input": {"summary": "s", "answer": "1222"}}]}]
CARD = {"title": "Cones", "text": "# Cones\n\n## Six\n\nAt 1222.\n"}
DRAFT: list[dict[str, object]] = [
    {"turn": 1, "reply": [{"tool": "write_draft", "input": CARD}]},
    {"turn": 2, "reply": [{"tool": "report", "input": {"summary": "done"}}]},
]
ROWS = '{"text": "How hot?", "target": "research/hot.md"}\n{"text": "How long?", "target": "research/long.md"}\n'


def asked(**more: object) -> BatchRequest:
    return BatchRequest("q.jsonl", data=ROWS, agent="writer", model="sonnet", **more)  # type: ignore[arg-type]


def test_a_batch_whose_inputs_were_changed_does_not_go_on(
    make_service: Callable[..., Service], root: Path, tmp_path: Path
) -> None:
    source = tmp_path / "cones.md"
    source.write_text("Cone 6 was reached at 1222 degrees.\n")
    pilot = anyio.run(make_service(script=DRAFT).batch_run, asked(inputs=(source,), sample=1))
    copy = root / f"batches/{pilot.batch}/inputs/cones.md"
    copy.write_text("Cone 6 was reached at 9999 degrees.\n")
    with pytest.raises(InputsChanged, match="not as it was when the batch began"):
        anyio.run(make_service(script=DRAFT).batch_go_on, GoOn(pilot.batch))
    copy.write_text(source.read_text())
    assert anyio.run(make_service(script=DRAFT).batch_go_on, GoOn(pilot.batch)).counts.in_review == 2


def test_a_task_whose_folder_was_taken_away_failed_and_is_made_again(
    make_service: Callable[..., Service], root: Path
) -> None:
    done = anyio.run(make_service(script=DRAFT).batch_run, asked())
    assert done.counts.in_review == 2
    (task, _) = sorted((root / "staging").iterdir())
    task.rename(root.parent / "elsewhere")
    seen = make_service().batch_status(done.batch)
    assert (seen.counts.in_review, seen.counts.failed) == (1, 1)
    assert f"staging/{task.name} is gone" in seen.failures[0].reason
    again = anyio.run(make_service(script=DRAFT).batch_go_on, GoOn(done.batch, retry="all"))
    assert (again.counts.in_review, again.counts.failed) == (2, 0)


def test_without_a_key_nothing_is_begun_and_nothing_fails(make_service: Callable[..., Service]) -> None:
    pilot = anyio.run(make_service(script=ANSWER).batch_run, asked(answer=True, sample=1))

    async def go_on() -> None:
        await make_service().batch_go_on(GoOn(pilot.batch), setup=Setup())

    with pytest.raises(UnknownModel):
        anyio.run(go_on)
    seen = make_service().batch_status(pilot.batch)
    assert (seen.counts.answered, seen.counts.pending, seen.counts.failed) == (1, 1, 0)


def test_a_client_that_is_gone_takes_nothing_else_along(make_service: Callable[..., Service], root: Path) -> None:
    make_service().add_client("Bolt", id="bolt")
    rows = '{"text": "How hot?"}\n{"text": "How long?", "client": "bolt"}\n'
    request = BatchRequest("q.jsonl", data=rows, agent="writer", model="sonnet", answer=True, sample=1)
    pilot = anyio.run(make_service(script=ANSWER).batch_run, request)
    (root / "clients/bolt").rename(root.parent / "bolt")
    assert make_service().batch_status(pilot.batch).counts.pending == 1
    assert make_service().status().batches[0].batch == pilot.batch
    done = anyio.run(make_service(script=ANSWER).batch_go_on, GoOn(pilot.batch))
    assert (done.counts.answered, done.counts.failed) == (1, 1)
    assert "client bolt: not in this workspace" in done.failures[0].reason
