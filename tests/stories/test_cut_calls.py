"""Calls of tools that are cut at the output limit, or whose input is wrong: nothing is written, the model is told."""

import json
from collections.abc import Container
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.messages_api import MessagesApi
from onepen.testing.messages_api.seen import Seen
from onepen.testing.story import Line, Story, wait_until

FREE = """
[profiles.default.prices."claude-sonnet-5-5"]
input = 0.0
output = 0.0
"""
"""No budget comes first: an input of 3 MiB stays in the chat, and would be dear to send."""

BEGIN = (
    f"mkdir -p .config/onepen; echo '{FREE}' > .config/onepen/config.toml",
    "onepen init ws",
    "onepen -C ws add client Acme --id acme",
    "printf '# Kiln\\n\\n## Firing\\n\\n- cold\\n' | onepen -C ws add project Kiln --id kiln --client acme --from -",
)
INPUT: dict[str, Any] = {
    "project": "kiln",
    "old_text": "- cold\n",
    "new_text": "- cold\n- fire at 1220\n",
    "index_entry": {"section_id": "firing", "summary": "Fire at 1220.", "keywords": ["fire"]},
}
CUT = "Your reply was cut at the output limit"
RESUME = "echo '{}' | onepen -C ws chat --resume --client acme"


def write(**changed: Any) -> dict[str, Any]:
    return {"tool": "write_memory_card", "input": {**INPUT, **changed}}


def cut_at(place: str, call: dict[str, Any] | None = None) -> dict[str, Any]:
    """The call as it arrives when the output ends behind `place`; the reply stops with max_tokens."""
    call = call or write()
    written = json.dumps(call["input"], ensure_ascii=False)
    return {**call, "cut": written.index(place) + len(place)}


IN_A_FIELD = cut_at('"new_te')
AFTER_A_FIELD = cut_at('fire at 1220\\n"')
ALL_BUT_THE_END = cut_at('["fire"]')
WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    (write(index_entry={**INPUT["index_entry"], "keywords": "glaze"}), 'must be a list, such as ["glaze"]'),
    (write(project="loom"), "not found; there are: kiln"),
    ({"tool": "fly", "input": {}}, "there is no tool 'fly'"),
    ({"tool": "write_memory_card", "input": []}, "the input must be an object"),
    (write(new_text="x" * (3 << 20)), "far more than a draft may have"),
)


def results(seen: Seen) -> list[tuple[str, bool]]:
    """What a request tells the model of its latest calls."""
    last = seen.body["messages"][-1]["content"]
    return [(block["content"], block.get("is_error", False)) for block in last if block["type"] == "tool_result"]


def files(story: Story) -> dict[str, bytes]:
    found = (story.workspace / "clients/acme").rglob("*.md")
    return {str(path): path.read_bytes() for path in sorted(found)}


ROOMY = "printf '\\n[limits]\\nchat_tokens = 1000000\\n' >> ws/onepen.toml"
"""A call that is cut at a megabyte makes a chat so long that its synthesis would be renewed, which is another story."""
STEPS = (*((call, CUT) for call in (IN_A_FIELD, AFTER_A_FIELD, ALL_BUT_THE_END)), *WRONG)


@pytest.mark.timeout(240)
def test_nothing_of_a_cut_call_is_written_and_one_that_is_wrong_gets_one_error(tmp_path: Path) -> None:
    """Field case 55, F26: one turn, in which the model is cut and wrong again and again; at last it is right."""
    rules: list[dict[str, Any]] = [{"turn": k, "reply": [call]} for k, (call, _) in enumerate(STEPS, 1)]
    with MessagesApi([*rules, {"reply": "I give up."}]) as api, Story(tmp_path, api.env) as story:
        story.tell(*BEGIN, ROOMY)
        before = files(story)
        story.tell(Line("onepen -C ws ask 'Write' --client acme", says="I give up."))
        told = [result for seen in api.asked[1:] for result in results(seen)]
        assert all(failed and "\n" not in text for text, failed in told)
        assert [(error in text, error) for (text, _), (_, error) in zip(told, STEPS, strict=True)] == [
            (True, error) for _, error in STEPS
        ]
        assert files(story) == before
        api.say([{"last_contains": "changed (commit", "reply": "Written."}, {"reply": [write()]}])
        story.tell(Line(RESUME.format("Once more"), says="Written."), "onepen -C ws doctor", kill=range(9))
        assert "fire at 1220" in (story.workspace / "clients/acme/projects/kiln.md").read_text()
        assert [seen.status for seen in api.requests if seen.status != 200] == []


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("kill", [range(9), ()], ids=["killed", "as it is"])
def test_each_in_a_turn_of_its_own(tmp_path: Path, kill: Container[int]) -> None:
    """The same, message by message; a kill before each changes nothing."""
    with MessagesApi([]) as api, Story(tmp_path, api.env) as story:
        story.tell(*BEGIN, ROOMY)
        before = files(story)
        for number, (call, error) in enumerate(STEPS):
            api.say([{"last_contains": error[-20:], "reply": "I see."}, {"reply": [{"text": "I write."}, call]}])
            ask = RESUME if number else "onepen -C ws ask '{}' --client acme"
            story.tell(Line(ask.format(f"Write {number}"), says="I see."), kill=kill)
            ((told, failed),) = results(api.asked[-1])
            assert failed and error in told
        assert files(story) == before
        story.tell("onepen -C ws doctor")


