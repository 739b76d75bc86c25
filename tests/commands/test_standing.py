"""Where a workspace stands, as people read it."""

from onepen.orchestrator.commands.standing import status
from onepen.orchestrator.commands.terminal import Terminal
from onepen.orchestrator.results import StatusResult, TaskView

PAPER = Terminal(can_ask=False, colour=False, live=False, columns=100)


def with_tasks(number: int) -> StatusResult:
    tasks = tuple(TaskView(f"t{k}", "researcher", None, "failed", 1, "cone 6") for k in range(number))
    return StatusResult("/w", "", None, "UTC", "system", None, tasks, 0, 0.0, "none", (), 0, False, "onepen resume t0")


def test_ten_tasks_are_listed_and_the_rest_is_counted() -> None:
    text = status(with_tasks(1_234), PAPER)
    assert "1,234 open tasks:" in text
    assert text.count("cone 6") == 10
    assert "  and 1,224 more: onepen status --json\n" in text
    assert "more" not in status(with_tasks(10), PAPER)
