"""What may stand in the person's config, and what is said of what may not."""

from pathlib import Path

import pytest

from onepen.orchestrator.settings.config import Config, ConfigUnreadable, address, load_config, parse_config

FAKE = "sk-ant-api03-" + "FAKE" * 20


def test_no_file_is_no_config_and_an_empty_one_is_the_defaults(tmp_path: Path) -> None:
    assert load_config(tmp_path / "config.toml") is None
    (tmp_path / "config.toml").write_bytes(b"\xef\xbb\xbf# nothing yet\n")
    assert load_config(tmp_path / "config.toml") == Config()


def test_all_that_may_stand_there() -> None:
    config = parse_config(
        """
        model = "opus"
        profile = "work"
        idle_seconds = 60

        [profiles.work]
        key_env = "WORK_KEY"
        haiku = "claude-haiku-5-5"

        [profiles.house]
        base_url = "http://127.0.0.1:8080/v1/"
        model = "qwen"
        local = true
        silence_seconds = 600

        [profiles.house.prices."qwen"]
        input = 0
        output = 0

        [clients]
        acme = "house"
        "0123456789abcdef/beta" = "work"

        [budget]
        task_usd = 2
        day_usd = 20.5

        [notify]
        command = ["notify-send", "onepen"]
        """
    )
    assert config.notify.command == ["notify-send", "onepen"] and parse_config("").notify.command == []
    assert config.profiles["house"].base_url == "http://127.0.0.1:8080"
    assert config.profiles["house"].prices["qwen"].output == 0
    assert (config.budget.task_usd, config.budget.day_tokens) == (2.0, None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model = ", "config.toml: this is not TOML"),
        ('model = ""', "config.toml: line 1: model must not be empty"),
        ("model = 5", "line 1: model must be a text"),
        ("[budgets]\nday_usd = 1", "line 1: budgets is not known here"),
        ("[budget]\nday_usd = -1", "line 2: budget.day_usd must be at least 0"),
        ("[budget]\nday_usd = nan", "budget.day_usd"),
        ('[profiles.a]\nbase_url = "llm.example.org"', "line 2: profiles.a.base_url is no address of a server: write"),
        ('[profiles.a]\nbase_url = "https://h/?key=1"', "profiles.a.base_url is no address"),
        (
            '[profiles.a]\nlocal = true\nbase_url = "https://llm.example.org"',
            "line 1: profiles.a says local = true, so base_url has to be on this machine",
        ),
        ('[clients]\nacme = "gone"', "ties client acme to profile gone, which isn't there: write [profiles.gone]"),
        ('[clients]\n"../x" = "default"', "'../x', which is no client"),
        ('profile = "gone"', "has profile = 'gone', which isn't there"),
        ('[notify]\ncommand = "notify-send"', "line 2: notify.command must be"),
        ('[notify]\ncommand = ["bin/note"]', "has 'bin/note': write its whole path, or a bare name"),
        ('[notify]\ncommand = ["note", ""]', 'names no program: write one such as ["notify-send", "onepen"]'),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, told: str) -> None:
    with pytest.raises(ConfigUnreadable) as caught:
        parse_config(text)
    assert told in caught.value.message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "text",
    [
        f'[profiles.a]\nkey = "{FAKE}"',
        f'[profiles.a]\nkey_env = "{FAKE}"',
        f'[profiles.a]\nmodel = "{FAKE}"',
        f"# {FAKE}",
        '[profiles.a]\nkey = "hunter2-fake"',
        '[profiles.a]\nAPI_KEY = "hunter2-fake"',
        'token = "hunter2-fake"',
        '[profiles.a]\nkey_env = "hunter2-fake"',
        '[profiles.a]\nbase_url = "https://me:hunter2-fake@llm.example.org"',
        f'[profiles.a]\nkey_env = "ghp_{"a" * 36}"',
    ],
)
def test_a_key_in_the_file_is_refused_with_what_to_write_and_not_repeated(text: str) -> None:
    with pytest.raises(ConfigUnreadable, match=r"key_env|never the key itself") as caught:
        parse_config(text)
    assert not any(value in caught.value.message for value in (FAKE, "hunter2", "ghp_a"))


def test_an_address_is_used_without_what_the_api_adds_itself() -> None:
    assert address("http://localhost:11434/v1") == address("http://localhost:11434/") == "http://localhost:11434"
    assert address("https://gate.example.org/anthropic/") == "https://gate.example.org/anthropic"


def test_a_file_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"model = '\xff'")
    with pytest.raises(ConfigUnreadable, match=r"config\.toml: is not UTF-8"):
        load_config(tmp_path / "config.toml")
    with pytest.raises(ConfigUnreadable, match="can't be read"):
        load_config(tmp_path)
