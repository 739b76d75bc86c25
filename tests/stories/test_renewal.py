"""The synthesis is renewed after an answer, while nobody waits, and the next message of a chat goes on from it."""

from pathlib import Path

import pytest

from onepen.testing.messages_api import MessagesApi
from onepen.testing.story import Line, Story

WRITTEN = "The kiln is cold.\n\n## Log\n- The kiln was looked at."
REPORT = {"tool": "report", "input": {"summary": "Done.", "answer": WRITTEN}}
RULES: list[dict[str, object]] = [
    {"contains": "Renew the synthesis", "reply": [REPORT]},
    {"system_contains": "The kiln is cold.", "reply": "It is cold."},
    {"reply": "I don't know."},
]
BEGIN = ("onepen init ws", "printf '\\n[limits]\\nsynthesis_exchanges = 2\\n' >> ws/onepen.toml")
WAIT = "for k in $(seq 300); do test -s ws/memory/synthesis.md && break; sleep 0.1; done; cat ws/memory/synthesis.md"


@pytest.mark.timeout(120)
def test_in_the_background_it_is_renewed_behind_the_answer(tmp_path: Path) -> None:
    with MessagesApi(RULES) as api, Story(tmp_path, api.env) as story:
        story.tell(
            *BEGIN,
            Line("onepen -C ws ask 'How is it?'", says="I don't know."),
            Line("echo 'And now?' | onepen -C ws chat --resume", says="I don't know."),
            Line(WAIT, says="The kiln is cold."),
            Line("echo 'And now?' | onepen -C ws chat --resume 2>&1", says="It is cold."),
            Line('grep -c \'"kind": "renewed"\' ws/chats/*.jsonl', says="1"),
            Line("cat ws/memory/2*.md", says="[event] The kiln was looked at."),
            Line("onepen -C ws why 'The kiln is cold'", says="synthesis"),
            Line("cat ws/logs/usage-*.jsonl", says='"agent": "synthesizer"'),
            "onepen -C ws doctor",
        )
    asked = [seen.body for seen in api.requests if seen.raw and "How is it?" in str(seen.body["messages"][0])]
    one, two, three = (body for body in asked if body["messages"][-1]["role"] == "user")
    assert one["system"][:3] == two["system"][:3] and two["system"] != three["system"]


@pytest.mark.timeout(120)
def test_in_the_foreground_it_is_renewed_before_the_command_ends(tmp_path: Path) -> None:
    with MessagesApi(RULES) as api, Story(tmp_path, api.env) as story:
        story.tell(
            *BEGIN,
            Line("onepen -C ws ask 'How is it?' --foreground", says="I don't know."),
            Line("onepen -C ws ask 'And now?' --foreground 2>&1", says="the synthesis was renewed (2 exchanges)"),
            Line("cat ws/memory/synthesis.md", says="The kiln is cold."),
        )


@pytest.mark.timeout(120)
def test_a_message_meanwhile_does_not_wait_and_a_kill_meanwhile_leaves_the_old_state(tmp_path: Path) -> None:
    slow: dict[str, object] = {"contains": "Renew the synthesis", "times": 1, "delay": 60, "reply": [REPORT]}
    with MessagesApi([slow, *RULES]) as api, Story(tmp_path, api.env) as story:
        story.tell(
            *BEGIN,
            Line("onepen -C ws ask 'How is it?'", says="I don't know."),
            Line("echo 'And now?' | onepen -C ws chat --resume", says="I don't know."),
            Line("echo 'And now?' | onepen -C ws chat --resume", says="I don't know."),
        )
        assert story.kill()
        story.tell(
            "! test -e ws/memory/synthesis.md",
            Line("echo 'And now?' | onepen -C ws chat --resume", says="I don't know."),
            Line(WAIT, says="The kiln is cold."),
            Line("grep -l 'agent: synthesizer' ws/staging/*/task.md | wc -l", says="1"),
            Line("echo 'And now?' | onepen -C ws chat --resume 2>&1", says="It is cold."),
            Line("onepen -C ws history", says="memory/synthesis.md: renewed after 4 exchanges"),
            Line("onepen -C ws status | grep -c interrupted || true", says="0"),
            "onepen -C ws doctor",
        )
