"""What a person is told of the sandbox, and what is refused where there is none."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest

from onepen.memory.ids import AgentId
from onepen.memory.workspace import open_workspace
from onepen.orchestrator import sandbox, standing
from onepen.orchestrator.commands.examining import problems
from onepen.orchestrator.commands.standing import status
from onepen.orchestrator.commands.terminal import Terminal
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.results import DelegateResult
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.setup import Setup
from onepen.orchestrator.settings.trust import agent_wish
from onepen.subagents.sandbox import folders
from onepen.subagents.sandbox.level import Level, NoSandbox

MakeService = Callable[..., Service]
NONE = Level("none", why="no Landlock in this kernel")
BEST = Level("landlock+seccomp", 7, True, "x86_64")
OLDER = Level("landlock+seccomp", 4, True, "x86_64")
PAPER = Terminal(can_ask=False, colour=False, live=False, columns=200)


def told(root: Path, level: Level, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(sandbox, "probe", lambda: level)
    _, found = sandbox.looked_at(open_workspace(root))
    return {f"{problem.level} {problem.kind}": problem.message for problem in found}


def test_none_is_a_warning_that_says_why(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(root, NONE, monkeypatch) == {"warning sandbox_none": f"sandbox: {NONE.words}"}


def test_one_that_leaves_more_open_says_what(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = told(root, OLDER, monkeypatch)
    assert list(found) == ["info sandbox_weaker"]
    assert "signals to your own programs" in found["info sandbox_weaker"]


@pytest.mark.parametrize("place", [".", "..", "projects", "staging", "clients/acme/research"])
def test_memory_below_what_workers_have_to_read_is_an_error(
    root: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "clients/acme/research").mkdir(parents=True)
    folder = (root / place).resolve()
    assert told(root, BEST, monkeypatch) == {}
    monkeypatch.setattr(folders, "libraries", lambda: (Path("/usr/lib"), folder))
    found = told(root, BEST, monkeypatch)
    assert f"lies in {folder}, which every worker has to read" in found["error sandbox_exposes"]


def test_status_and_doctor_say_which_it_is_and_what_it_leaves_open(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (sandbox, standing):
        monkeypatch.setattr(module, "probe", lambda: BEST)
    stands, found = service.status(), service.doctor()
    assert stands.as_json()["sandbox"] == found.as_json()["sandbox"] == "landlock+seccomp"
    assert stands.as_json()["sandbox_gaps"] == found.as_json()["sandbox_gaps"] == list(BEST.gaps)
    assert "sandbox: landlock+seccomp\n" in status(stands, PAPER)
    assert "sandbox: landlock+seccomp; leaves open: whether a path exists" in problems(found, PAPER)
    monkeypatch.setattr(standing, "probe", lambda: NONE)
    assert f"sandbox: {NONE.words}\n" in status(service.status(), PAPER)
    assert service.status().as_json()["sandbox"] == "none"


# -- refused -----------------------------------------------------------------------------------------------------------


def delegated(root: Path, make_service: MakeService, level: Level, setup: Setup | None = None) -> DelegateResult:
    """By an agent that may run commands, since the person allowed it, or else with this setup."""
    path = root / "agents/builder.md"
    path.write_text("---\nname: builder\ntools: Read, Bash\n---\nYou build.\n")
    wish = agent_wish("0123456789abcdef", AgentId("builder"), path.read_bytes(), frozenset({"run_command"}))
    assert wish is not None
    service = make_service(
        script=[{"turn": 1, "reply": [{"tool": "report", "input": {"summary": "Done."}}]}], level=level
    )
    request = DelegateRequest(("Build it.",), ("builder",), model="scripted:x", answer=True)
    given = setup or Setup(trusted=frozenset({wish.sha256}))
    return anyio.run(partial(service.delegate, request, setup=given))


def test_an_agent_that_may_run_commands_is_refused_where_nothing_holds_it(
    root: Path, make_service: MakeService
) -> None:
    with pytest.raises(NoSandbox, match=r"^run_command: refused, .*--unsafe-no-sandbox") as refused:
        delegated(root, make_service, NONE)
    assert refused.value.exit_code == 2
    assert not any((root / "staging").glob("*/task.md")), "nothing was made"


def test_so_is_a_program_of_the_persons(root: Path, make_service: MakeService) -> None:
    with pytest.raises(NoSandbox, match=r"^/bin/sh: refused"):
        delegated(root, make_service, NONE, Setup(workers={"builder": ("/bin/sh",)}))


def test_it_is_let_through_where_something_holds_it(root: Path, make_service: MakeService) -> None:
    result = delegated(root, make_service, BEST)
    assert [task.status for task in result.tasks] == ["answered"]
    assert not any("sandbox" in notice for notice in result.notices)


def test_the_persons_word_lets_it_through_and_it_is_told(root: Path, make_service: MakeService) -> None:
    result = delegated(root, make_service, NONE, Setup(workers={"builder": ("/bin/sh",)}, unsafe=True))
    assert [task.status for task in result.tasks] == ["answered"]
    assert f"sandbox: {NONE.words}" in result.notices


def test_an_agent_with_onepens_own_tools_works_everywhere_and_it_is_told(root: Path, make_service: MakeService) -> None:
    result = delegated(root, make_service, NONE, Setup())
    assert [task.status for task in result.tasks] == ["answered"]
    assert f"sandbox: {NONE.words}" in result.notices


def test_a_task_that_goes_on_is_looked_at_again(root: Path, make_service: MakeService) -> None:
    """What was let through once is not for ever: the word is for one request."""
    [task] = delegated(root, make_service, BEST).tasks
    service = make_service(level=NONE, setup=replace(Setup(), workers={"builder": ("/bin/sh",)}))
    with pytest.raises(NoSandbox):
        anyio.run(partial(service.resume, task.task))
