from collections.abc import Callable
from pathlib import Path

import pytest

from onepen.testing import evidence
from onepen.testing.deeds import begin
from onepen.testing.hands import Hands


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    begin(tmp_path / "ws")
    with Hands(tmp_path) as hands:
        assert hands.order(tmp_path / "ws", to=5).done
    return tmp_path / "ws"


def add(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as file:
        file.write(text)


HARM: dict[str, Callable[[Path], object]] = {
    "left over": lambda ws: add(ws / "projects/.kiln.md.c9-k3x9ab.tmp", ""),
    "no JSON": lambda ws: add(ws / "logs/commits-2026-11.jsonl", '{"id": '),
    "key k3 stands 2 times": lambda ws: add(ws / "logs/commits-2026-11.jsonl", '{"id":"c99-k3x9ab","key":"k3"}\n'),
    "no beginning": lambda ws: (ws / "memory/2026-11-29.md").write_text("- 10:00+01:00 [note] new\n"),
    "half a line": lambda ws: add(ws / "memory/2026-11-30.md", "- 14:05"),
    "has ['count', 'glaze', 'new']": lambda ws: add(ws / "projects/kiln.md", "\n## New\n"),
    "names find-5.md": lambda ws: (ws / "research/find-5.md").unlink(),
}


def test_it_has_nothing_to_say_of_a_workspace_that_is_whole(workspace: Path) -> None:
    now = evidence.state(workspace)
    assert evidence.told(workspace, now) == []
    assert evidence.keys(now) == ["k1", "k2", "k3", "k4", "k5"]
    assert not [path for path in now if ".onepen" in path]


@pytest.mark.parametrize("told", HARM)
def test_it_tells_what_is_wrong(told: str, workspace: Path) -> None:
    before = evidence.state(workspace)
    HARM[told](workspace)
    assert [line for line in evidence.told(workspace, before) if told in line], evidence.told(workspace, before)
