"""A line of a chat: said, done, or not understood."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.commands.slash import (
    WORDS,
    Command,
    NotUnderstood,
    Said,
    completions,
    help_text,
    understood,
)
from onepen.orchestrator.commands.text import width


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("When?", Said("When?")),
        ("  two\n lines ", Said("two\n lines")),
        ("", Said("")),
        (" /quit", Said("/quit")),
        ("//quit", Said("/quit")),
        ("/", Said("/")),
        ("/usr/bin/env fails", Said("/usr/bin/env fails")),
        ("/etc/", Said("/etc/")),
        ("/quit", Command("quit")),
        ("/QUIT ", Command("quit")),
        ("/exit", Command("quit")),
        ("/?", Command("help")),
        ("/show  t3k9-1 ", Command("show", "t3k9-1")),
        ("/resume", Command("resume")),
        ("/delegate writer Write\nit.", Command("delegate", "writer Write\nit.")),
        ("/delegate\nWrite it.", Command("delegate", "Write it.")),
    ],
)
def test_what_a_line_means(line: str, meant: Said | Command) -> None:
    assert understood(line) == meant


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/darfts", "/darfts: no such command; did you mean /drafts; to say it to the agent, put a blank before it"),
        (
            "/del the kiln",
            "/del: no such command; did you mean /delegate; to say it to the agent, put a blank before it",
        ),
        ("/etc is full", "/etc: no such command; /help lists them; to say it to the agent, put a blank before it"),
        ("/quit smoking", "/quit takes nothing behind it; to say it to the agent, put a blank before it"),
        ("/show", "/show: say which: /show ID"),
        ("/delegate", "/delegate: say which: /delegate [AGENT] TEXT"),
    ],
)
def test_what_is_not_understood_says_what_would_be(line: str, told: str) -> None:
    assert understood(line) == NotUnderstood(told)


@given(st.text())
def test_whatever_is_meant_for_the_agent_can_be_said(words: str) -> None:
    assert understood(" " + words) == Said(words.strip())
    if not words.startswith("/"):
        assert understood("/" + "/" + words) == Said(("/" + words).strip())
        assert understood(words) == Said(words.strip())


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_help_names_every_word_within_the_screen(columns: int) -> None:
    text = help_text(columns)
    assert all(f"/{word.name}" in text for word in WORDS)
    assert columns < 40 or max(map(width, text.splitlines())) <= columns


def ids(name: str) -> list[str]:
    return {"show": ["t1-1", "t2-1"], "delegate": ["researcher", "writer"]}.get(name, [])


@pytest.mark.parametrize(
    ("before", "offered"),
    [
        ("/d", ["/drafts", "/delegate"]),
        ("/D", ["/drafts", "/delegate"]),
        ("/show ", ["/show t1-1", "/show t2-1"]),
        ("/show t2", ["/show t2-1"]),
        ("/delegate w", ["/delegate writer"]),
        ("/drafts ", []),
        ("draf", []),
        (" /d", []),
        ("/delegate x\n/d", []),
    ],
)
def test_what_is_offered(before: str, offered: list[str]) -> None:
    assert [line for line, _ in completions(before, ids)] == offered
