"""C. A second machine and edits by hand: cloned, changed in an editor, merged both ways; killed before any line."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from onepen.testing.story import Line, Story

ME = (
    "git config --global user.name Ana; git config --global user.email ana@example.org",
    "git config --global init.defaultBranch main; git config --global pull.rebase false",
)
BEGIN = (
    *ME,
    "onepen init ws",
    "mkdir notes; printf 'Fire at 1220, said Ana.\\n' > notes/cones.md",
    "printf '# Kiln\\n\\nOurs.\\n\\n## Firing\\n\\n- cold\\n' | onepen -C ws add project Kiln --id kiln --from -",
    "STORY_D=$(onepen -C ws delegate 'Fire at what?' --input notes --target projects/kiln.md --json "
    "| field tasks.0.drafts.0.id)",
    "onepen -C ws show $STORY_D",
    "STORY_C=$(onepen -C ws approve $STORY_D --json | field commit)",
    "printf -- '- 09:00+00:00 [note] before the clone\\n' > ws/memory/2020-01-01.md",
)
GIT = ("git -C ws init -q", "git -C ws add -A; git -C ws commit -qm begin")

THERE = (
    "git clone -q ws ws2",
    Line("onepen -C ws2 status", says="cards: 1"),
    "test -z \"$(find ws2 -name pen.lock -o -name cache -o -name worker.log -o -name log -path '*redo*')\"",
    "printf '\\n## Glaze\\nCeladon since May.\\n' >> ws2/projects/kiln.md",
    Line("onepen -C ws2 ask 'Which glaze?' | tee answer", says="Celadon since May."),
    "sed -n \"$(grep -o 'projects/kiln.md:[0-9]*' answer | head -1 | cut -d: -f2)p\" ws2/projects/kiln.md"
    " | grep -E '^(## Glaze|Celadon since May.)$'",
    "grep 'kiln.md#glaze' ws2/projects/_index.md | grep 'Celadon since May' | grep '(auto)'",
    Line("onepen -C ws2 why 'Fire at 1220'", says="agent: researcher"),
    Line("onepen -C ws2 why 'Fire at 1220'", says="reviewer: user:"),
    Line("onepen -C ws2 why 'Fire at 1220'", says="sources: inputs/notes/cones.md:1"),
    "onepen -C ws2 why 'Fire at 1220' --json | field commits.0.draft | grep -x $STORY_D",
    "onepen -C ws2 why 'Fire at 1220' --json | field commits.0.id | grep -x $STORY_C",
    "onepen -C ws2 log 'called Ana'",
    "git -C ws2 commit -qam d",
)
HERE = (
    "onepen -C ws log 'called Ben'",
    "printf -- '- 23:59+00:00 [note] still the old day\\n' >> ws/memory/2020-01-01.md",
    "git -C ws add -A; git -C ws commit -qm here",
)
MERGED = (
    "git -C ws2 pull -q --no-rebase",
    "onepen -C ws2 doctor",
    "onepen -C ws2 doctor --json >told",
    "git -C ws pull -q --no-rebase ../ws2 main",
    "onepen -C ws doctor",
    "diff -r --exclude=.git --exclude=.onepen --exclude=chats --exclude='seals-*' ws ws2",
)


def kills(lines: Sequence[object]) -> list[object]:
    """Before each line once; all in the short form, each alone in the long one."""
    return [range(100), *(pytest.param([k], marks=pytest.mark.long) for k in range(1, len(lines)))]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("kill", kills(THERE))
def test_a_second_machine_and_edits_by_hand(tmp_path: Path, kill: Sequence[int]) -> None:
    with Story(tmp_path) as first, Story(tmp_path, workspace="ws2") as second:
        first.tell(*BEGIN, *GIT)
        second.tell(*THERE, kill=kill)
        first.tell(*HERE)
        second.tell(*MERGED, kill=range(100))
        problems = json.loads((tmp_path / "told").read_text())["problems"]
        assert {problem["level"] for problem in problems} <= {"info"}
        assert [problem["path"] for problem in problems if "2020-01-01" in problem["path"]] == ["memory/2020-01-01.md"]
        for workspace in ("ws", "ws2"):
            days = "".join(path.read_text() for path in (tmp_path / workspace / "memory").glob("2*.md"))
            for said in ("called Ana", "called Ben", "before the clone", "still the old day"):
                assert days.count(said) == 1, (workspace, said, days)


# -- with the mirror ---------------------------------------------------------------------------------------------------

MIRROR = (
    *ME,
    "mkdir -p .config/onepen; printf '[git]\\nmirror = true\\n' > .config/onepen/config.toml",
    "onepen init ws",
    *GIT,
    "git clone -q ws ws2; rm -rf notes; mkdir notes; printf 'Fire at 1220, said Ana.\\n' > notes/cones.md",
)
BOTH = (
    "onepen -C ws up; onepen -C ws2 up",
    "printf '# Kiln\\n\\n## Firing\\n\\n- cold\\n' | onepen -C ws add project Kiln --id kiln --from -",
    "onepen -C ws2 add client Acme --id acme",
    "onepen -C ws log 'called Ben'",
    "printf '# Loom\\n\\n## Warp\\n\\n- linen\\n' | onepen -C ws2 add project Loom --id loom --client acme --from -",
    "STORY_D=$(onepen -C ws delegate 'Fire at what?' --input notes --target projects/kiln.md --json "
    "| field tasks.0.drafts.0.id)",
    "onepen -C ws show $STORY_D",
    "onepen -C ws2 log 'called Ana'",
    "onepen -C ws approve $STORY_D",
    'for k in 1 2 3 4 5; do onepen -C ws2 log "line $k"; done',
    "onepen -C ws up; onepen -C ws down; onepen -C ws2 up; onepen -C ws2 down",
    'test -z "$(git -C ws status --porcelain -uno)$(git -C ws2 status --porcelain -uno)"',
)
ROUND = (
    "git -C ws2 pull -q --no-rebase; git -C ws pull -q --no-rebase ../ws2 main",
    "onepen -C ws log 'after the merge'; onepen -C ws2 log 'after it, too'",
    "onepen -C ws up; onepen -C ws down; onepen -C ws2 up; onepen -C ws2 down",
    "git -C ws2 pull -q --no-rebase; git -C ws pull -q --no-rebase ../ws2 main",
    "onepen -C ws doctor && onepen -C ws2 doctor",
    "git -C ws fsck --strict --no-dangling && git -C ws2 fsck --strict --no-dangling",
    'test -z "$(git -C ws status --porcelain -uno)$(git -C ws2 status --porcelain -uno)"',
)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("kill", [(), *kills(BOTH)])
def test_two_clones_with_the_mirror_are_merged_both_ways(tmp_path: Path, kill: Sequence[int]) -> None:
    """Every commit of either machine is in git once, whenever an orchestrator was killed."""
    with Story(tmp_path) as first, Story(tmp_path, workspace="ws2") as second:
        first.tell(*MIRROR)
        for number, line in enumerate(BOTH):
            if number in kill:
                first.kill(), second.kill()
            first.tell(line)
        first.tell(*ROUND)
        for story in (first, second):
            ids = Counter(re.findall(r"^Onepen-Commit: (\S+)$", story.run(LOG.format(story.workspace)).out, re.M))
            told = [
                commit["id"]
                for space in ("", " --client acme")
                for commit in json.loads(story.run(f"onepen -C {story.workspace} history{space} --json").out)["commits"]
            ]
            assert ids == Counter(told) and len(told) >= 13
        if not kill:
            subjects = first.run("git -C ws log --no-merges --format=%s").out.splitlines()
            assert len(subjects) == 1 + len(told), "each is a commit of its own"
        reviewed = first.run("git -C ws log --format='%(trailers)' --grep 'Reviewer: user:'").out
        assert "Agent: researcher\n" in reviewed and "Task: " in reviewed


LOG = "git -C {} log --format=%B"
