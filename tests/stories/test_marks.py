"""Cache marks in a workspace whose layers are all filled; the double refuses a request that has more than four."""

from collections.abc import Container
from pathlib import Path
from typing import Any

import pytest

from onepen.testing.messages_api import MessagesApi
from onepen.testing.messages_api.marks import marks
from onepen.testing.messages_api.seen import Seen
from onepen.testing.story import Line, Story

ROUNDS = 12
BEGIN = (
    "onepen init ws",
    "onepen -C ws add client Acme --id acme",
    "printf '# Kiln\\n\\n## Firing\\n\\n- cold\\n' | onepen -C ws add project Kiln --id kiln --client acme --from -",
    'for f in SOUL USER OPS BRIEF; do echo "Of $f." >> ws/$f.md; done; cd ws/clients/acme; mkdir -p memory; '
    'for f in PERSONA USER OPS BRIEF MEMORY memory/synthesis; do echo "Theirs of $f." >> $f.md; done',
    "onepen -C ws log 'called Ana' --client acme",
)


def looks(rounds: int, last: list[Any] | str) -> list[dict[str, Any]]:
    """Replies of as many rounds, the first one with two calls; no call is made twice."""
    first = [{"tool": "read_card", "input": {"card": "kiln"}}, search(0)]
    rules: list[dict[str, Any]] = [{"turn": 1, "reply": first}]
    rules += [{"turn": k, "reply": [search(k)]} for k in range(2, rounds + 1)]
    return [*rules, {"turn": rounds + 1, "reply": last}]


def search(number: int) -> dict[str, Any]:
    return {"tool": "search_history", "input": {"query": f"kiln {number}"}}


def of_worker(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same for a sub-agent, whose search has another name."""
    names = {"search_history": "search"}

    def named(said: dict[str, Any]) -> dict[str, Any]:
        return {**said, "tool": names.get(said["tool"], said["tool"])} if "tool" in said else said

    return [{**rule, "contains": "Worker", "reply": [named(said) for said in rule["reply"]]} for rule in rules]


def placed(seen: Seen) -> list[str]:
    """Where the marks of a request stand; `system` ones by their block, the last one by "end" if it ends the prompt."""
    messages = seen.body["messages"]
    end = f"messages.{len(messages) - 1}.content.{len(messages[-1]['content']) - 1}.cache_control"
    return ["end" if place == end else place.removesuffix(".cache_control") for place, _ in marks(seen.body)]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("kill", [range(100), pytest.param((), marks=pytest.mark.long)], ids=["killed", "as it is"])
def test_no_request_has_more_than_four_and_they_stand_at_the_ends_of_layers(
    tmp_path: Path, kill: Container[int]
) -> None:
    """Field case 36: a long turn, a card read, a new synthesis, and the same in a worker and its review.

    A kill before a line changes none of the requests.
    """
    draft = {"title": "Heat", "text": "# Heat\n\n## Result\n\nCold.\n"}
    worker = looks(ROUNDS, [{"tool": "write_draft", "input": draft}])
    rules = [
        {"forced": "verdict", "reply": [{"tool": "verdict", "input": {"verdict": "accept", "reason": "x"}}]},
        *of_worker([*worker, {"turn": ROUNDS + 2, "reply": [{"tool": "report", "input": {"summary": "done"}}]}]),
        {"last_contains": "go on", "reply": "I go on."},
        *looks(ROUNDS, "Cold."),
    ]
    with MessagesApi(rules) as api, Story(tmp_path, api.env) as story:
        story.tell(
            *BEGIN,
            Line("onepen -C ws ask 'How is it?' --client acme", says="Cold."),
            "echo 'All else is new.' > ws/clients/acme/memory/synthesis.md",
            Line("echo 'go on' | onepen -C ws chat --resume --client acme", says="I go on."),
            Line("onepen -C ws ask 'How is it now?' --client acme", says="Cold."),
            Line("onepen -C ws delegate 'Worker, look' --agent writer --client acme --model sonnet", says="in_review"),
            "onepen -C ws doctor",
            kill=kill,
        )
        assert [seen.status for seen in api.requests] == [200] * len(api.requests)
        chat = api.asked[: 2 * (ROUNDS + 1) + 1]
        a, i, s = "system.1", "system.2", "system.3"
        assert {tuple(placed(seen)) for seen in chat} == {(a, i, s, "end")}, "the rules are covered by the persona's"
        assert ["All else is new." in seen.body["system"][3]["text"] for seen in chat] == [False] * (ROUNDS + 2) + [
            True
        ] * (ROUNDS + 1), "a chat keeps the layers that it began with"
        others = api.asked[len(chat) :]
        assert len(others) == ROUNDS + 2 + 1, "the worker's, and one of the review"
        for seen in others:
            last_three = range(max(0, len(seen.body["system"]) - 3), len(seen.body["system"]))
            end = [] if "tool_choice" in seen.body else ["end"]  # a review is asked once: nothing reads what it wrote
            assert placed(seen) == [*(f"system.{k}" for k in last_three), *end]
