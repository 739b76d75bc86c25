"""A model server that says no, says nothing, or is not there: what is tried again, how long, and what a person hears.

The orchestrator is killed before every line; no figure and no message is another one for it.
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.books import books
from onepen.testing.messages_api import MessagesApi
from onepen.testing.story import Line, Story

ASK = "onepen -C ws ask Hello --client acme --json"
WORK = "onepen -C ws delegate Hello --answer --client acme --model sonnet --json"
USAGE = {"input": 10, "cache_write": 7, "cache_read": 100, "output": 50}
KILL = range(100)


@dataclass(frozen=True)
class Case:
    """A fault and what comes of it: how often the call is made, the exit code, and the words in the message."""

    fault: Any
    tries: int = 1
    code: int = 1
    says: str = ""
    times: int | None = None
    """How often it strikes; None: for ever."""


def status(number: int, **more: Any) -> dict[str, Any]:
    return {"status": number, **more}


WEEK = 7 * 86_400
FINAL = {
    "400": Case(400, says="400 invalid_request_error"),
    "401": Case(401, code=2, says="401 authentication_error"),
    "402": Case(402, code=4, says="402 billing_error"),
    "403": Case(403, code=2, says="403 permission_error"),
    "413": Case(413, says="413 request_too_large"),
    "spend cap": Case("spend_cap", code=4, says="usage limits"),
    "7 days": Case(status(429, retry_after=WEEK), says="in 7 days"),
    "not again": Case(status(500, should_retry=False), says="500 api_error"),
}
PASSES = {
    "429": Case(status(429, retry_after=1), tries=2, code=0, times=1),
    "429 without": Case(429, tries=2, code=0, times=1),
    "529": Case(529, tries=3, code=0, times=2),
    "500": Case(500, tries=2, code=0, times=1),
    "503": Case(503, tries=2, code=0, times=1),
    "408": Case(408, tries=2, code=0, times=1),
    "a page": Case("not_json", tries=2, code=0, times=1),
    "reset": Case("reset", tries=2, code=0, times=1),
    "hung up": Case("hang_up", tries=2, code=0, times=1),
    "silence": Case("silent", tries=2, code=0, times=1),
    "away": Case({"kind": "refuse", "seconds": 0.3}, tries=2, code=0, times=1),
}
LASTS = {
    "silence": Case(
        "silent", tries=3, says="not a byte came for 1 s (profiles.default.silence_seconds); tried 3 times"
    ),
    "drip": Case({"kind": "drip", "bytes": 9, "seconds": 0.4}, says="was not whole after 3 s (call_seconds)"),
    "too long": Case(529, tries=-1, says="it takes calls again at"),
}
SHORT = {"400", "401", "spend cap", "7 days", "529", "silence", "drip"}


def begin(api_url: str, patience: float = 60.0, call: float = 3.0) -> tuple[str, ...]:
    text = (
        f'[profiles.default]\nbase_url = "{api_url}"\nkey_env = "KEY"\nsilence_seconds = 1\ncall_seconds = {call}\n'
        f"patience_seconds = {patience}\n"
    )
    return (
        f"mkdir -p .config/onepen; echo '{text}' > .config/onepen/config.toml",
        "onepen init ws",
        "onepen -C ws add client Acme --id acme",
    )


def happens(api: MessagesApi, story: Story, line: str, case: Case) -> tuple[int, dict[str, int]]:
    """Plays the case; how often the call was made, and what is in the books of it."""
    done = [{"tool": "report", "input": {"summary": "Hello.", "answer": "Hello."}}]
    struck: dict[str, Any] = {"fault": case.fault, "reply": "half", "usage": USAGE}
    well: dict[str, Any] = {"reply": "Hello." if line == ASK else done, "usage": USAGE}
    api.say([struck if case.times is None else {**struck, "times": case.times}, well])
    before, books = len(api.asked), booked(story)
    code = 1 if line == WORK and case.code == 2 else case.code  # a task that lacks something has failed
    ran = story.tell(Line(line, code=code, says=case.says), kill=KILL)[-1]
    assert "Traceback" not in ran.err and "internal error" not in ran.err
    new = booked(story)[len(books) :]
    assert len(new) == 1, "each attempt is booked once"
    return len(api.asked) - before, new[0]


def booked(story: Story) -> list[dict[str, int]]:
    return books(story.workspace / "clients/acme/logs")


def told(case: Case, name: str) -> Any:
    return pytest.param(case, id=name, marks=() if name in SHORT else pytest.mark.long)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("line", [ASK, pytest.param(WORK, marks=pytest.mark.long)], ids=["ask", "delegate"])
def test_what_is_final_is_asked_once_and_said(tmp_path: Path, line: str) -> None:
    """F24: each final answer in turn, in one shell; nothing of it is tried again, by nobody."""
    with MessagesApi() as api, Story(tmp_path, {"KEY": "sk-test-key"}) as story:
        story.tell(*begin(api.url, patience=1_800))
        for name, case in FINAL.items():
            if line == ASK and name not in SHORT:
                continue
            tries, books = happens(api, story, line, case)
            assert tries == case.tries, name
            assert books["output"] == 0 and books["lost"] == 1
        story.tell("onepen -C ws doctor")


@pytest.mark.timeout(240)
@pytest.mark.parametrize("line", [ASK, pytest.param(WORK, marks=pytest.mark.long)], ids=["ask", "delegate"])
@pytest.mark.parametrize("case", [told(case, name) for name, case in PASSES.items()])
def test_what_passes_is_tried_again_and_booked_once(tmp_path: Path, case: Case, line: str) -> None:
    """F24, F25: the waits grow, the answer is there, and the broken tries stand beside it in the same booking."""
    with MessagesApi() as api, Story(tmp_path, {"KEY": "sk-test-key"}) as story:
        story.tell(*begin(api.url))
        tries, books = happens(api, story, line, case)
        assert tries == case.tries
        assert (books["output"], books.get("lost", 0)) == (USAGE["output"], tries - 1)
        waits = [later.at - sooner.at for sooner, later in pairwise(api.asked)]
        assert all(wait >= 3**k / 3 for k, wait in enumerate(waits)), waits
        story.tell("onepen -C ws doctor")


@pytest.mark.timeout(240)
@pytest.mark.parametrize("line", [ASK, pytest.param(WORK, marks=pytest.mark.long)], ids=["ask", "delegate"])
@pytest.mark.parametrize("case", [told(case, name) for name, case in LASTS.items()])
def test_what_does_not_pass_ends_in_time(tmp_path: Path, case: Case, line: str) -> None:
    """F24, F25: silence, a slow drip, a server that stays overloaded; each has an end, and names the setting."""
    with MessagesApi() as api, Story(tmp_path, {"KEY": "sk-test-key"}) as story:
        story.tell(*begin(api.url, patience=3.0 if case.tries < 0 else 60.0))
        tries, books = happens(api, story, line, case)
        assert tries == case.tries if case.tries > 0 else tries <= 3
        assert (books["output"] <= 1, books["lost"]) == (True, tries)
        story.tell("onepen -C ws doctor")


@pytest.mark.long
@pytest.mark.timeout(400)
@pytest.mark.parametrize(("fault", "tries"), [(529, 6), (500, 6), ("reset", 6)])
def test_six_tries_are_the_most(tmp_path: Path, fault: Any, tries: int) -> None:
    """F24: about one and a half minutes of growing waits; then a person hears how often it was tried."""
    with MessagesApi([{"fault": fault}]) as api, Story(tmp_path, {"KEY": "sk-test-key"}) as story:
        story.tell(*begin(api.url, patience=1_800))
        (story.home / "line").write_text(ASK)
        story.tell("(sh line >out 2>err; echo $? >code) >/dev/null 2>&1 &")
        while len(api.asked) < tries:  # a request that asks for the server's models is none of them
            api.wait_for(len(api.requests) + 1, 200)
        story.tell("while [ ! -s code ]; do sleep 0.1; done; test $(cat code) = 1", "grep -q 'tried 6 times' out err")
        assert len(api.asked) == tries
        waits = [later.at - sooner.at for sooner, later in pairwise(api.asked)]
        assert all(wait >= min(3**k, 60) / 3 for k, wait in enumerate(waits)), waits


@pytest.mark.long
@pytest.mark.timeout(240)
def test_nobody_listens(tmp_path: Path) -> None:
    """F25: an address of this machine where no server runs is told after four tries, not after six."""
    with MessagesApi() as api, Story(tmp_path, {"KEY": "sk-test-key"}) as story:
        story.tell(*begin(api.url))
        with api.away():
            story.tell(Line(ASK, code=1, says="can't be reached"), Line(WORK, code=1, says="tried 4 times"), kill=KILL)
        assert api.asked == []
        story.tell("onepen -C ws doctor")


@contextmanager
def deaf() -> Iterator[str]:
    """An address that takes no connection and refuses none: its queue is full."""
    with ExitStack() as open_ones:
        server = open_ones.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            waiting = open_ones.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.long
@pytest.mark.timeout(240)
def test_a_connection_that_never_comes_about(tmp_path: Path) -> None:
    """F25: a connect time-out, bounded by the patience; nothing was asked, so nothing was paid."""
    with deaf() as url, Story(tmp_path, {"KEY": "sk-test-key"}, limit=150) as story:
        told = Line(WORK, code=1, says="no connection within 10 s")
        story.tell(*begin(url, patience=1.0, call=60.0), told, kill=KILL)
        (books,) = booked(story)
        assert books["output"] == 0
        story.tell("onepen -C ws doctor")
