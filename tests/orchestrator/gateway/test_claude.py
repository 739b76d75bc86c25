"""The Messages API and its faults, over real HTTP: what is tried again, what is final, what is paid."""

import socket
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from subprocess import run
from typing import Any

import anyio
import pytest

from onepen.memory.ids import AgentId
from onepen.orchestrator.gateway.address import NotLocal, address_of, host_of
from onepen.orchestrator.gateway.claude import Claude
from onepen.orchestrator.gateway.clients import Clients
from onepen.orchestrator.gateway.failure import CallFailed, CallNeeds, ProviderBudget
from onepen.orchestrator.gateway.price import Price
from onepen.orchestrator.gateway.prices import price_of
from onepen.orchestrator.settings.models import Resolver
from onepen.orchestrator.settings.setup import Profile, Secret, Setup
from onepen.subagents.definition import parse_definition
from onepen.subagents.messages import Text, ToolUse, user
from onepen.subagents.model import ToolSpec, Usage

from .conftest import MakeCalls, request

FINE = {"reply": "fine", "usage": {"input": 10, "output": 2}}
WRITER = parse_definition(AgentId("writer"), "---\nname: w\n---\nWrite.\n")
WRITE = ToolSpec("write_draft", "Writes a draft.", {"type": "object"})


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        ({"status": 429, "retry_after": 20}, 20.0),
        ({"status": 429, "retry_after": "{date+30}"}, 30.0),
        ({"status": 429, "retry_after": "soon"}, 2 / 3),
        ({"status": 429}, 2 / 3),
        ({"status": 529}, 2 / 3),
        ({"status": 500}, 2 / 3),
        ({"status": 408}, 2 / 3),
        ({"kind": "reset"}, 2 / 3),
        ({"kind": "hang_up"}, 2 / 3),
        ({"kind": "reset_in_reply"}, 2 / 3),
        ({"kind": "cut", "at": "start"}, 2 / 3),
        ({"kind": "cut", "at": "middle"}, 2 / 3),
        ({"kind": "cut", "at": "delta"}, 2 / 3),
        ({"kind": "error_event", "type": "api_error"}, 2 / 3),
        ({"kind": "not_json"}, 2 / 3),
    ],
)
def test_what_passes_is_tried_again(calls: MakeCalls, fault: dict[str, Any], seconds: float) -> None:
    call = calls([{"nth": 1, "reply": "half", "fault": fault}, FINE])
    [reply] = call()
    assert (reply.content, reply.usage) == ((Text("fine"),), Usage(input=10, output=2))
    assert [wait for _, wait in call.waits] == pytest.approx([seconds], abs=1.1 if "date" in str(fault) else 1e-6)
    assert len(call.api.asked) == 2 and len(call.lost) == 1


@pytest.mark.parametrize(
    ("fault", "kind", "code"),
    [
        ({"status": 400}, CallFailed, 1),
        ({"status": 413}, CallFailed, 1),
        ({"status": 422}, CallFailed, 1),
        ({"status": 401}, CallNeeds, 2),
        ({"status": 403}, CallNeeds, 2),
        ({"status": 404}, CallNeeds, 2),
        ({"status": 402}, ProviderBudget, 4),
        ({"kind": "spend_cap"}, ProviderBudget, 4),
        ({"status": 500, "should_retry": False}, CallFailed, 1),
        ({"kind": "error_event", "type": "invalid_request_error"}, CallFailed, 1),
    ],
)
def test_what_cannot_pass_is_told_at_once(
    calls: MakeCalls, fault: dict[str, Any], kind: type[CallFailed], code: int
) -> None:
    call = calls([{"reply": "half", "fault": fault}])
    with pytest.raises(kind) as caught:
        call()
    assert caught.value.exit_code == code and "claude-sonnet-5-5 at 127.0.0.1" in caught.value.message
    assert "sk-test" not in str(caught.value)
    assert len(call.api.asked) == 1 and not call.waits


