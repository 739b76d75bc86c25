from itertools import product
from typing import get_args

import pytest

from onepen.memory.target import Target, parse_target
from onepen.staging.policy import PROVENANCES, Origin, Provenance, Stage, lower, refused, stages, table_text

CARD, FINDING, FILE, MEMORY, USER = (
    parse_target(text)
    for text in ("projects/kiln.md", "research/cones.md", "projects/kiln/a.md", "MEMORY.md", "USER.md")
)


def ask(
    origin: Origin,
    target: Target,
    provenance: Provenance = "external",
    *,
    cited: bool = False,
    verbatim: bool = False,
    auto: bool = False,
    model: bool = True,
) -> str:
    return " ".join(
        stages(
            origin=origin,
            target=target,
            provenance=provenance,
            cited=cited,
            verbatim=verbatim,
            auto=auto,
            model=model,
        )
    )


def test_the_table_with_a_model() -> None:
    assert ask("chat", CARD, "agent") == "checks"
    assert ask("chat", FINDING, "user") == "checks"
    assert ask("chat", CARD, "external") == "checks person"
    assert ask("chat", FILE, "agent") == "checks person"
    assert ask("delegate", FINDING) == "checks model person"
    assert ask("batch", FILE, "agent") == "checks model person"
    assert ask("delegate", FINDING, auto=True) == "checks model person"
    assert ask("delegate", FINDING, auto=True, cited=True) == "checks model"
    assert ask("delegate", CARD, "agent") == "checks model person"
    assert ask("delegate", CARD, "agent", auto=True) == "checks model"
    assert ask("delegate", CARD, "external", auto=True) == "checks model person"
    assert ask("delegate", CARD, "external", auto=True, cited=True) == "checks model"
    assert ask("delegate", CARD, "external", cited=True) == "checks model person"
    assert ask("distillation", MEMORY, verbatim=True) == "checks model"
    assert ask("distillation", MEMORY, cited=True, auto=True) == "checks model person"
    assert ask("delegate", MEMORY, auto=True, cited=True) == "checks person"
    assert ask("distillation", CARD, "agent") == "checks person"


def test_without_a_model_only_verbatim_drafts_pass_alone() -> None:
    assert ask("delegate", FINDING, model=False) == "checks person"
    assert ask("delegate", FINDING, auto=True, cited=True, model=False) == "checks person"
    assert ask("delegate", FINDING, auto=True, verbatim=True, model=False) == "checks"
    assert ask("delegate", CARD, auto=True, verbatim=True, model=False) == "checks"
    assert ask("delegate", CARD, "agent", auto=True, model=False) == "checks person"
    assert ask("distillation", MEMORY, model=False) == "checks person"
    assert ask("distillation", MEMORY, verbatim=True, model=False) == "checks"


EVERY = list(product(get_args(Origin), (CARD, FINDING, FILE, MEMORY, USER), PROVENANCES, *[(False, True)] * 4))


@pytest.mark.parametrize("origin", get_args(Origin))
def test_what_holds_for_every_case(origin: Origin) -> None:
    for case in EVERY:
        if case[0] != origin:
            continue
        _, target, provenance, cited, verbatim, auto, model = case
        got: tuple[Stage, ...] = stages(
            origin=origin, target=target, provenance=provenance, cited=cited, verbatim=verbatim, auto=auto, model=model
        )
        assert got[0] == "checks" and len(set(got)) == len(got)
        if target == USER:
            assert got == ("checks", "person")
        if not model:
            assert "model" not in got
        if not auto and origin in ("delegate", "batch"):
            assert got[-1] == "person"
        if provenance == "external" and "person" not in got:
            assert cited or verbatim
        if got == ("checks",):
            assert verbatim or origin == "chat"


def test_the_lower_provenance_counts() -> None:
    assert lower("user", "external") == "external"
    assert lower("agent", "user") == "agent"
    assert lower("user", "user") == "user"


@pytest.mark.parametrize(
    "target",
    [
        "SOUL.md",
        "ops.md",
        "agents/x.md",
        "agents/_index.md",
        "AGENTS.md",
        "projects/a/CLAUDE.md",
        "projects/_index.md",
        "memory/synthesis.md",
        "logs/x",
        "onepen.toml",
        ".onepen/x",
    ],
)
def test_places_that_no_draft_may_change(target: str) -> None:
    finding = refused(target)
    assert finding is not None and finding.level == "block"


@pytest.mark.parametrize(
    "target",
    [
        "projects/kiln.md",
        "research/ops.md",
        "projects/agents.md",
        "projects/kiln/ops.md",
        "USER.md",
        "MEMORY.md",
        "projects/memory/x.md",
    ],
)
def test_places_that_a_draft_may_ask_for(target: str) -> None:
    assert refused(target) is None


def test_the_table_is_printed_with_a_line_for_each_row() -> None:
    lines = table_text().splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert "| any | USER.md | any | always | checks, person |" in lines
    assert lines[-1].endswith("| checks, person |")
