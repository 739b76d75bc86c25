"""Field case 26: what has outgrown its place in prompts is told of by them, by a chat, by status and by doctor."""

from pathlib import Path

import pytest

from onepen.memory.settings import LimitSettings
from onepen.memory.tokens import estimate
from onepen.orchestrator.service import Service
from onepen.testing.clock import FixedClock
from onepen.testing.parlour import Parlour, says

LIMITS = LimitSettings()
MARKER = "MARKER of the last line\n"


def grown(line: str, tokens: int, *, part: float, head: str = "") -> str:
    """Lines to `part` of so many tokens, the marker last; at part 1 a byte more would be too much."""
    text = head
    while estimate(text + line + MARKER) <= tokens * part:
        text += line
    return text + MARKER


CARD = (
    "## [Card {k}](c{k}.md)\nstatus: active · updated: 2026-11-29\n\n- [a](c{k}.md#a) — Something that was found.\n\n"
)


def index(part: float) -> str:
    """An index of an eighth, or of more than all, of what fits; its last card, of long ago, has the marker as title."""
    text = "# Projects\n\n## [Old MARKER of the last line](old.md)\nstatus: done · updated: 2020-01-01\n\n"
    k = 0
    while estimate(text) <= LIMITS.index_tokens * part:
        text += CARD.format(k=k)
        k += 1
    return text


CASES = [
    ("OPS.md", lambda part: grown("Ask before you fire the kiln.\n", LIMITS.note_tokens, part=part), 1.0),
    ("MEMORY.md", lambda part: grown("Ana likes short answers.\n", LIMITS.memory_tokens, part=part), 1.0),
    ("projects/_index.md", index, 0.25),
]


@pytest.fixture
def parlour(root: Path, clock: FixedClock, service: Service) -> Parlour:
    return Parlour(root, clock, service)


@pytest.mark.parametrize(("path", "make", "fits"), CASES)
def test_what_fits_is_whole_and_nobody_warns(
    parlour: Parlour, service: Service, path: str, make: object, fits: float
) -> None:
    assert callable(make)
    (parlour.root / path).write_text(make(fits))
    result = parlour.turn("Hello", says("Hello."))
    assert "MARKER of the last line" in "".join(parlour.model.requests[0].system)
    assert not [notice for notice in (*result.notices, *service.status().notices) if path in notice]
    assert not [problem for problem in service.doctor().problems if "over_budget" in problem.kind]


@pytest.mark.parametrize(("path", "make", "fits"), CASES)
def test_what_does_not_fit_is_said_each_time_to_model_and_person(
    parlour: Parlour, service: Service, path: str, make: object, fits: float
) -> None:
    assert callable(make)
    (parlour.root / path).write_text(make(1.3))
    for _ in range(2):
        result = parlour.turn("Hello", says("Hello."))
        prompt = "".join(parlour.model.requests[-1].system)
        assert "MARKER of the last line" not in prompt
        assert f'read_card "{path}"' in prompt
        for notices in (result.notices, service.status().notices):
            [told] = [notice for notice in notices if path in notice]
            assert told.startswith("prompts begin without a part of ") and "onepen context" in told
        assert [p.path for p in service.doctor().problems if p.kind in {"note_over_budget", "index_over_budget"}] == [
            path
        ]


def test_a_client_is_told_of_the_files_of_the_house_that_its_prompts_show(parlour: Parlour, service: Service) -> None:
    service.add_client("Acme", id="acme")
    (parlour.root / "OPS.md").write_text("Ask before you fire the kiln.\n" * 1_000)
    parlour.client = "acme"
    assert any("OPS.md" in notice for notice in parlour.turn("Hello", says("Hello.")).notices)
    assert sum("OPS.md" in notice for notice in service.status(all_clients=True).notices) == 1
    assert [p.path for p in service.doctor().problems if p.kind == "note_over_budget"] == ["OPS.md"]