def test_seven_days_are_not_waited_and_told(calls: MakeCalls) -> None:
    call = calls([{"fault": {"status": 429, "retry_after": 604_800}}])
    with pytest.raises(CallFailed, match=r"takes calls again at 2026-12-06 09:30, in 7 days"):
        call()
    assert len(call.api.asked) == 1 and not call.waits


def test_what_a_cut_reply_used_is_told_and_paid_as_far_as_the_server_said(calls: MakeCalls) -> None:
    used = {"input": 1_000, "cache_read": 100, "output": 50, "steps": [20]}
    call = calls([{"nth": 1, "reply": "half", "usage": used, "fault": {"kind": "cut", "at": "delta"}}, FINE])
    call()
    [lost] = call.lost
    assert lost.usage.input == 1_000 and lost.usage.cache_read == 100 and lost.usage.output > 0
    assert lost.cost_usd == pytest.approx((1_000 * 3 + 100 * 0.3 + lost.usage.output * 15) / 1e6)


def test_a_tool_of_a_broken_reply_is_never_handed_on(calls: MakeCalls) -> None:
    whole = [{"tool": "write_draft", "input": {"text": "x"}}]
    call = calls([{"times": 3, "reply": whole, "fault": {"kind": "error_event", "at": "block"}}, FINE])
    [reply] = call(request(tools=(WRITE,)))
    assert not any(isinstance(block, ToolUse) for block in reply.content)
    assert len(call.lost) == 3


def test_a_server_that_says_nothing_is_left_after_a_while(calls: MakeCalls) -> None:
    call = calls([{"nth": 1, "fault": "silent"}, FINE], profile={"silence_seconds": 0.2})
    [reply] = call()
    assert reply.content == (Text("fine"),)
    assert "not a byte came for 0.2 s (profiles.own.silence_seconds)" in call.lost[0].reason


def test_a_server_that_stays_silent_is_told_after_three_tries(calls: MakeCalls) -> None:
    call = calls([{"fault": "silent"}], profile={"silence_seconds": 0.05})
    with pytest.raises(CallFailed, match="tried 3 times"):
        call()
    assert len(call.api.asked) == 3


def test_a_drip_ends_with_the_calls_own_time(calls: MakeCalls) -> None:
    used = {"input": 70, "output": 9}
    call = calls([{"reply": "slow " * 500, "usage": used, "fault": {"kind": "drip", "bytes": 500, "seconds": 0.7}}])
    with pytest.raises(CallFailed, match=r"not whole after 1.6 s"):
        call(call_seconds=1.6)
    [lost] = call.lost
    assert lost.usage.input == 70 and len(call.api.asked) == 1


def test_a_server_that_is_not_there_is_told_after_four_tries(calls: MakeCalls) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        call = calls([FINE], profile={"base_url": f"http://127.0.0.1:{taken.getsockname()[1]}"})
        with pytest.raises(CallFailed, match=r"can't be reached: .*; tried 4 times"):
            call()
    assert len(call.lost) == 4 and all(lost.usage == Usage() and lost.cost_usd == 0 for lost in call.lost)


def test_a_server_that_comes_back_is_found(calls: MakeCalls) -> None:
    call = calls([{"nth": 1, "fault": {"kind": "refuse", "seconds": 0.05}}, FINE])
    call.nap = 0.1
    assert call()[0].content == (Text("fine"),)


@pytest.mark.parametrize("content", [[], [{"text": "I can't"}]])
def test_a_refusal_is_a_reply_and_not_tried_again(calls: MakeCalls, content: list[dict[str, str]]) -> None:
    """Field case 57: empty content is not an error, and paid once."""
    why = {"type": "refusal", "category": "bio", "explanation": "Not\nthis."}
    call = calls(
        [{"reply": content, "stop_reason": "refusal", "stop_details": why, "usage": {"input": 10, "output": 0}}]
    )
    [reply] = call()
    assert reply.stop_reason == "refusal" and len(reply.content) == len(content)
    assert reply.details == "bio: Not this."
    assert len(call.api.asked) == 1 and not call.lost


