"""Which model a name means, and what the person's own config says."""

from pathlib import Path

import pytest

from onepen.memory.ids import AgentId
from onepen.orchestrator.config import ConfigUnreadable, config_file, load_config
from onepen.orchestrator.models import NeedsModel, Resolver, UnknownModel
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
    with pytest.raises(ScriptUnreadable):
        Resolver()("scripted:/nowhere.json", WRITER)


def test_environment_before_file_before_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_config().model == "offline"
    config_file().parent.mkdir(parents=True)
    config_file().write_text('model = "scripted:/a.json"\nfuture = 1\n')
    assert load_config().model == "scripted:/a.json"
    monkeypatch.setenv("ONEPEN_MODEL", "scripted:/b.json")
    assert load_config().model == "scripted:/b.json"


def test_a_workspace_brings_no_config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("ONEPEN_MODEL=scripted:/evil.json\n")
    (tmp_path / "config.toml").write_text('model = "scripted:/evil.json"\n')
    monkeypatch.chdir(tmp_path)
    assert load_config().model == "offline"


@pytest.mark.parametrize("text", ["model = ", 'model = ""', "model = 5"])
def test_a_config_that_can_not_be_read_is_named(text: str) -> None:
    config_file().parent.mkdir(parents=True, exist_ok=True)
    config_file().write_text(text)
    with pytest.raises(ConfigUnreadable, match=r"config\.toml") as caught:
        load_config()
    assert caught.value.exit_code == 2
