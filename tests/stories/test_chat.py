"""Chats that are cut, refused, and full of emoji: what is sent next is always whole."""

import json
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.messages_api import MessagesApi
from onepen.testing.story import Line, Story, wait_until

BEGIN = (
    "onepen init ws",
    "onepen -C ws add client Acme --id acme",
    "printf '# Kiln\\n\\n## Firing\\n\\n- cold\\n' | onepen -C ws add project Kiln --id kiln --client acme --from -",
)
WRITE = {
    "tool": "write_memory_card",
    "input": {
        "project": "kiln",
        "old_text": "- cold\n",
        "new_text": "- fire at 1220\n",
        "index_entry": {"section_id": "firing", "summary": "Fire at 1220.", "keywords": ["fire"]},
    },
}
LOOK = {"tool": "delegate", "input": {"agent": "researcher", "task": "Look into the loom."}}
TOLD = {"last_contains": "interrupted", "reply": "I go on."}
WENT_ON: dict[str, Any] = {"last_contains": "go on", "reply": "I go on."}


@pytest.mark.parametrize("wrote_first", [True, False])
def test_a_call_whose_result_was_never_stored_is_told_what_became_of_it(tmp_path: Path, wrote_first: bool) -> None:
    """Field case 51: killed between the two calls of one reply; the double refuses calls without an answer."""
    calls = [WRITE, LOOK] if wrote_first else [LOOK, WRITE]
    rules = [
        {"turn": 1, "times": 1, "contains": "Note it", "reply": [{"text": "Both."}, *calls]},
        {"system_contains": 'agent id="researcher"', "delay": 30, "reply": "never"},
        WENT_ON,
        TOLD,
        {"contains": "loom", "delay": 30, "reply": "never"},
    ]
    with MessagesApi(rules) as api, Story(tmp_path, api.env) as story:
        story.tell(*BEGIN, "(onepen -C ws ask 'Note it' --client acme >/dev/null 2>&1 &)")
        assert wait_until(lambda: len(api.asked) == 2, 30), "the sub-agent's model was asked"
        assert story.kill()
        resume = "echo 'go on' | onepen -C ws chat --resume --client acme"
        story.tell(Line(resume, says="I go on."), Line(resume, says="I go on."), kill=range(1, 100))
        told = [b for m in api.asked[-1].body["messages"] for b in m["content"] if b["type"] == "tool_result"]
        assert len(told) == 2
        text = json.dumps(told)
        assert "A task goes on with: onepen resume" in text, "the answer names the task that the call had made"
        wrote = "fire at 1220" in (story.workspace / "clients/acme/projects/kiln.md").read_text()
        assert wrote == wrote_first
        story.tell("onepen -C ws doctor")
        commits = (story.workspace / "clients/acme/logs").glob("commits-*")
        assert "".join(path.read_text() for path in commits).count("agent:main") == wrote


REFUSAL: dict[str, Any] = {"stop_reason": "refusal", "stop_details": {"type": "refusal", "explanation": "Not this."}}


@pytest.mark.parametrize("words", ["", pytest.param("I begin, but", marks=pytest.mark.long)])
def test_a_refusal_is_shown_and_paid_once(tmp_path: Path, words: str) -> None:
    """Field case 57, in a chat and for a worker's task."""
    rules = [{**REFUSAL, "reply": [{"text": words}] if words else []}]
    with MessagesApi(rules) as api, Story(tmp_path, api.env) as story:
        story.tell(*BEGIN)
        asked = story.run("onepen -C ws ask 'Do it' --client acme --json")
        assert "refused to answer (Not this.)" in asked.err and (asked.code, len(api.asked)) == (1, 1), asked
        worked = story.run("onepen -C ws delegate 'Do it' --client acme --model sonnet --json")
        (task,) = json.loads(worked.out)["tasks"]
        assert (task["status"], task["drafts"], len(api.asked)) == ("refused", [], 2)
        assert "Not this." in task["reason"]
        story.tell("onepen -C ws doctor", Line("onepen -C ws status --client acme", says="refused"), kill=range(100))