def test_a_block_nested_without_end_breaks_the_reply_and_nothing_else(calls: MakeCalls) -> None:
    nested: object = "x"
    for _ in range(200):
        nested = [nested]
    call = calls([{"nth": 1, "reply": [{"block": {"type": "novel", "of": nested}}]}, FINE])
    [reply] = call()
    assert reply.message.text == "fine"
    assert ["the stream can't be read" in lost.reason for lost in call.lost] == [True]


def test_the_key_goes_where_it_is_looked_for_and_nothing_else_is_sent(
    calls: MakeCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-process")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "of-the-process")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "Authorization: Bearer of-the-process\nX-Tenant: of-the-process")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    call = calls([FINE])
    call()
    assert "process" not in str(call.api.asked[0].headers)
    headers = call.api.asked[0].headers
    assert (headers["authorization"], headers["x-api-key"]) == ("Bearer sk-test", "sk-test")
    token = calls([FINE], profile={"key": None, "token": Secret("tok")})
    token()
    assert token.api.asked[0].headers["authorization"] == "Bearer tok"
    assert "process" not in str(token.api.asked[0].headers)
    assert "x-api-key" not in token.api.asked[0].headers
    none = calls([FINE], profile={"key": None})
    none()
    assert "process" not in str(none.api.asked[0].headers)


def test_connections_are_kept_between_calls(calls: MakeCalls) -> None:
    call = calls([FINE])
    call(request(), request(), request())
    assert len({seen.connection for seen in call.api.asked}) == 1


def test_calls_that_begin_together_share_what_is_kept_warm() -> None:
    async def work() -> int:
        clients = Clients()
        found: list[object] = []

        async def one() -> None:
            found.append(await clients.of(Profile("own", "http://127.0.0.1:1")))

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(one)
        await clients.close()
        return len({id(client) for client in found})

    assert anyio.run(work) == 1


def test_a_new_event_loop_gets_new_connections(calls: MakeCalls) -> None:
    call = calls([FINE])
    assert len(call() + call()) == 2


def test_the_first_model_that_a_server_lists_is_its_default(calls: MakeCalls) -> None:
    call = calls([FINE], models=["own-7b", "own-1b"])
    call(model="default")
    assert call.api.asked[0].body["model"] == "own-7b"


def test_a_server_that_lists_no_models_is_asked_for_claude_and_says_itself_what_it_lacks(calls: MakeCalls) -> None:
    none = calls([FINE], models=[])
    with pytest.raises(CallNeeds, match="claude-sonnet-5-5"):
        none(model="default")


def test_what_a_default_costs_is_known_once_the_server_has_said_which_model_it_is(calls: MakeCalls) -> None:
    call = calls([FINE], models=["claude-opus-5-5"])

    async def looked(profile: Profile) -> Price | None:
        clients = Clients()
        served = await Resolver(Setup(profiles={"default": profile}), clients)("default", WRITER, None).priced()
        await clients.close()
        return served.price

    assert anyio.run(looked, call.profile) == price_of(call.profile, "claude-opus-5-5")
    assert anyio.run(looked, replace(call.profile, base_url="http://127.0.0.1:9")) is None


def test_what_a_server_lacks_is_told_once(calls: MakeCalls) -> None:
    free = request(user(Text("x")), tools=(WRITE,))
    forced = replace(free, tool_choice="write_draft")
    uncached = {"reply": "no tool", "usage": {"input": 900, "cache_write": None, "cache_read": None, "output": 5}}
    call = calls([uncached], models=["own-7b", "own-1b"])
    call(forced, forced, model="own-7b")
    assert not any("not cached" in notice for notice in call.notices), "most of a call that is made once has no mark"
    call.notices.clear()
    call(free, free, forced, forced, model="own-7b")
    assert [notice.partition(": ")[2].split(":")[0].split(" (")[0] for notice in call.notices] == [
        "not cached",
        "the server doesn't make the model call the tool that it is told to",
    ]


def test_a_short_prompt_or_a_cached_one_is_no_reason_for_a_notice(calls: MakeCalls) -> None:
    cached = {"nth": 2, "reply": "b", "usage": {"input": 10, "cache_read": 900, "output": 5}}
    call = calls([{"nth": 1, "reply": "a", "usage": {"input": 90, "output": 5}}, cached])
    call(request(), request())
    assert not call.notices


def test_an_unknown_model_is_named_beside_those_that_are_listed(calls: MakeCalls) -> None:
    call = calls([FINE], models=["own-7b"])
    with pytest.raises(CallNeeds, match="404"):
        call(model="own-8b")
    assert call.notices == [f"own-8b at {host_of(call.api.url)}: the server doesn't list this model; it lists own-7b"]


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("http://127.0.0.1:8080", True),
        ("http://127.8.9.1", True),
        ("http://[::1]:1", True),
        ("http://localhost:11434/v1/", True),
        ("http://127.0.0.1.example.org", False),
        ("http://127.0.0.1@example.org", False),
        ("http://0.0.0.0:1", False),
        ("http://192.168.1.4", False),
        ("https://example.org", False),
        (None, False),
    ],
)
def test_a_local_profile_leads_nowhere_else(address: str | None, local: bool) -> None:
    profile = Profile("own", base_url=address, local=True)
    if local:
        assert Claude(profile, "m").name == "m" and not address_of(profile).endswith("/v1")
        return
    with pytest.raises(NotLocal) as caught:
        Claude(profile, "m")
    assert caught.value.exit_code == 2


