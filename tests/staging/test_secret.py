import time

import pytest

from onepen.staging.secret import mask, secret_findings

SECRETS = {
    "an Anthropic key": "sk-ant-api03-" + "FAKE" * 20,
    "an OpenAI-style key": "sk-proj-" + "FAKE" * 10,
    "an AWS access key id": "AKIAFAKEFAKEFAKE0000",
    "an AWS secret key": "aws_secret_access_key = FAKEFAKE/FAKE",
    "a GitHub token": "ghp_" + "F" * 36,
    "a GitLab token": "glpat-" + "F" * 20,
    "a Slack token": "xoxb-1234567890-FAKE",
    "a Google API key": "AIza" + "F" * 35,
    "a Stripe key": "sk_live_" + "F" * 24,
    "a Hugging Face token": "hf_" + "F" * 34,
    "an npm token": "npm_" + "F" * 36,
    "a JSON web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJmYWtlIn0.FAKEFAKEFAKE",
    "a private key": "-----BEGIN OPENSSH PRIVATE KEY-----\nFAKEFAKE\n-----END OPENSSH PRIVATE KEY-----",
    "a password in a URL": "https://u:p4ss@host",
    "a named password": "password: hunter2-fake",
}


@pytest.mark.parametrize(("kind", "value"), SECRETS.items())
def test_kind_and_line_are_named_and_never_the_value(kind: str, value: str) -> None:
    (finding,) = secret_findings(f"one\ntwo {value} end\n", "summary", first_line=5)
    assert (finding.kind, finding.level, finding.line) == ("secret", "block", 6)
    assert finding.message.startswith(f"{kind} in summary")
    assert value not in str(finding)
    assert value not in mask(f"a {value} b") and f"[{kind}]" in mask(f"a {value} b")


@pytest.mark.parametrize(
    "text",
    [
        "password: <your password>",
        "password = $PASSWORD, api_key: ${KEY}",
        "API key: {{ key }}",
        "password: ******",
        "The token is kept in OPS.md under its name only.",
        "https://example.org/a:b@c and mailto:ana@example.org",
        "postgres://user:<password>@host",
        "sk-antics and ghp_short and AKIA",
        "task-management-and-other-long-hyphenated-words",
    ],
)
def test_names_and_placeholders_are_no_secrets(text: str) -> None:
    assert secret_findings(text) == ()
    assert mask(text) == text


def test_a_password_of_plain_letters_may_be_prose() -> None:
    (finding,) = secret_findings("password: required")
    assert finding.level == "warn"


def test_the_whole_private_key_is_masked() -> None:
    pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIFAKE\nSECRETBODY\n-----END RSA PRIVATE KEY-----"
    assert "SECRETBODY" not in mask(f"x {pem} y")


@pytest.mark.parametrize(
    "text",
    [
        "password=" * 100_000,
        "a" * 1_000_000,
        "-----BEGIN PRIVATE KEY-----\n" * 40_000,
        "http://a:" * 100_000,
        "eyJ" * 300_000,
        "sk-ant-" * 150_000,
        "AKIAFAKEFAKEFAKE0000\n" * 50_000,
    ],
    ids=lambda text: text[:12].strip(),
)
def test_a_mebibyte_of_anything_takes_no_time(text: str) -> None:
    begun = time.process_time()
    findings = secret_findings(text)
    mask(text)
    assert time.process_time() - begun < 5
    assert len(findings) <= 21
