"""The program at its edge: help, usage, errors, and streams in every state a shell can leave them in."""

import json
import re
from pathlib import Path

import pytest

from onepen import __version__
from onepen.orchestrator.commands.table import ROWS
from onepen.testing.program import PROGRAM, Program

ESCAPE = "\x1b"


@pytest.fixture
def onepen(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_help_begins_with_examples(row: object, onepen: Program) -> None:
    name, examples = row.name, row.examples  # type: ignore[attr-defined]
    help_text = onepen.ok(*name.split(), "--help").out
    assert help_text.startswith(f"  $ {examples[0]}\n")
    assert f"Usage: onepen {name} " in help_text
    assert help_text.isascii()


def test_help_of_the_program_lists_every_command(onepen: Program) -> None:
    help_text = onepen.ok("-h").out
    assert help_text.startswith("  $ onepen init")
    listed = re.findall(r"^  ([a-z-]+)  ", help_text.split("Commands:")[1], flags=re.MULTILINE)
    assert listed == list(dict.fromkeys(row.name.split()[0] for row in ROWS))


def test_version(onepen: Program) -> None:
    assert onepen.ok("--version").out == f"onepen {__version__}\n"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["statsu"], "Did you mean 'status'?"),
        (["drafts", "--jsno"], "--json"),
        (["add"], "onepen add --help"),
        (["add", "project", "-rf"], "behind '--'"),
        (["show"], "ID"),
        (["search", "x", "--limit", "0"], "--limit"),
        (["search", "x", "--limit", "many"], "--limit"),
        (["delegate", "x", "--review", "none"], "--review"),
        (["log", "x", "-C", "nowhere"], "nowhere: no such folder"),
    ],
)
def test_wrong_usage_is_one_line_with_code_2(args: list[str], said: str, onepen: Program) -> None:
    ran = onepen(*args)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.startswith("onepen: ") and ran.err.count("\n") == 1


def test_without_a_workspace_the_next_command_is_named(onepen: Program) -> None:
    for args in ([], ["status"], ["drafts"], ["search", "x"]):
        ran = onepen(*args)
        assert (ran.code, ran.out) == (2, "")
        assert "onepen init DIR" in ran.err


def test_a_workspace_of_the_environment_that_is_none(onepen: Program) -> None:
    ran = onepen("status", env={"ONEPEN_WORKSPACE": "/no/such/place"})
    assert ran.code == 2
    assert "ONEPEN_WORKSPACE=/no/such/place" in ran.err


@pytest.mark.parametrize("args", [["status", "--json"], ["--json", "status"], ["nonsense", "--json"]])
def test_with_json_a_failure_is_one_document_too(args: list[str], onepen: Program) -> None:
    ran = onepen(*args)
    assert ran.code == 2
    error = json.loads(ran.out)["error"]
    assert error["exit_code"] == 2 and error["message"] in ran.err


def test_json_behind_two_dashes_is_text(onepen: Program) -> None:
    assert onepen("status", "--", "--json").out == ""


def test_a_traceback_only_with_debug(onepen: Program) -> None:
    assert "Traceback" not in onepen("status").err
    assert "Traceback" in onepen("status", "--debug").err
    assert "Traceback" in onepen("--debug", "status").err


@pytest.mark.parametrize("args", ["--help", "delegate --help", "--version"])
@pytest.mark.parametrize("end", ["| head -1", "| true", ">&-", "<&-", "2>&-", ">&- 2>&- <&-"])
def test_a_reader_that_is_gone_is_no_error(args: str, end: str, onepen: Program) -> None:
    ran = onepen.shell(f"set -o pipefail; for i in 1 2; do {PROGRAM} {args} {end} || exit $?; done")
    assert (ran.code, ran.err) == (0, "")


def test_a_message_that_nobody_can_read_changes_no_exit_code(onepen: Program) -> None:
    assert onepen.shell(f"{PROGRAM} status 2>&-").code == 2
    assert onepen.shell(f"{PROGRAM} status --json >&-").code == 2
    assert onepen.shell(f"{PROGRAM} status 2>&1 >&- | true; exit ${{PIPESTATUS[0]}}").code == 2


@pytest.mark.parametrize("args", ["--version", "--help", "--version --json"])
def test_a_full_disk_behind_stdout_is_said_once(args: str, onepen: Program) -> None:
    ran = onepen.shell(f"{PROGRAM} {args} >/dev/full")
    assert ran.code == 1
    assert ran.err.count("\n") == 1 and "No space left on device" in ran.err


@pytest.mark.parametrize(
    "env",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "C"},
        {"COLUMNS": "20"},
        {"COLUMNS": "nonsense"},
        {"FORCE_COLOR": "1"},
        {"TERM": "dumb"},
    ],
)
def test_no_environment_breaks_the_help(env: dict[str, str], onepen: Program) -> None:
    ran = onepen.ok("--help", env=env)
    assert "send-back" in ran.out
    assert ESCAPE not in ran.out + ran.err


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}, {"COLUMNS": "20"}])
def test_the_help_needs_no_escape_on_a_terminal(env: dict[str, str], onepen: Program) -> None:
    ran = onepen.terminal("--help", env=env)
    assert ran.code == 0
    assert "send-back" in ran.screen and ESCAPE not in ran.screen
