"""The table of commands is whole: every command in it can be called as its help says."""

import inspect
import re
import shlex

import pytest
import typer

from onepen.orchestrator.commands.app import program
from onepen.orchestrator.commands.table import ROWS, Row

COMMANDS = {
    "init", "add client", "add project", "add agent", "add research", "status", "up", "down", "doctor", "ask", "chat",
    "delegate", "resume", "cancel", "drafts", "show", "edit", "approve", "reject", "send-back", "log", "search",
    "context", "history", "undo", "why", "rename", "archive", "prune", "usage", "config show", "worker check",
    "trust", "batch run", "batch resume", "batch status", "batch list", "batch pause", "batch cancel", "batch retry",
    "batch report",
}  # fmt: skip


def test_every_command_is_there_once() -> None:
    names = [row.name for row in ROWS]
    assert sorted(names) == sorted(COMMANDS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_no_command_is_a_coroutine_function(row: Row) -> None:
    """An `async def` command would do nothing and end with 0."""
    assert not inspect.iscoroutinefunction(row.run)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_command_has_an_example_of_its_own(row: Row) -> None:
    assert any(f"onepen {row.name}" in example for example in row.examples)


def examples() -> list[str]:
    parts = [part for row in ROWS for example in row.examples for part in re.split(r" (?:&&|\|) ", example)]
    return [part for part in parts if part.startswith("onepen ")]


@pytest.mark.parametrize("example", examples())
def test_every_example_can_be_parsed(example: str) -> None:
    """Each word of an example is an option or an argument that the command knows."""
    command = typer.main.get_command(program())
    words = shlex.split(example)[1:]
    with command.make_context("onepen", list(words), resilient_parsing=False) as context:
        group = command
        while hasattr(group, "commands") and words:
            name, group, words = group.resolve_command(context, words)  # type: ignore[attr-defined]
            assert group is not None, name
        group.make_context(name, words, parent=context)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_option_has_a_sentence(row: Row) -> None:
    command = typer.main.get_command(program())
    for word in row.name.split():
        command = command.commands[word]  # type: ignore[attr-defined]
    told = [param for param in command.params if not getattr(param, "hidden", False)]
    silent = [param.name for param in told if not getattr(param, "help", None)]
    assert silent == []
