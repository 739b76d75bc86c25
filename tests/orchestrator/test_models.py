"""Which model a name means."""

from pathlib import Path

import pytest

from onepen.memory.ids import AgentId
from onepen.orchestrator.settings.models import NeedsModel, Resolver, UnknownModel
from onepen.orchestrator.settings.setup import Profile, Secret, Setup
from onepen.subagents.definition import parse_definition
from onepen.testing.scripted import ScriptUnreadable

RESEARCHER = parse_definition(AgentId("researcher"), "---\nname: r\nonepen:\n  offline: true\n---\nFind.\n")
WRITER = parse_definition(AgentId("writer"), "---\nname: w\n---\nWrite.\n")


def test_names_mean_models(tmp_path: Path) -> None:
    models = Resolver()
    assert models("offline", RESEARCHER).model.name == "offline"
    script = tmp_path / "s.json"
    script.write_text("[]")
    assert models(f"scripted:{script}", WRITER).model is models(f"scripted:{script}", RESEARCHER).model


def test_what_can_not_be_is_said_with_what_is_needed() -> None:
    with pytest.raises(NeedsModel, match="agent writer needs a model") as caught:
        Resolver()("offline", WRITER)
    assert caught.value.exit_code == 2
    with pytest.raises(UnknownModel, match="'claude-17'"):
        Resolver()("claude-17", WRITER)
    with pytest.raises(UnknownModel, match="did you mean offline"):
        Resolver(Setup(profiles={"default": Profile("default", key=Secret("k"))}))("Ofline", RESEARCHER)
    with pytest.raises(ScriptUnreadable):
        Resolver()("scripted:/nowhere.json", WRITER)
