"""Programs of the person's own: which agent is done by which, and that no workspace brings one along."""

from pathlib import Path

import pytest

from onepen.memory.ids import AgentId
from onepen.orchestrator.settings.config import ConfigUnreadable, parse_config
from onepen.orchestrator.settings.load import load_setup
from onepen.orchestrator.settings.models import NeedsModel, Resolver
from onepen.orchestrator.settings.setup import Setup
from onepen.orchestrator.settings.workers import NoProgram, NoSuchWorker, check_there, employed
from onepen.subagents.definition import AgentDefinition, parse_definition

POET = ("/opt/poet", "--fast")
SETUP = Setup(workers={"poet": POET})


def agent(id_: str, own: str = "") -> AgentDefinition:
    front = f"onepen: {{{own}}}\n" if own else ""
    return parse_definition(AgentId(id_), f"---\nname: {id_}\n{front}---\nYou write.\n")


def test_an_agent_is_done_by_the_program_of_its_name_or_the_one_that_it_names() -> None:
    assert employed(agent("poet"), SETUP).program == POET
    assert employed(agent("bard", "worker: poet"), SETUP).program == POET
    assert employed(agent("bard"), SETUP).program == ()


def test_a_definition_alone_switches_nothing_on() -> None:
    """T9: a workspace that names a command is refused; one that names a program which isn't there is told of."""
    with pytest.raises(NoSuchWorker) as told:
        employed(agent("bard", "worker: evil"), SETUP)
    assert "[workers.evil]" in told.value.message and told.value.exit_code == 2
    for own in ("command: [/bin/sh]", "worker: poet, command: [/bin/sh]"):
        assert employed(agent("poet", own), Setup()).program == () if "worker" not in own else True


def test_a_program_that_is_not_there_is_told_of_before_anything_begins(tmp_path: Path) -> None:
    (tmp_path / "poet").write_text("#!/bin/sh\n")
    for program in (str(tmp_path / "poet"), str(tmp_path / "nobody"), "no-such-program-of-onepen"):
        with pytest.raises(NoProgram) as told:
            check_there(employed(agent("bard", "worker: poet"), Setup(workers={"poet": (program, "--fast")})))
        assert f" {program}, which" in told.value.message and "[workers.poet]" in told.value.message
        assert told.value.exit_code == 2
    (tmp_path / "poet").chmod(0o700)
    check_there(employed(agent("poet"), Setup(workers={"poet": (str(tmp_path / "poet"),)})))
    check_there(employed(agent("poet"), Setup(workers={"poet": ("sh",)})))
    check_there(employed(agent("bard"), SETUP))


@pytest.mark.parametrize(
    "text", ["---\nname: x\nonepen:\n  worker: poet\n---\n", "---\nname: x: y\nonepen: {worker: poet}\n---\n"]
)
def test_it_is_read_from_strict_and_from_lenient_front_matter(text: str) -> None:
    assert parse_definition(AgentId("x"), text).worker == "poet"


def test_a_program_needs_no_model() -> None:
    with pytest.raises(NeedsModel):
        Resolver()("offline", agent("poet"))
    assert Resolver()("offline", employed(agent("poet"), SETUP)).free


def test_from_the_config_to_the_setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/nowhere")
    (tmp_path / "config.toml").write_text(
        '[workers.poet]\ncommand = ["~/poet", "--fast"]\n[workers.counts]\ncommand = ["counts", "~/notes"]\n'
    )
    setup = load_setup({}, "0123456789abcdef", path=tmp_path / "config.toml")
    assert setup.workers == {"poet": ("/nowhere/poet", "--fast"), "counts": ("counts", "/nowhere/notes")}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[workers.poet]\ncommand = ["./poet"]', "line 2: workers.poet.command has './poet': write its whole path"),
        ("[workers.poet]\ncommand = []", "names no program"),
        ('[workers.poet]\ncommand = ["a", ""]', "names no program"),
        ('[workers.poet]\ncommand = "poet"', "workers.poet.command"),
        ('[workers.Poet]\ncommand = ["x"]', "workers has 'Poet', which is no name"),
        ("[workers.poet]", "workers.poet.command is missing"),
        ('[workers.poet]\ncommand = ["x"]\nenv = "A=b"', "workers.poet.env is not known here"),
        ("[workers]\npoet = 3", "workers.poet must be a block of keys and values"),
    ],
)
def test_what_may_not_stand_there(text: str, told: str) -> None:
    with pytest.raises(ConfigUnreadable) as error:
        parse_config(text)
    assert told in error.value.message
