"""`onepen chat` at a terminal: keys in, a screen out; the answers come over HTTP from the double."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.console import CTRL_C, CTRL_D, CTRL_J, CTRL_R, ENTER, ESCAPE, TAB, UP, Console, pasted
from onepen.testing.messages_api import MessagesApi
from onepen.testing.program import Program, end_orchestrators
from onepen.testing.screen import Screen

LONG = "So it goes on and on, word for word. " * 40
KEY = "sk-ant-api03-" + "FAKE" * 22
DRAFT = {
    "target": "research/kiln-heat.md",
    "title": "Kiln heat",
    "text": "## Heat\n\nThe kiln fires at 1220 degrees.\n",
}
WIDE = "- 窯の温度は千二百二十度です。青磁の釉薬を使いました。\n- plain words follow behind it here"
NARROW = "- 窯の温度は千二百二十度です。\n  青磁の釉薬を使いました。\n- plain words follow behind it\n  here\n"
RENEWED = {"tool": "report", "input": {"summary": "Done.", "answer": "The kiln was asked about."}}
RULES: list[dict[str, Any]] = [
    {"contains": "Renew the synthesis", "reply": [RENEWED]},
    {"last_contains": "And when?", "reply": "At five."},
    {"last_contains": "at length", "pace": 0.1, "reply": LONG},
    {"last_contains": "slowly", "pace": 0.2, "reply": "It takes its time, " * 4},
    {"last_contains": "Log it", "turn": 1, "reply": [{"tool": "log_event", "input": {"text": "called Ana"}}]},
    {"system_contains": 'agent id="writer"', "turn": 1, "reply": [{"tool": "write_draft", "input": DRAFT}]},
    {"system_contains": 'agent id="writer"', "reply": [{"tool": "report", "input": {"summary": "done"}}]},
    {
        "last_contains": "breit",
        "reply": WIDE,
    },
    {"reply": "At four o'clock.", "usage": {"input": 20, "cache_write": 80, "cache_read": 900, "output": 5}},
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    onepen = Program(tmp_path_factory.mktemp("chatting"))
    onepen.ok("init", "ws")
    onepen.ok("add", "client", "Acme", "--id", "acme", "-C", "ws")
    yield onepen.home
    end_orchestrators(onepen.home)


@pytest.fixture(scope="module")
def api() -> Iterator[MessagesApi]:
    with MessagesApi(RULES) as double:
        yield double


@contextmanager
def chat(home: Path, api: MessagesApi, *args: str, env: dict[str, str] | None = None, **size: int) -> Iterator[Console]:
    with Console("-C", "ws", "chat", *args, cwd=home, env={**api.env, **(env or {})}, **size) as console:
        yield console


def prompted(console: Console, client: str = "acme") -> None:
    """Waits for a prompt on an empty line, with the line below it."""

    def stands(screen: Screen) -> bool:
        *_, line, below = ["", "", *filter(None, screen.lines)]
        return line == ">" and re.search(rf"^({client} · )?(new chat|[\d-]{{10}}-\w{{8}})( ·|$)", below) is not None

    console.until(stands)


def said(api: MessagesApi) -> str:
    """What the person said last, as the server heard it."""
    return str(api.asked[-1].body["messages"][-1]["content"][-1]["text"])


def test_a_question_its_answer_and_the_end(home: Path, api: MessagesApi) -> None:
    with chat(home, api) as console:
        prompted(console)
        console.type("When?" + ENTER)
        console.until("1 call · in 1,000 (90 % cached), out 5 · $")
        assert "At four o'clock.\n1 call" in console.screen.text
        prompted(console)
        assert re.search(r"^\d{4}-\d\d-\d\d-\w+ · \$0\.\d{4} · 90 % cached · ", console.screen.lines[-1])
        console.type(CTRL_D)
        assert console.ended() == 0
    assert re.search(r"the chat is kept \(next: onepen chat --resume \S+\)$", console.screen.text)
    assert "thinking" not in console.screen.text, "what moved is gone"


def test_how_to_go_on_with_a_clients_chat_names_the_client(home: Path) -> None:
    onepen = Program(home)
    there = ("-C", "ws", "--client", "acme")
    kept = onepen.ok("chat", *there, "--model", "offline", stdin="What is open?\n").err
    (command,) = re.findall(r"\(next: onepen (chat .*)\)", kept)
    assert f"Next: onepen {command}" in onepen.ok("chat", *there, "--list").out
    assert onepen.ok("-C", "ws", *command.split(), "--model", "offline", stdin="And now?\n").out


def test_a_message_that_failed_has_its_line_of_json(home: Path, api: MessagesApi) -> None:
    env = {**api.env, "ONEPEN_MODEL": "nobody"}
    ran = Program(home)("-C", "ws", "chat", "--json", env=env, stdin="When?\nAnd then?\n")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert ran.code == 2 and [line["error"]["exit_code"] for line in lines] == [2, 2]


def test_ctrl_c_ends_the_answer_and_twice_on_the_empty_line_the_chat(home: Path, api: MessagesApi) -> None:
    with chat(home, api) as console:
        prompted(console)
        console.type("Tell it at length" + ENTER)
        console.until("word for word")
        console.type(CTRL_C)
        console.until("\nstopping: ")
        console.until("\n0 calls")
        prompted(console)
        console.type("And when?" + ENTER)
        console.until("At five.")
        prompted(console)
        assert console.screen.text.count("At five.") == 1, "also where a notice came behind it"
        console.type(CTRL_C)
        console.until("Ctrl-C again, or /quit, ends the chat")
        prompted(console)
        console.type("half a line" + CTRL_C)
        prompted(console)
        console.type(CTRL_C)
        console.until(lambda screen: screen.text.count("Ctrl-C again, or /quit, ends the chat") == 2)
        prompted(console)
        console.type(CTRL_C)
        assert console.ended() == 0
    assert said(api) == "And when?", "what was taken back was not sent"


@pytest.mark.parametrize(
    "keys",
    [
        f"one{ESCAPE}{ENTER}two{ENTER}",
        f"one{CTRL_J}two{ENTER}",
        f"one\\{ENTER}two{ENTER}",
        pasted("one\r\ntwo") + ENTER,
    ],
    ids=["alt-enter", "ctrl-j", "backslash", "paste"],
)
def test_a_message_of_two_lines_is_one_message(home: Path, api: MessagesApi, keys: str) -> None:
    before = len(api.asked)
    with chat(home, api) as console:
        prompted(console)
        console.type(keys)
        console.until("At four o'clock.")
    assert (said(api), len(api.asked)) == ("one\ntwo", before + 1)


def test_what_was_typed_is_there_in_the_next_chat_of_the_space_but_no_secret(
    home: Path, api: MessagesApi, tmp_path: Path
) -> None:
    state = {"XDG_STATE_HOME": str(tmp_path)}
    with chat(home, api, env=state) as console:
        prompted(console)
        console.type("a question to be asked again" + ENTER)
        console.until("At four o'clock.")
        prompted(console)
        console.type(f"my key is {KEY}" + ENTER)
        console.until(lambda screen: screen.text.count("At four o'clock.") == 2)
    with chat(home, api, env=state) as console:
        prompted(console)
        console.type(UP)
        console.until("> a question to be asked again")
        console.type(CTRL_C + CTRL_R + "asked ag")
        console.until("a question to be asked again")
    with chat(home, api, "--client", "acme", env=state) as console:
        prompted(console)
        console.type(UP + "that is all")
        console.until("> that is all")
        assert console.screen.lines[-1] == "acme · new chat"
    files = [path.read_text() for path in tmp_path.rglob("typed/*/*") if path.is_file()]
    assert files and KEY not in "".join(files)
    assert {path.stat().st_mode & 0o077 for path in tmp_path.rglob("typed/*/*")} == {0}


def test_words_for_onepen(home: Path, api: MessagesApi) -> None:
    before = len(api.asked)
    with chat(home, api) as console:
        prompted(console)
        console.type("/darfts" + ENTER)
        console.until("/darfts: no such command; did you mean /drafts; ")
        console.type("/dra" + TAB)
        console.until("> /drafts")
        console.type(ENTER)
        console.until("No draft waits.")
        console.type("/context" + ENTER)
        console.until("ends in a cache mark")
        prompted(console)
        console.type("/help" + ENTER)
        console.until("/delegate [AGENT] TEXT")
        assert len(api.asked) == before
        console.type("/usr/bin/env is a path" + ENTER)
        console.until("At four o'clock.")
        assert said(api) == "/usr/bin/env is a path"
        prompted(console)
        console.type("/usage" + ENTER)
        console.until("1 message, 1 call · in 1,000")
        console.type("/quit" + ENTER)
        assert console.ended() == 0


def test_a_task_is_given_away_and_its_draft_approved_where_one_sits(home: Path, api: MessagesApi) -> None:
    with chat(home, api, "--client", "acme") as console:
        prompted(console)
        console.type("/delegate writer How hot is the kiln?" + ENTER)
        console.until("Next: onepen show ")
        prompted(console)
        (draft,) = re.findall(r"Next: onepen show (\S+)", console.screen.text)
        console.type("/show " + TAB)
        console.until(f"> /show {draft}")
        console.type(ENTER)
        console.until("+## Heat")
        prompted(console)
        console.type(f"/approve {draft}" + ENTER)
        console.until("[y/N]")
        console.type("n" + CTRL_J)
        console.until("not approved")
        prompted(console)
        console.type("/approve nothing-1" + ENTER)
        console.until("onepen: ")
        prompted(console)


def test_a_chat_goes_on(home: Path, api: MessagesApi) -> None:
    with chat(home, api) as console:
        prompted(console)
        console.type("The first words of all" + ENTER)
        console.until("At four o'clock.")
        prompted(console)
        console.type("/new" + ENTER)
        console.until("a new chat begins with your next message")
        prompted(console)
        assert console.screen.lines[-1] == "new chat"
        console.type("/resume" + ENTER)
        console.until("Next: /resume ")
        (session,) = re.findall(r"Next: /resume (\S+)", console.screen.text)
        console.type(f"/resume {session}" + ENTER)
        console.until(f"chat {session}: 1 message")
        prompted(console)
        console.type("And then?" + ENTER)
        console.until(lambda screen: screen.text.count("1 call · ") == 2)
    assert len(api.asked[-1].body["messages"]) == 3
    listed = Program(home).ok("-C", "ws", "chat", "--list")
    assert listed.out.startswith(session) and "2 messages  The first words of all" in listed.out
    with chat(home, api, "--resume") as console:
        console.until("> And then?")
        console.until("… At four o'clock.")
        prompted(console)
        assert console.screen.lines[-1].startswith(session)


@pytest.mark.parametrize("foreground", [False, True])
def test_the_synthesis_is_renewed_where_one_sits(home: Path, api: MessagesApi, foreground: bool) -> None:
    client = "fore" if foreground else "back"
    Program(home).ok("add", "client", client, "-C", "ws")
    end_orchestrators(home)
    with chat(home, api, "--client", client, *["--foreground"] * foreground) as console:
        prompted(console, client)
        console.type("How is the kiln?" + ENTER)
        console.until("1 call · ")
        prompted(console, client)
        console.type("/renew" + ENTER)
        console.until("memory/synthesis.md: renewed after a person's word")
        prompted(console, client)
        console.type("And now?" + ENTER)
        console.until(lambda screen: screen.text.count("1 call · ") == 2)
        assert "The kiln was asked about." in str(api.asked[-1].body["system"])
        assert "working" not in console.screen.text and "thinking" not in console.screen.text


def test_on_a_narrow_screen_no_word_is_torn_and_another_size_is_taken_up(home: Path, api: MessagesApi) -> None:
    with chat(home, api, columns=30, rows=20) as console:
        prompted(console)
        console.type("Tell it breit" + ENTER)
        console.until(" · $")
        prompted(console)
        assert NARROW in console.screen.text
        console.type("/show zzz" + ENTER)
        console.until("onepen: draft 'zzz': not in\n  this workspace (next: onepen\n  drafts --all-clients)")
        prompted(console)
        console.resize(60, 20)
        console.until(lambda screen: "claude-" in screen.lines[-1])
        console.type("Tell it breit" + ENTER)
        console.until("- plain words follow behind it here")


def test_what_is_typed_during_an_answer_waits_in_the_next_line(home: Path, api: MessagesApi) -> None:
    """Its Enter sends nothing: it could have been a paste."""
    with chat(home, api) as console:
        prompted(console)
        console.type("Tell it slowly" + ENTER)
        console.until("It takes")
        console.type("typed ahead" + ENTER)
        console.until("> typed ahead")
        console.type("and sent" + ENTER)
        console.until(lambda screen: screen.text.count("1 call · ") == 2)
        assert console.screen.text.count("typed ahead") == 1
    assert said(api) == "typed ahead\nand sent"


@pytest.mark.parametrize("foreground", [False, True])
def test_a_plain_terminal_has_plain_lines(home: Path, api: MessagesApi, foreground: bool) -> None:
    end_orchestrators(home)
    with chat(home, api, *["--foreground"] * foreground, env={"TERM": "dumb"}) as console:
        console.until("\n>")
        console.type("one\\\ntwo\n")
        console.until("At four o'clock.")
        console.until(lambda screen: screen.lines[-1] == "" and screen.text.endswith("\n>"))
        console.type("Tell it at length\n")
        console.until("word for word")
        console.type(CTRL_C)
        console.until("\nstopping: ")
        console.until("\n0 calls")
        console.until(lambda screen: screen.text.endswith("\n>"))
        console.type(CTRL_D)
        assert console.ended() == 0
        assert "\x1b" not in console.screen.sent
    assert "one\ntwo" in json.dumps(api.asked[-2].body).replace("\\n", "\n")


def test_without_colours_there_are_none(home: Path, api: MessagesApi) -> None:
    with chat(home, api, env={"NO_COLOR": "1"}) as console:
        prompted(console)
        console.type("When?" + ENTER)
        console.until(" · $")
        prompted(console)
        codes = {code for found in re.findall(r"\x1b\[([\d;]*)m", console.screen.sent) for code in found.split(";")}
        assert not {code for code in codes if code and int(code) >= 30}, codes


def test_a_pipe_has_a_message_a_line(home: Path, api: MessagesApi) -> None:
    onepen = Program(home)
    ran = onepen("-C", "ws", "chat", env=api.env, stdin="one\\\n\n/drafts\n/darfts now\n//dev is full\n")
    assert (ran.code, ran.out) == (0, "At four o'clock.\n" * 2)
    assert "usage: " in ran.err and "did you mean /drafts" in ran.err and "\x1b" not in ran.err
    asked = [seen.body["messages"][-1]["content"][-1]["text"] for seen in api.asked[-2:]]
    assert asked == ["one\\", "/dev is full"]
