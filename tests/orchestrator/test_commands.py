"""An agent that runs commands: by consent only, in a folder of its own, and what it makes goes through the gate."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from onepen.memory.fence import inside
from onepen.memory.ids import AgentId
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.results import DelegateResult
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.setup import Setup
from onepen.orchestrator.settings.trust import agent_wish
from onepen.orchestrator.tasks.transcript import stored_messages
from onepen.subagents.messages import ToolResult
from onepen.testing.pool import InProcessPool

MakeService = Callable[..., Service]
BUILDER = "---\nname: builder\ndescription: Writes small programs.\ntools: Read, Write, Edit, Bash\n---\nBuild.\n"
PROGRAM = "printf 'for n in (2, 3, 5): print(n)\\n' > primes.py; python3 primes.py | tee primes.csv"
DRAFT = {"file": "primes.py", "text": "The first primes.", "target": "projects/kiln/primes.py"}


def script(*calls: tuple[str, dict[str, Any]]) -> list[dict[str, object]]:
    """A model that makes these calls one after the other."""
    return [{"turn": k, "reply": [{"tool": tool, "input": given}]} for k, (tool, given) in enumerate(calls, 1)]


BUILDS = script(("run_command", {"command": PROGRAM}), ("write_draft", DRAFT), ("report", {"summary": "Done."}))


@pytest.fixture
def builder(root: Path, service: Service) -> Path:
    service.add_agent("Builder", text=BUILDER)
    return root / "agents/builder.md"


def consent(path: Path) -> Setup:
    """A person's word on an agent as it stands now."""
    wish = agent_wish("0123456789abcdef", AgentId(path.stem), path.read_bytes(), frozenset({"run_command"}))
    assert wish is not None
    return Setup(trusted=frozenset({wish.sha256}))


def delegated(service: Service, **fields: Any) -> DelegateResult:
    request = DelegateRequest(("Primes.",), ("builder",), model="scripted:x", **fields)
    return anyio.run(partial(service.delegate, request))


def results(root: Path, attempt: int = 1) -> list[ToolResult]:
    messages = stored_messages(root / f"staging/t1/{attempt}/transcript.jsonl")
    return [block for message in messages for block in message.content if isinstance(block, ToolResult)]


def test_a_program_is_written_run_and_drafted(make_service: MakeService, root: Path, builder: Path) -> None:
    service = make_service(script=BUILDS, setup=consent(builder))
    service.add_project("Kiln")
    [task] = delegated(service).tasks
    assert inside(results(root)[0].content).startswith("exit code 0\nstdout:\n2\n3\n5\nwork folder: ")
    assert [(d.target, d.status) for d in task.drafts] == [("projects/kiln/primes.py", "waiting")]
    shown = service.look(task.drafts[0].id)
    assert "+for n in (2, 3, 5): print(n)" in str(shown.diff) and not any(f.level == "block" for f in shown.findings)
    service.approve([task.drafts[0].id], sha256=task.drafts[0].sha256)
    assert (root / "projects/kiln/primes.py").read_text() == "for n in (2, 3, 5): print(n)\n"
    assert "[primes.py](kiln/primes.py)" in (root / "projects/_index.md").read_text()
    assert service.doctor().ok and not (root / "projects/kiln/primes.csv").exists()


def test_without_consent_both_the_model_and_the_person_are_told(
    make_service: MakeService, root: Path, builder: Path
) -> None:
    pool = InProcessPool()
    done = delegated(make_service(script=BUILDS, pool=pool))
    assert results(root)[0].is_error and "the person has not said yes (onepen trust)" in results(root)[0].content
    assert "no work folder" in results(root)[1].content
    told = "agents/builder.md asks for run_command: you have not allowed it as it stands now, so it works without"
    assert sum(told in notice for notice in done.notices) == 1, done.notices
    assert not pool.assignments[0].commands and not (root / "staging/t1/1/work").exists()


def test_a_consent_holds_for_the_file_as_it_was(make_service: MakeService, root: Path, builder: Path) -> None:
    setup = consent(builder)
    builder.write_text(BUILDER + "And delete what you find.\n")
    done = delegated(make_service(script=BUILDS, setup=setup))
    assert "not allowed" in results(root)[0].content and any("onepen trust" in notice for notice in done.notices)


def test_a_consent_gives_nothing_that_the_file_does_not_ask_for(make_service: MakeService, root: Path) -> None:
    """A workspace that knows of a consent for one agent can't use it for another."""
    (root / "agents/builder.md").write_text(BUILDER.replace(", Bash", ""))
    pool = InProcessPool()
    done = delegated(make_service(script=BUILDS, pool=pool, setup=consent(root / "agents/builder.md")))
    assert "its definition gives it: " in results(root)[0].content
    assert not pool.assignments[0].commands and not any("onepen trust" in notice for notice in done.notices)


@pytest.mark.parametrize(("inputs", "provenance"), [((), "agent"), (("notes.md",), "external")])
def test_what_a_command_printed_is_as_what_it_could_read(
    make_service: MakeService, root: Path, builder: Path, tmp_path: Path, inputs: tuple[str, ...], provenance: str
) -> None:
    """A command may read the inputs, and what it prints doesn't say whether it did."""
    (tmp_path / "notes.md").write_text("Two, three, five.\n")
    service = make_service(script=BUILDS, setup=consent(builder))
    service.add_project("Kiln")
    [task] = delegated(service, inputs=tuple(tmp_path / name for name in inputs)).tasks
    assert service.look(task.drafts[0].id).provenance == provenance
    path = root / "staging/t1/1/drafts/primes.py.md"
    path.write_text(path.read_text().replace("provenance: external", "provenance: agent"))  # as a worker may claim
    assert service.look(task.drafts[0].id).provenance == provenance
