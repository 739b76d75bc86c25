"""From environment and config to a request's setup: whose key goes where, and which model comes of it."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from onepen.memory.ids import ClientId
from onepen.orchestrator.gateway.account import Caps
from onepen.orchestrator.gateway.price import Price
from onepen.orchestrator.settings.choice import ProfileUnusable, model_of, usable_profile
from onepen.orchestrator.settings.config import ConfigUnreadable, config_file
from onepen.orchestrator.settings.load import CredentialUnusable, load_setup
from onepen.orchestrator.settings.setup import Profile, Secret, Setup

HERE = "0123456789abcdef"
ACME = ClientId("acme")
TIED = """
[profiles.acme-account]
key_env = "ACME_KEY"
[profiles.house]
base_url = "http://127.0.0.1:8080"
[clients]
acme = "acme-account"
"""


def load(text: str | None, env: Mapping[str, str], tmp_path: Path, via: str | None = None) -> Setup:
    path = tmp_path / "config.toml"
    if text is not None:
        path.write_text(text)
    return load_setup(env, HERE, via=via, path=path)


def used(setup: Setup, client: ClientId | None = None) -> Profile:
    profile = usable_profile(setup, client)
    assert profile is not None
    return profile


def test_nothing_set_is_offline_and_a_key_or_a_server_is_claude(tmp_path: Path) -> None:
    nothing = load(None, {}, tmp_path)
    assert (nothing.source, usable_profile(nothing, None), model_of(nothing, None, None, None)) == (
        "none",
        None,
        "offline",
    )
    keyed = load(None, {"ANTHROPIC_API_KEY": "k-1\n"}, tmp_path)
    assert (used(keyed).key, model_of(keyed, None, None, None)) == (Secret("k-1"), "claude-sonnet-5-5")
    assert used(load(None, {"ANTHROPIC_AUTH_TOKEN": "t-1"}, tmp_path)).token == Secret("t-1")
    served = load(None, {"ANTHROPIC_BASE_URL": "http://127.0.0.1:8801"}, tmp_path)
    assert (used(served).base_url, model_of(served, None, None, None)) == ("http://127.0.0.1:8801", "default")
    assert usable_profile(load(None, {"ANTHROPIC_API_KEY": ""}, tmp_path), None) is None


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    setup = load(None, {"ANTHROPIC_API_KEY": "k-very-secret"}, tmp_path)
    assert "very-secret" not in f"{setup} {setup!r} {used(setup).key}"


@pytest.mark.parametrize("value", ["k y", "k\ny", "schlüssel"])
def test_what_can_not_be_a_key_is_refused_and_not_repeated(value: str, tmp_path: Path) -> None:
    with pytest.raises(CredentialUnusable, match="ANTHROPIC_API_KEY") as caught:
        load(None, {"ANTHROPIC_API_KEY": value}, tmp_path)
    assert value not in caught.value.message


def test_a_bad_address_in_the_environment_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigUnreadable, match="ANTHROPIC_BASE_URL: is no address"):
        load(None, {"ANTHROPIC_BASE_URL": "localhost:8080"}, tmp_path)


def test_the_environments_key_goes_to_no_server_that_the_config_names(tmp_path: Path) -> None:
    env = {"ANTHROPIC_API_KEY": "k-1"}
    setup = load('[profiles.default]\nbase_url = "https://llm.example.org"\n', env, tmp_path)
    assert (used(setup).key, used(setup).base_url) == (None, "https://llm.example.org")
    setup = load('[profiles.default]\nopus = "o-9"\n', env, tmp_path)
    assert (used(setup).key, model_of(setup, "opus", None, None)) == (Secret("k-1"), "o-9")


def test_a_tied_client_goes_through_its_profile_and_no_other(tmp_path: Path) -> None:
    env = {"ANTHROPIC_API_KEY": "k-house", "ACME_KEY": "k-acme"}
    setup = load(TIED, env, tmp_path)
    assert (used(setup, ACME).key, used(setup).key) == (Secret("k-acme"), Secret("k-house"))
    with pytest.raises(ProfileUnusable, match="the environment has no ACME_KEY"):
        usable_profile(load(TIED, {"ANTHROPIC_API_KEY": "k-house"}, tmp_path), ACME)
    assert used(load(TIED, env, tmp_path, via="house")).key is None


def test_a_tie_may_be_one_workspaces(tmp_path: Path) -> None:
    text = TIED + f'"{HERE}/acme" = "house"\n"fedcba9876543210/beta" = "house"\n'
    assert load(text, {}, tmp_path).ties == {"acme": "house"}


def test_the_usual_profile_is_named_in_the_shell_or_the_config(tmp_path: Path) -> None:
    assert used(load('profile = "house"\n' + TIED, {}, tmp_path)).name == "house"
    assert used(load(TIED, {"ONEPEN_PROFILE": "house", "ANTHROPIC_API_KEY": "k"}, tmp_path)).name == "house"
    with pytest.raises(ProfileUnusable, match="acme-account"):
        usable_profile(load('profile = "acme-account"\n' + TIED, {"ANTHROPIC_API_KEY": "k"}, tmp_path), None)


def test_the_shells_model_comes_before_the_configs(tmp_path: Path) -> None:
    env = {"ANTHROPIC_API_KEY": "k"}
    assert model_of(load('model = "opus"\n', env, tmp_path), None, None, None) == "claude-opus-5-5"
    assert model_of(load('model = "offline"\n', env, tmp_path), None, None, None) == "offline"
    both = load('model = "opus"\n', env | {"ONEPEN_MODEL": "scripted:/s.json"}, tmp_path)
    assert model_of(both, None, None, None) == "scripted:/s.json"


def test_the_configs_model_is_the_usual_profiles_and_not_another_servers(tmp_path: Path) -> None:
    text = 'model = "opus"\n[profiles.house]\nbase_url = "http://127.0.0.1:1"\n[clients]\nacme = "house"\n'
    setup = load(text, {"ANTHROPIC_API_KEY": "k"}, tmp_path)
    assert model_of(setup, None, None, ACME) == "default"


def test_prices_caps_and_time_outs_come_along(tmp_path: Path) -> None:
    text = """
    [budget]
    task_usd = 3
    day_tokens = 1000
    [profiles.default]
    call_seconds = 60
    [profiles.default.prices."m"]
    input = 4
    output = 8
    """
    setup = load(text, {"ANTHROPIC_API_KEY": "k"}, tmp_path)
    assert setup.caps == Caps(task_usd=3.0, day_tokens=1000)
    assert (used(setup).prices, used(setup).call_seconds) == ({"m": Price(4.0, 5.0, 4.0, 8.0)}, 60.0)


def test_a_workspace_brings_no_config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("ONEPEN_MODEL=scripted:/evil.json\nANTHROPIC_BASE_URL=https://evil.example.org\n")
    (tmp_path / "config.toml").write_text('model = "scripted:/evil.json"\n')
    monkeypatch.chdir(tmp_path)
    setup = load_setup({}, HERE)
    assert (setup.source, setup.model, usable_profile(setup, None)) == ("none", None, None)
    assert config_file().name == "config.toml"
    assert not config_file().is_relative_to(tmp_path)


class Locked(Exception):
    """What a keyring raises that can't be opened."""


