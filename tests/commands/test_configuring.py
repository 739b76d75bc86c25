"""Settings and money at the command line: who works where, with whose key, and what it came to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from onepen.testing.messages_api import MessagesApi
from onepen.testing.program import Program

DONE = {
    "reply": [{"tool": "report", "input": {"summary": "done", "answer": "Cone 6."}}],
    "usage": {"input": 10, "cache_write": 7, "cache_read": 100, "output": 50},
}
TIED = """
[profiles.acme-account]
base_url = "{url}"
key_env = "ACME_KEY"
[clients]
acme = "acme-account"
"""


@pytest.fixture
def onepen(tmp_path: Path) -> Iterator[Program]:
    program = Program(tmp_path)
    program.ok("init", "ws")
    program.ok("add", "client", "Acme", "-C", "ws")
    yield program
    program.down()


def config(onepen: Program, text: str) -> None:
    place = Path(onepen.json("config", "show")["config"])
    assert place.is_relative_to(onepen.home)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def test_a_server_in_the_environment_works_and_without_one_offline_does(onepen: Program) -> None:
    task = ("delegate", "Which cone?", "--answer", "--foreground", "--json", "-C", "ws")
    [alone] = onepen.ok(*task).json["tasks"]
    assert alone["model"] == "offline"
    with MessagesApi([DONE], models=["claude-sonnet-5-5"]) as api:
        served = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "k-house"}
        [asked] = onepen.ok(*task, env=served).json["tasks"]
        assert asked["answer"] == "Cone 6."
        [call] = [seen for seen in api.requests if seen.to == "messages"]
        assert (call.body["model"], call.headers["x-api-key"]) == ("claude-sonnet-5-5", "k-house")
    row = onepen.json("usage", "--by", "model", "-C", "ws")["totals"]
    counted = {key: row[key] for key in ("input", "cache_write", "cache_read", "output")}
    assert counted == {"input": 10, "cache_write": 7, "cache_read": 100, "output": 50}
    # Sonnet 5.5 costs 2, 2.5, 0.1 and 10 US dollars for a million of each.
    assert row["cost_usd"] == pytest.approx((10 * 2 + 7 * 2.5 + 100 * 0.1 + 50 * 10) / 1e6)
    told = onepen.ok("usage", "-C", "ws").out
    assert "cache read" in told and "$0.0005" in told


def test_a_tied_clients_work_goes_through_its_profile_or_not_at_all(onepen: Program) -> None:
    task = ("delegate", "Which cone?", "--answer", "--foreground", "--client", "acme", "-C", "ws")
    with MessagesApi([DONE], models=["claude-sonnet-5-5"]) as acme, MessagesApi([DONE]) as house:
        config(onepen, TIED.format(url=acme.url))
        env = {"ANTHROPIC_BASE_URL": house.url, "ANTHROPIC_API_KEY": "k-house"}
        refused = onepen(*task, env=env)
        assert refused.code == 2 and "the environment has no ACME_KEY" in refused.err
        assert onepen(*task, "--profile", "default", env=env | {"ACME_KEY": "k-acme"}).code == 2
        onepen.ok(*task, env=env | {"ACME_KEY": "k-acme"})
        assert {seen.headers["x-api-key"] for seen in acme.requests} == {"k-acme"}
        assert house.requests == []


def test_what_is_in_force_is_told_without_a_key(onepen: Program) -> None:
    config(onepen, TIED.format(url="https://llm.example.org") + "[budget]\nday_usd = 3\n")
    env = {"ANTHROPIC_API_KEY": "k-house", "ACME_KEY": "k-acme"}
    told = onepen.ok("config", "show", "-C", "ws", env=env)
    assert "k-house" not in told.out and "k-acme" not in told.out
    for line in (
        "clients/acme  default through profile acme-account",
        "key from ANTHROPIC_API_KEY",
        "key from ACME_KEY",
    ):
        assert line in told.out
    shown = onepen.ok("config", "show", "--json", "-C", "ws", env=env).json
    assert [one["model"] for one in shown["works"]] == ["claude-sonnet-5-5", "default"]
    caps = {cap["name"]: (cap["value"], cap["source"]) for cap in shown["caps"]}
    assert caps["day_usd"] == (3.0, "your config")
    assert caps["task_usd"] == (1.0, "onepen.toml")
    assert "| any | SOUL" in shown["policy"]


def test_settings_are_told_outside_a_workspace_too_and_usage_of_nothing(onepen: Program) -> None:
    assert onepen.json("config", "show")["workspace"] is None
    assert "No model calls were booked." in onepen.ok("usage", "-C", "ws").out
    assert onepen("usage", "--since", "soon", "-C", "ws").code == 2


def test_a_config_with_a_key_in_it_stops_what_would_need_it_and_is_not_repeated(onepen: Program) -> None:
    config(onepen, '[profiles.default]\napi_key = "hunter2-fake"\n')
    for args in (("delegate", "x"), ("config", "show")):
        ran = onepen(*args, "-C", "ws")
        assert ran.code == 2 and "key_env" in ran.err and "hunter2" not in ran.err + ran.out
    onepen.ok("status", "-C", "ws")
