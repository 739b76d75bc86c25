"""Each file that onepen writes for itself is damaged in turn: one word about it, no loop, and memory stays (case 4)."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from onepen.testing.story import Line, Story

DAMAGE = {"glued": b'{"a":1}{"a":2}', "empty": b"", "cut": b'{"a":'}
SPACE = "ws/clients/acme"
TASK = f"{SPACE}/staging/TASK"
MENDED = "could not be read; it was made anew"


@dataclass(frozen=True)
class Damaged:
    """A file; what a chat turn says of it, and what `doctor` says, as a warning or an error."""

    path: str
    told: str = ""
    found: str = ""
    warned: bool = False
    silent: tuple[str, ...] = ()
    """Kinds of damage that leave the file as good as new."""

    @property
    def is_log(self) -> bool:
        return "/logs/" in self.path

    @property
    def code(self) -> int:
        """How `doctor` ends."""
        return 1 if self.found and not self.warned else 0


FILES = (
    Damaged("ws/.onepen/epoch", told=MENDED),
    Damaged("ws/.onepen/machine", told=MENDED),
    Damaged("ws/.onepen/pen.json"),
    Damaged("ws/.onepen/pen.lock"),
    Damaged("ws/.onepen/ballast"),
    Damaged("ws/.onepen/orchestrator.log"),
    Damaged("ws/.onepen/redo/laid"),
    Damaged("ws/.onepen/redo/log", told="was torn and had never been acknowledged", silent=("empty",)),
    Damaged(f"{SPACE}/logs/commits-*.jsonl", found="commits-"),
    Damaged(f"{SPACE}/logs/usage-*.jsonl", found="usage-"),
    Damaged(f"{SPACE}/logs/seals-*.jsonl", found="seals-", warned=True),
    Damaged(f"{SPACE}/chats/*.jsonl", found="chats/", warned=True),
    Damaged(f"{TASK}/run.jsonl", found="run.jsonl"),
    Damaged(f"{TASK}/1/transcript.jsonl", found="transcript.jsonl"),
    Damaged(f"{TASK}/task.md", found="task.md"),
    Damaged(".local/share/onepen/trust.jsonl"),
)
CASES = [(damaged, name) for damaged in FILES for name in DAMAGE]
IDLE = frozenset({"ballast", "orchestrator.log", "laid"})
SHORT = {
    (damaged.path, list(DAMAGE)[n % 3])
    for n, damaged in enumerate(FILES)
    if damaged.path.rpartition("/")[2] not in IDLE
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A workspace in which every such file has something to lose."""
    home = tmp_path_factory.mktemp("damage")
    (home / "n.md").write_text("The new kiln burns at 1220 degrees since November.\n")
    with Story(home) as story:
        story.tell(
            "onepen init ws",
            "onepen -C ws add client Acme --id acme",
            "onepen -C ws add project Kiln --id kiln --client acme",
            "printf -- '- 10:00+01:00 [note] long ago\\n' > ws/clients/acme/memory/2026-01-02.md",
            "onepen -C ws log today --client acme",
            'onepen -C ws delegate "Since when does the new kiln burn?" --input n.md --client acme',
            'onepen -C ws ask "What of the kiln?" --client acme',
            "printf '\\n[wishes]\\ntask_usd = 0.5\\n' >> ws/onepen.toml; onepen -C ws trust --yes",
            "onepen -C ws down",
            "onepen -C ws doctor",
        )
    yield home