class Keyring(ModuleType):
    """A keyring as the library looks: it gives what it holds, or fails as a headless machine's does."""

    def __init__(self, held: Mapping[tuple[str, str], str] | None) -> None:
        super().__init__("keyring")
        self.held = held
        self.asked: list[str] = []

    def get_password(self, service: str, name: str) -> str | None:
        self.asked.append(name)
        if self.held is None:
            raise Locked("No recommended backend was available")
        return self.held.get((service, name))


def installed(ring: Keyring | None, monkeypatch: pytest.MonkeyPatch) -> None:
    errors = ModuleType("keyring.errors")
    errors.__dict__["KeyringError"] = Locked
    monkeypatch.setitem(sys.modules, "keyring", ring)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)


RING = "[profiles.default]\nkeyring = true\n[profiles.other]\nkeyring = true\n"


def test_a_key_from_the_keyring(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ring = Keyring({("onepen", "default"): "k-ring"})
    installed(ring, monkeypatch)
    assert used(load(RING, {}, tmp_path)).key == Secret("k-ring")
    assert ring.asked == ["default"]  # asking may make the person unlock it: only what may be used is asked for
    with pytest.raises(ProfileUnusable, match="keyring set onepen other"):
        usable_profile(load(RING, {}, tmp_path, via="other"), None)


@pytest.mark.parametrize(
    ("ring", "told"), [(Keyring(None), "No recommended backend"), (None, r"pip install 'onepen\[keyring\]'")]
)
def test_a_keyring_that_fails_is_one_clear_error(
    ring: Keyring | None, told: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed(ring, monkeypatch)
    setup = load(RING, {"ANTHROPIC_API_KEY": "k-env"}, tmp_path)
    with pytest.raises(ProfileUnusable, match=told):
        usable_profile(setup, None)
    assert model_of(setup, "offline", None, None) == "offline"
