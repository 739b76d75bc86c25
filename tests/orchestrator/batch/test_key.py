"""What makes two tasks the same."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.orchestrator.batch.key import normal, task_key

SAID: dict[str, Any] = {
    "client": "acme",
    "project": None,
    "agent": "writer",
    "model": "claude-sonnet-5-5",
    "text": "Write on kilns.",
    "target": "research/kilns.md",
    "inputs": {"notes.md": "0" * 64, "a.md": "1" * 64},
    "template": "Write on {name}.",
}


def test_a_key_stays_what_it_is_for_ever() -> None:
    """Commits remember it: with another one, what was done would be done and paid again."""
    assert task_key(**SAID) == "04d156a31656b63c56978325dac47fb4"


@pytest.mark.parametrize(
    "other",
    [
        {"client": None},
        {"project": "acme"},
        {"agent": "researcher"},
        {"model": "offline"},
        {"text": "Write on kilns"},
        {"target": None},
        {"inputs": {"notes.md": "0" * 64}},
        {"inputs": {"notes.md": "1" * 64, "a.md": "0" * 64}},
        {"template": "Write on {what}."},
        {"template": ""},
        {"answer": True},
    ],
)
def test_each_part_counts(other: dict[str, Any]) -> None:
    assert task_key(**{**SAID, **other}) != task_key(**SAID)


def test_what_no_reader_sees_does_not_count() -> None:
    same = {"text": "\nWrite on kilns.  \r\n", "template": "Write on {name}.\n"}
    assert task_key(**{**SAID, **same, "inputs": dict(reversed(SAID["inputs"].items()))}) == task_key(**SAID)
    assert normal("e\u0301\r\n x \t\n") == "\u00e9\n x".strip()


@given(st.text())
def test_a_text_is_made_normal_once(text: str) -> None:
    assert normal(normal(text)) == normal(text)