def test_a_refusal_of_the_reviewing_model_is_no_consent(tmp_path: Path) -> None:
    """Field case 57, where consent alone would commit: every line of the draft is a quote."""
    draft = {
        "target": "research/kiln-heat.md",
        "title": "Kiln heat",
        "text": '## Heat\n\n> "The kiln fires at 1220 degrees." (inputs/n.md:1)\n',
        "sources": ["inputs/n.md:1"],
    }
    rules = [
        {"forced": "verdict", "reply": [], **REFUSAL},
        {"turn": 1, "reply": [{"tool": "read_input", "input": {"name": "n.md"}}]},
        {"turn": 2, "reply": [{"tool": "write_draft", "input": draft}]},
        {"turn": 3, "reply": [{"tool": "report", "input": {"summary": "done"}}]},
    ]
    (tmp_path / "n.md").write_text("The kiln fires at 1220 degrees.\n")
    with MessagesApi(rules) as api, Story(tmp_path, api.env) as story:
        story.tell(*BEGIN)
        order = "onepen -C ws delegate Heat --client acme --input n.md --model sonnet --review auto --json"
        (task,) = story.run(order).json["tasks"]
        assert (task["status"], [d["status"] for d in task["drafts"]]) == ("in_review", ["waiting"])
        assert len([seen for seen in api.asked if "tool_choice" in seen.body]) == 1, "a refusal is not asked again"
        story.tell(Line(f"onepen -C ws show {task['task']}-1", says="refus"), "onepen -C ws doctor", kill=range(100))
        assert not (story.workspace / "clients/acme/research/kiln-heat.md").exists()


EMOJI = ("😀", "🇩🇪", "👨‍👩‍👧", "e\u0301")


@pytest.mark.timeout(240)
@pytest.mark.parametrize("shifts", [range(1), pytest.param(range(1, 4), marks=pytest.mark.long)])
def test_text_that_is_cut_anywhere_stays_whole(tmp_path: Path, shifts: range) -> None:
    """Field case 58: cards, day logs, inputs and messages in which such a character lies across any limit."""
    lone = {"tool": "log_event", "input_json": '{"text": "half \\ud83d of it"}'}
    rules: list[dict[str, Any]] = [{"contains": "half", "turn": 1, "times": 1, "reply": [lone]}, {"reply": "Gut 😀."}]
    with MessagesApi(rules) as api, Story(tmp_path, api.env) as story:
        story.tell(*BEGIN)
        for shift in shifts:
            long = "x" * shift + "".join(EMOJI) * 2_000
            (tmp_path / "long.md").write_text(f"# Long {shift}\n\n## {long[:300]}\n\n{long}\n\n- {long[:9000]}\n")
            (tmp_path / "line").write_text(long[:1_000])
            story.tell(
                f"onepen -C ws add project Long{shift} --id long{shift} --client acme --from long.md",
                'onepen -C ws log "$(cat line)" --client acme',
                'onepen -C ws ask "$(cat line)" --client acme',
                "onepen -C ws search Gut --client acme --json > hits.json",
                "onepen -C ws delegate 'What of it?' --client acme --input long.md --model offline",
                "onepen -C ws context --client acme > context",
                "onepen -C ws history --client acme > history",
            )
        story.tell(Line("onepen -C ws ask 'half' --client acme", says="Gut"), "onepen -C ws drafts --client acme")
        assert [seen.status for seen in api.requests if seen.status >= 400] == []
        for seen in api.asked:
            assert "\ud83d" not in seen.raw.decode()
        for path in (p for p in story.home.rglob("*") if p.is_file() and p.name != "ballast"):
            text = path.read_bytes().decode()
            assert "\\ud83d" not in text or path.suffix != ".jsonl" or "\\ude00" in text, path
        story.tell("onepen -C ws doctor")
