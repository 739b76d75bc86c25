"""Which model a task gets, and through which profile: by what was asked, the agent, the client's tie and the config."""

from dataclasses import replace

import pytest

from onepen.memory.ids import AgentId, ClientId
from onepen.orchestrator.settings.choice import (
    NoSuchProfile,
    ProfileContradicts,
    ProfileUnusable,
    model_of,
    usable_profile,
)
from onepen.orchestrator.settings.setup import NOTHING, Profile, Secret, Setup
from onepen.subagents.definition import AgentDefinition, parse_definition

ACME = ClientId("acme")
CLAUDE = Profile("default", key=Secret("k"))
OWN = Profile("own", base_url="http://127.0.0.1:8080")
TIED = Setup(profiles={"default": CLAUDE, "own": OWN}, ties={"acme": "own"})


def agent(model: str) -> AgentDefinition:
    return parse_definition(AgentId("writer"), f"---\nname: w\nmodel: {model}\n---\nWrite.\n")


@pytest.mark.parametrize(
    ("setup", "asked", "written", "name"),
    [
        (NOTHING, None, "inherit", "offline"),
        (NOTHING, None, "opus", "offline"),
        (NOTHING, "opus", "inherit", "claude-opus-5-5"),
        (Setup(profiles={"default": CLAUDE}), None, "inherit", "claude-sonnet-5-5"),
        (Setup(profiles={"default": CLAUDE}), None, "haiku", "claude-haiku-5-5"),
        (Setup(profiles={"default": CLAUDE}), "opus", "haiku", "claude-opus-5-5"),
        (Setup(profiles={"default": CLAUDE}), "inherit", "haiku", "claude-haiku-5-5"),
        (Setup(profiles={"default": CLAUDE}), "offline", "haiku", "offline"),
        (Setup(profiles={"default": CLAUDE}), None, "claude-fable-5-2", "claude-fable-5-2"),
        (Setup(profiles={"default": CLAUDE}), None, "scripted:/etc/passwd", "claude-sonnet-5-5"),
        (Setup("offline", {"default": CLAUDE}), None, "opus", "offline"),
        (Setup("scripted:/s.json", {"default": CLAUDE}), None, "opus", "scripted:/s.json"),
        (Setup("opus", {"default": CLAUDE}), None, "inherit", "claude-opus-5-5"),
        (Setup("opus", {"default": CLAUDE}), None, "haiku", "claude-haiku-5-5"),
        (Setup("opus"), None, "inherit", "claude-opus-5-5"),
        (Setup(profiles={"default": Profile("default", model="x")}), None, "inherit", "x"),
        (Setup(profiles={"default": replace(CLAUDE, models={"opus": "o-9"})}), "opus", "inherit", "o-9"),
        (Setup(profiles={"default": replace(CLAUDE, model="m")}), None, "inherit", "m"),
        (Setup(profiles={"own": OWN}, profile="own"), None, "inherit", "default"),
        (Setup(profiles={"own": OWN}, profile="own"), None, "haiku", "default"),
        (Setup(profiles={"own": replace(OWN, models={"haiku": "small"})}, profile="own"), None, "haiku", "small"),
        (Setup(profiles={"own": OWN}, profile="own"), "haiku", "inherit", "claude-haiku-5-5"),
        (Setup(profiles={"own": replace(OWN, model="qwen")}, profile="own"), None, "sonnet", "qwen"),
    ],
)
def test_the_name_that_a_task_keeps(setup: Setup, asked: str | None, written: str, name: str) -> None:
    assert model_of(setup, asked, agent(written), None) == name


def test_a_tie_decides_for_its_client_alone() -> None:
    assert usable_profile(TIED, ACME) == OWN
    assert usable_profile(TIED, None) == usable_profile(TIED, ClientId("other")) == CLAUDE
    assert usable_profile(replace(TIED, via="own"), ACME) == OWN
    assert usable_profile(replace(TIED, via="own"), None) == OWN
    with pytest.raises(ProfileContradicts, match="acme is tied to profile own"):
        usable_profile(replace(TIED, via="default"), ACME)


def test_another_key_is_never_used_for_what_is_tied() -> None:
    keyless = Profile("own", lacks="OWN_KEY isn't set", base_url="https://llm.example.org")
    setup = Setup(profiles={"default": CLAUDE, "own": keyless}, ties={"acme": "own"})
    for asked in (None, "opus", "inherit"):
        with pytest.raises(ProfileUnusable, match="OWN_KEY isn't set") as caught:
            model_of(setup, asked, agent("inherit"), ACME)
        assert caught.value.exit_code == 2
    assert model_of(setup, "offline", agent("inherit"), ACME) == "offline"
    with pytest.raises(ProfileUnusable):
        usable_profile(replace(setup, via="own"), None)
    with pytest.raises(NoSuchProfile, match="gone"):
        usable_profile(replace(setup, ties={"acme": "gone"}), ACME)
    with pytest.raises(NoSuchProfile, match="default, own"):
        usable_profile(replace(setup, via="gone"), None)
