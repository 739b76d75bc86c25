import json

from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.settings.redact import SHORTEST, Known, held_in, worth
from onepen.orchestrator.settings.setup import Profile, Secret, Setup

ENV = {
    "NEW_VENDOR_TOKEN": "tok-FAKE-1", "AWS_SECRET_ACCESS_KEY": "FAKE-2", "DATABASE_URL": "postgres://u:FAKE-3@h/d",
    "vendorApiKey": "FAKE-4", "PATH": "/usr/bin:/bin7", "SSH_KEY": "/srv/ana/.ssh/id_1", "LM_TOKEN": "lm-studio",
    "MAX_TOKEN": "200000", "TOKEN_URL": "https://login.example.org/v2", "SECRET_NAME": "kiln-1",
    "PWD": "/srv/ana/7", "MONKEY": "FAKE-5", "HOME": "/srv/ana",
}  # fmt: skip


def test_variables_named_as_secrets_are_held_and_no_others() -> None:
    assert dict(Known(held_in(ENV)).held) == {
        "the value of NEW_VENDOR_TOKEN": "tok-FAKE-1",
        "the value of AWS_SECRET_ACCESS_KEY": "FAKE-2",
        "the password in DATABASE_URL": "FAKE-3",
        "the value of vendorApiKey": "FAKE-4",
    }


def test_a_known_value_is_masked_in_everything_that_is_logged() -> None:
    known = Known(held_in(ENV))
    event = {
        "event": "asked with tok-FAKE-1", "args": ["FAKE-2", {"url": "postgres://u:FAKE-3@h/d"}], "n": 7, "none": None,
        "raw": b"FAKE-2", "error": ValueError("bad key FAKE-2"), "AKIAFAKEFAKEFAKE0000": True,
    }  # fmt: skip
    masked = known.masked(event)
    assert "FAKE" not in json.dumps(masked)
    assert isinstance(masked, dict)
    assert masked["event"] == "asked with [the value of NEW_VENDOR_TOKEN]"
    assert (masked["n"], masked["none"], masked["[an AWS access key id]"]) == (7, None, True)


def test_a_value_is_found_as_it_stands_in_json_and_in_an_address() -> None:
    known = Known({"the key": 'a"b/c&d 77'})
    for text in ('a"b/c&d 77', json.dumps('a"b/c&d 77'), "https://h/?key=a%22b%2Fc%26d%2077"):
        assert "the key" in known.mask(text) and "77" not in known.mask(text)


def test_a_setup_names_its_credentials_and_shows_none() -> None:
    setup = Setup(profiles={"work": Profile("work", key=Secret("k-FAKE-111"), token=Secret("t-FAKE-222"))})
    known = Known()
    known.learn(setup.secrets())
    assert known.mask("k-FAKE-111 t-FAKE-222") == "[the key of profile work] [the token of profile work]"
    assert "FAKE" not in repr(known) and "FAKE" not in repr(setup)


def test_words_that_servers_take_for_keys_are_not_looked_for() -> None:
    assert not [word for word in ("none", "ollama", "lm-studio", "sk-no-key", "not-needed", "") if worth(word)]


@given(st.text(max_size=40), st.text(st.characters(codec="utf-8"), min_size=SHORTEST, max_size=30), st.text())
def test_what_is_known_is_never_left(before: str, value: str, after: str) -> None:
    known = Known({"the key": f"{value}7x"})
    assert f"{value}7x" not in known.mask(f"{before}{value}7x{after}").replace("[the key]", "")
