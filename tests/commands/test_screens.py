"""Every listing command, into pipes, files and screens of all kinds, over a workspace with 500 cards."""

import json
import re

import pytest

from onepen.testing.program import PROGRAM, Program

ESCAPE = "\x1b"
LISTINGS = ["", "doctor", "drafts", "search kiln --limit 100", "context", "history"]
LEFT_OUT = re.compile(
    r"note: prompts begin without a part of projects/_index\.md \(.* cards\) \(next: onepen context\)\n"
)
"""500 cards are more than a prompt begins with; who looks at what a prompt begins with is told so each time."""


def as_told(command: str, err: str) -> bool:
    """Whether stderr has what this command has to say there, and nothing else."""
    return LEFT_OUT.fullmatch(err) is not None if command == "context" else err == ""


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Program:
    onepen = Program(tmp_path_factory.mktemp("big"))
    onepen.ok("init", "ws", "--name", "Studio 焼成")
    for k in range(500):
        title = f"窯の焼成についての長い題名 {k} {'and a long tail ' * 6}".strip()
        head = f"---\ntitle: {title}\nstatus: active\n---\n\n# {title}\n\n"
        text = f"{head}## 温度\n\nThe kiln ran at {1000 + k}.\n"
        (onepen.home / f"ws/projects/card-{k}.md").write_text(text)
    onepen.ok("log", "called Ana → ≈ 焼成", "-C", "ws")
    (onepen.home / "notes.md").write_text("The kiln \x1b[31mran\x1b[0m at 1222 degrees in November.\n")
    onepen.ok("delegate", "When did the kiln reach 1222 degrees?", "--input", "notes.md", "-C", "ws")
    return onepen


@pytest.mark.parametrize("command", LISTINGS)
def test_head_ends_it_quietly(command: str, big: Program) -> None:
    ran = big.shell(f"set -o pipefail; {PROGRAM} -C ws {command} | head -1")
    assert ran.code == 0 and as_told(command, ran.err), ran.err
    assert ran.out.count("\n") == 1


@pytest.mark.parametrize("command", LISTINGS)
def test_a_closed_stdout_is_no_crash(command: str, big: Program) -> None:
    ran = big.shell(f"{PROGRAM} -C ws {command} >&- <&-")
    assert ran.code == 0 and as_told(command, ran.err), ran.err


@pytest.mark.parametrize("command", LISTINGS)
@pytest.mark.parametrize(
    "env", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_a_poor_encoding_is_no_crash(command: str, env: dict[str, str], big: Program) -> None:
    plain = big.ok(*command.split(), "-C", "ws", env=env)
    assert plain.out.isascii() and as_told(command, plain.err), plain.err
    document = big.ok(*command.split(), "-C", "ws", "--json", env=env)
    assert document.out.isascii()
    assert isinstance(json.loads(document.out), dict)


@pytest.mark.parametrize("command", LISTINGS)
def test_no_escape_in_a_pipe(command: str, big: Program) -> None:
    """Not even where FORCE_COLOR, set for a whole CI job, asks for it."""
    piped = big.ok(*command.split(), "-C", "ws", env={"FORCE_COLOR": "1", "TERM": "xterm-256color"})
    assert ESCAPE not in piped.out + piped.err


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_escape_on_a_terminal_without_colours(env: dict[str, str], big: Program) -> None:
    for command in ("", "doctor", "search kiln"):
        assert ESCAPE not in big.terminal(*command.split(), "-C", "ws", env=env).screen


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"PYTHONIOENCODING": "ascii"}])
def test_no_escape_while_work_runs_on_a_terminal_without_colours(env: dict[str, str], big: Program) -> None:
    ran = big.terminal("delegate", "When?", "--answer", "--input", "notes.md", "-C", "ws", env=env)
    assert ran.code == 0 and "answered" in ran.screen
    if "PYTHONIOENCODING" not in env:
        assert ESCAPE not in ran.screen


def test_colours_on_a_terminal_that_has_them(big: Program) -> None:
    screen = big.terminal("status", "-C", "ws").screen
    assert set(re.findall(r"\x1b\[[0-9;]*[A-Za-z]", screen)) <= {f"\x1b[{n}m" for n in (0, 1, 2, 31, 32, 33, 36)}
    assert ESCAPE in screen


def test_what_a_worker_quotes_can_not_colour_the_screen(big: Program) -> None:
    """The note holds escape sequences; whatever became of it is shown without them."""
    for draft in big.json("drafts", "-C", "ws")["drafts"]:
        assert ESCAPE not in big.ok("show", draft["id"], "-C", "ws").out


@pytest.mark.parametrize("command", LISTINGS)
def test_at_twenty_columns_nothing_vital_is_lost(command: str, big: Program) -> None:
    """Ids and places are whole, however narrow the screen."""
    document = big.ok(*command.split(), "-C", "ws", "--json").json
    narrow = big.ok(*command.split(), "-C", "ws", env={"COLUMNS": "20"}).out
    vital = [draft["id"] for draft in document.get("drafts", [])]
    vital += [commit["id"] for commit in document.get("commits", [])]
    vital += [f"{hit['path']}:{hit['line']}" for hit in document.get("hits", [])]
    vital += [problem["path"] for problem in document.get("problems", [])]
    assert [one for one in vital if one not in narrow] == []


@pytest.mark.parametrize("command", [*LISTINGS, "show"])
def test_json_is_one_document_on_stdout_and_nothing_else(command: str, big: Program) -> None:
    args = command.split()
    if command == "show":
        args.append(big.json("drafts", "-C", "ws")["drafts"][0]["id"])
    ran = big.ok(*args, "-C", "ws", "--json")
    assert isinstance(json.loads(ran.out), dict)
    assert ran.out.endswith("}\n") and as_told(command, ran.err), ran.err