class _Elsewhere(BaseHTTPRequestHandler):
    """No server of models: it leads to another address, shows a page, or gives the reply in one piece."""

    def do_GET(self) -> None:
        self.send_error(404)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        whole = (
            b'{"type": "message", "model": "plain", "content": [{"type": "text", "text": "in one piece"}],'
            b' "stop_reason": "end_turn", "usage": {"input_tokens": 3, "output_tokens": 2}}'
        )
        leads = "http://192.0.2.1/v1/messages" if self.path == "/leads/v1/messages" else None
        self.send_response(307 if leads else 200)
        if leads:
            self.send_header("location", leads)
        self.send_header("content-type", "text/html" if self.path == "/page/v1/messages" else "application/json")
        self.send_header("content-length", "0" if leads else str(len(whole)))
        self.end_headers()
        self.wfile.write(b"" if leads else whole)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def elsewhere() -> Any:
    server = HTTPServer(("127.0.0.1", 0), _Elsewhere)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_redirect_is_not_followed_with_the_key(calls: MakeCalls, elsewhere: str) -> None:
    call = calls([], profile={"base_url": f"{elsewhere}/leads"})
    with pytest.raises(CallNeeds, match=r"leads to http://192\.0\.2\.1/v1/messages"):
        call()


def test_a_page_is_no_reply(calls: MakeCalls, elsewhere: str) -> None:
    call = calls([], profile={"base_url": f"{elsewhere}/page"})
    with pytest.raises(CallNeeds, match="it answered with text/html, not as the Messages API does"):
        call()


def test_a_server_that_answers_in_one_piece_is_understood(calls: MakeCalls, elsewhere: str) -> None:
    call = calls([], profile={"base_url": elsewhere})
    [reply] = call()
    assert (reply.content, reply.usage, reply.model) == ((Text("in one piece"),), Usage(3, 0, 0, 2), "plain")


def test_importing_the_gateway_imports_no_model_library() -> None:
    code = (
        "import sys, onepen.orchestrator.gateway.gateway, onepen.orchestrator.gateway.claude\n"
        "print([name for name in ('anthropic', 'httpx2', 'genai_prices') if name in sys.modules])"
    )
    assert run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
