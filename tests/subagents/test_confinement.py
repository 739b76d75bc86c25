"""What a worker may touch, decided: folders of its own task, nothing of another's."""

import json
from dataclasses import replace
from pathlib import Path

from onepen.memory.ids import TaskId
from onepen.subagents.assignment import Assignment, Limits
from onepen.subagents.sandbox.confinement import Confinement, confinement_of, exposed
from onepen.testing.bench import agent

WORKSPACE = Path("/w")
SPACE = WORKSPACE / "clients/acme"
TASK = SPACE / "staging/qw3cm1gk"


def assignment() -> Assignment:
    return Assignment(
        task=TaskId("qw3cm1gk"),
        attempt=2,
        agent=agent(),
        text="Why?",
        snapshot=WORKSPACE / ".onepen/cache/context/abc",
        space=SPACE,
        folder=TASK,
        limits=Limits(seconds=90),
    )


def test_a_worker_reads_its_space_and_its_inputs_and_writes_its_drafts() -> None:
    found = confinement_of(assignment())
    assert found.read == (
        WORKSPACE / ".onepen/cache/context/abc",
        SPACE / "projects",
        SPACE / "research",
        TASK / "inputs",
    )
    assert found.write == (TASK / "2/drafts",)
    assert not found.commands and not found.work and not found.programs
    assert found.cpu_seconds == 150


def test_with_commands_it_has_a_folder_to_work_in() -> None:
    found = confinement_of(replace(assignment(), commands=True))
    assert found.commands
    assert found.work == (TASK / "2/work",)
    assert found.write == (TASK / "2/drafts",)


def test_a_foreign_program_is_run_as_a_command_is() -> None:
    found = confinement_of(replace(assignment(), program=("/opt/bot/main", "--fast", "/opt/bot/data")))
    assert found.commands
    assert found.programs == (Path("/opt/bot/main"), Path("/opt/bot/data"))


def test_it_travels_as_json() -> None:
    one = confinement_of(replace(assignment(), commands=True, program=("/bin/true",)))
    assert Confinement.from_dict(json.loads(json.dumps(one.as_dict()))) == one


def test_a_folder_of_the_system_that_holds_memory_is_found() -> None:
    one = confinement_of(assignment())
    for folder in ("/w", "/", "/w/clients", "/w/memory", "/w/clients/acme/projects", "/w/staging"):
        assert exposed([Path("/usr/lib"), Path(folder)], one), folder
    for folder in ("/usr/lib", "/w/.venv/lib", "/w/projects/tool/.venv", "/wide"):
        assert exposed([Path(folder)], one) is None, folder