@pytest.mark.parametrize(
    "call", [AFTER_A_FIELD, pytest.param({"tool": "fly", "input": {}}, marks=pytest.mark.long)], ids=["cut", "no tool"]
)
def test_four_equal_failures_end_a_turn_and_say_so(tmp_path: Path, call: dict[str, Any]) -> None:
    """Field case 55: a model that learns nothing is not asked without end; docs/explanation/chat.md says four."""
    with MessagesApi([{"reply": [call]}]) as api, Story(tmp_path, api.env) as story:
        story.tell(*BEGIN, Line("onepen -C ws ask 'Write' --client acme", code=1, says="the same failed 4 times"))
        assert len(api.asked) == 4
        story.tell("onepen -C ws doctor", kill=range(9))
        commits = story.run("onepen -C ws history --client acme --json").json["commits"]
        assert len(commits) == 2, "the client and the project"


HEAT: dict[str, Any] = {
    "tool": "write_draft",
    "input": {"title": "Heat", "text": "# Heat\n\n## Result\n\nIt is hot.\n"},
}
REPORT = {"tool": "report", "input": {"summary": "done"}}
DELEGATE = "onepen -C ws delegate Heat --agent writer --client acme --model sonnet --json"
VERDICT = {"forced": "verdict", "reply": [{"tool": "verdict", "input": {"verdict": "accept", "reason": "x"}}]}


@pytest.mark.timeout(240)
def test_a_worker_drafts_nothing_of_a_cut_call_and_goes_on(tmp_path: Path) -> None:
    """Field case 55, F26: a draft that is cut in its text, a report that is cut; then both whole."""
    rules: list[dict[str, Any]] = [
        VERDICT,
        {"turn": 1, "reply": [cut_at("It is", HEAT)]},
        {"turn": 2, "reply": [HEAT]},
        {"turn": 3, "reply": [cut_at('"done"', REPORT)]},
        {"turn": 4, "reply": [REPORT]},
    ]
    with MessagesApi(rules) as api, Story(tmp_path, api.env) as story:
        (task,) = story.tell(*BEGIN, DELEGATE, kill=range(9))[-1].json["tasks"]
        assert (task["status"], task["attempts"], len(task["drafts"])) == ("in_review", 1, 1)
        text = (story.workspace / "clients/acme" / task["drafts"][0]["path"].removeprefix("clients/acme/")).read_text()
        assert text.endswith("It is hot.\n")
        told = [json.dumps(seen.body["messages"][-1]) for seen in api.asked if "tool_choice" not in seen.body]
        assert [CUT in one for one in told] == [False, True, False, True]
        story.tell("onepen -C ws doctor", kill=range(9))


@pytest.mark.timeout(240)
def test_a_worker_that_is_always_cut_gives_up_and_its_kill_costs_no_call_twice(tmp_path: Path) -> None:
    """Field case 55 with a kill in the third of four calls: what was answered before is not asked again."""
    call = cut_at("It is", HEAT)
    rules: list[dict[str, Any]] = [{"turn": 3, "times": 1, "delay": 60, "reply": [call]}, {"reply": [call]}]
    with MessagesApi(rules) as api, Story(tmp_path, api.env) as story:
        (begun,) = story.tell(*BEGIN, f"{DELEGATE} --detach")[-1].json["tasks"]
        assert wait_until(lambda: len(api.asked) == 3, 30)
        assert story.kill()
        ran = story.run(f"onepen -C ws resume {begun['task']} --json")
        (task,) = ran.json["tasks"]
        assert (task["status"], task["drafts"], len(api.asked)) == ("failed", [], 5), "the third was asked for twice"
        story.tell("onepen -C ws doctor", kill=range(9))