@pytest.mark.parametrize(
    ("damaged", "kind"),
    [
        pytest.param(*case, marks=() if (case[0].path, case[1]) in SHORT else pytest.mark.long, id=f"{path}-{case[1]}")
        for case in CASES
        for path in [case[0].path.rpartition("/")[2]]
    ],
)
def test_a_damaged_file_is_told_once_and_nothing_else_is_touched(
    base: Path, tmp_path: Path, damaged: Damaged, kind: str
) -> None:
    shutil.copytree(base, tmp_path, symlinks=True, dirs_exist_ok=True)
    with Story(tmp_path) as story:
        (task,) = (story.home / SPACE / "staging").iterdir()
        (path,) = story.home.glob(damaged.path.replace("TASK", task.name))
        path.write_bytes(DAMAGE[kind])
        memory, files = memory_of(story), set(story.home.rglob("*"))

        emptied = kind == "empty" and damaged.is_log  # the next line that is added hides what was there before
        before = story.run("onepen -C ws doctor") if emptied else None
        first = story.run('onepen -C ws ask "What of the kiln?" --client acme')
        story.kill()
        second = story.run("onepen -C ws log later --client acme")
        found = before or story.run("onepen -C ws doctor")

        assert (first.code, second.code) == (0, 0), (first, second)
        told = [line for line in first.err.splitlines() if path.name in line]
        assert len(told) == (1 if damaged.told and kind not in damaged.silent else 0), first
        assert all(damaged.told in line for line in told)
        assert path.name not in second.err
        assert damaged.found in found.out and found.code == damaged.code, found
        made = {p for p in set(story.home.rglob("*")) - files if "torn" in p.name or "corrupt" in p.name}
        assert len(made) <= 1
        assert all(now.startswith(was) for was, now in both(memory, memory_of(story)))


def test_what_is_lost_makes_the_commands_that_tell_it_fail(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path, symlinks=True, dirs_exist_ok=True)
    with Story(tmp_path) as story:
        for name in ("usage", "commits"):
            story.tell(f"for f in ws/clients/acme/logs/{name}-*.jsonl; do printf '{{\"a\":' > $f; done")
        story.tell(
            Line("onepen -C ws usage --client acme", code=1, says=".jsonl:1: this line can't be read"),
            Line("onepen -C ws history --client acme", code=1, says=".jsonl:1: this line is cut short"),
            Line("onepen -C ws status --client acme", says="usage-"),
            'printf "{" > .local/share/onepen/trust.jsonl',
            Line("onepen -C ws trust --list", says="trust.jsonl: line 1 can't be read"),
            Line("onepen -C ws status", says="allow it again"),
            "onepen -C ws trust --yes",
        )
        chat = next(path.stem for path in (story.home / SPACE / "chats").iterdir())
        (story.home / SPACE / f"chats/{chat}.jsonl").write_text('{"a":1}{"a":2}')
        story.tell(Line(f"echo Hello | onepen -C ws chat --resume {chat} --client acme", code=1, says="can't be read"))


def test_a_task_goes_on_from_what_is_left(base: Path, tmp_path: Path) -> None:
    shutil.copytree(base, tmp_path, symlinks=True, dirs_exist_ok=True)
    with Story(tmp_path) as story:
        story.tell(
            "STORY_T=$(ls ws/clients/acme/staging)",
            'printf \'{"a":1}{"a":2}\' > ws/clients/acme/staging/$STORY_T/run.jsonl',
            Line("onepen -C ws drafts --client acme", says="run.jsonl"),
            Line("onepen -C ws resume $STORY_T", says="rebuilt"),
            "printf '' > ws/clients/acme/staging/$STORY_T/1/transcript.jsonl",
            Line("onepen -C ws show $STORY_T-1", says="provenance: external"),
            "onepen -C ws approve $STORY_T-1",
            kill=range(100),
        )
        logs = (path.read_text() for path in story.home.glob(f"{SPACE}/logs/commits-*"))
        commits = [json.loads(line) for text in logs for line in text.splitlines()]
        assert sum(commit["draft"] is not None for commit in commits) == 1


def memory_of(story: Story) -> dict[str, bytes]:
    return {
        str(path): path.read_bytes()
        for shelf in ("projects", "research", "memory")
        for path in (story.home / SPACE / shelf).rglob("*.md")
    }


def both(before: dict[str, bytes], after: dict[str, bytes]) -> Iterator[tuple[bytes, bytes]]:
    """What each file was and is; a file that is gone is empty."""
    return ((was, after.get(path, b"")) for path, was in before.items())
