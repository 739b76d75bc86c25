"""F14, field case 7: real orchestrators, started together and killed in the middle of a commit."""

import json
import random
import re
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from onepen.testing import evidence
from onepen.testing.messages_api import Asked, MessagesApi
from onepen.testing.program import PROGRAM, Program, orchestrators
from onepen.testing.story import Story, wait_until
from onepen.testing.tally import Tally

EIGHT = 8


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("rounds", [2, pytest.param(100, marks=pytest.mark.long)])
def test_of_eight_that_start_together_one_stays(
    rounds: int, tmp_path: Path, tally: Callable[[str, int], Tally]
) -> None:
    """F14: exactly one holds the pen, the others become its clients or say who does; each round begins with a kill."""
    with Story(tmp_path) as story, tally("crowds of eight", rounds) as crowds:
        story.tell("onepen init ws")
        onepen = Program(tmp_path)
        for number in range(rounds):
            with crowds.point(f"round {number}"):
                children = [
                    subprocess.Popen(
                        [PROGRAM, "-C", "ws", "up", "--json"], cwd=tmp_path, env=onepen.env, text=True,
                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    )
                    for _ in range(EIGHT)
                ]  # fmt: skip
                ended = [(child, *child.communicate(timeout=120)) for child in children]
                assert all(c.returncode == 0 or (c.returncode == 5 and "process" in err) for c, _, err in ended), ended
                told = {json.loads(out)["orchestrator"]["pid"] for c, out, _ in ended if c.returncode == 0}
                assert len(told) == 1
                assert wait_until(lambda told=told: set(orchestrators(tmp_path)) == told)  # type: ignore[misc]
                assert story.orchestrator() in told
                assert story.kill()
        story.tell("onepen -C ws doctor")


BEGIN = (
    "onepen init ws",
    "printf '# Kiln\\n\\n## Firing\\n\\nstands at v0\\n' | onepen -C ws add project Kiln --id kiln --from -",
)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("rounds", [2, pytest.param(50, marks=pytest.mark.long)])
def test_killed_between_card_and_index(rounds: int, tmp_path: Path, tally: Callable[[str, int], Tally]) -> None:
    """Field case 7: a card and its index entry are both old or both new, whenever the orchestrator is killed."""
    seed = random.randrange(1 << 30)
    print("seed", seed)
    moments, asked_for = random.Random(seed), threading.Event()
    card, index = tmp_path / "ws/projects/kiln.md", tmp_path / "ws/projects/_index.md"

    def stands(path: Path, before: str) -> int:
        found = re.search(rf"{before} v(\d+)", path.read_text())
        return int(found[1]) if found else 0

    def writes(asked: Asked) -> Mapping[str, Any] | None:
        if asked.to != "messages":
            return None
        if asked.turn > 1:
            return {"reply": "It is noted."}
        old, new = stands(card, "stands at"), re.findall(r"to v(\d+)", asked.last)[-1]
        asked_for.set()
        edit = {"project": "kiln", "old_text": f"stands at v{old}\n", "new_text": f"stands at v{new}\n"}
        entry = {"section_id": "firing", "summary": f"now v{new}.", "keywords": ["fire"]}
        return {"reply": [{"tool": "write_memory_card", "input": {**edit, "index_entry": entry}}]}

    with MessagesApi([writes]) as api, Story(tmp_path, api.env) as story, tally("random kills", rounds) as kills:
        story.tell(*BEGIN)
        before = evidence.state(tmp_path / "ws")
        onepen = Program(tmp_path)
        for number in range(1, rounds + 1):
            with kills.point(f"round {number}"):
                asked_for.clear()
                story.tell("onepen -C ws up")
                child = subprocess.Popen(
                    [PROGRAM, "-C", "ws", "ask", f"Raise it to v{number}"], cwd=tmp_path, env={**onepen.env, **api.env},
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                )  # fmt: skip
                assert asked_for.wait(30)
                time.sleep(moments.uniform(0, 0.08))  # the moment of the kill is what is random here
                story.kill()
                child.communicate(timeout=60)
                story.kill()
                story.tell("onepen -C ws up", "onepen -C ws doctor")
                story.kill()
                assert evidence.told(tmp_path / "ws", before) == []
                assert stands(card, "stands at") == stands(index, "now")
                before = evidence.state(tmp_path / "ws")
