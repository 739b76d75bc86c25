"""Other names, cards at rest, pruning and clients that leave: typed line by line, and killed between lines."""

import random
from collections.abc import Container
from pathlib import Path

import pytest

from onepen.testing.story import Line, Story

GIT = "git -c user.name=Ana -c user.email=ana@example.org"
LINES = (
    "onepen init ws",
    "onepen -C ws add client 'Acme Ltd' --id acme",
    "printf '# Kiln\\n\\n## Firing\\n\\nSee [log](kiln/log.csv).\\n' "
    "| onepen -C ws add project Kiln --client acme --from -",
    "mkdir ws/clients/acme/projects/kiln; echo a,b > ws/clients/acme/projects/kiln/log.csv",
    "printf '# Roof\\n\\nOver [the kiln](kiln.md).\\n' | onepen -C ws add project Roof --client acme --from -",
    "printf 'Cone 6 was reached at 1222 degrees.\\n' > cones.md",
    "STORY_D=$(onepen -C ws delegate 'At what was cone 6 reached?' --client acme --input cones.md --json "
    "| field tasks.0.drafts.0.id)",
    Line("onepen -C ws rename kiln anagama --client acme", says="  clients/acme/projects/roof.md:10"),
    "grep -q 'anagama/log.csv' ws/clients/acme/projects/anagama.md",
    "test ! -e ws/clients/acme/projects/kiln",
    "onepen -C ws doctor",
    Line("onepen -C ws rename kiln x --client acme", 2, "not in client acme's space"),
    "onepen -C ws archive anagama --client acme",
    Line("onepen -C ws search log --client acme", says="projects/anagama.md"),
    "test $(grep -c 'anagama.md#' ws/clients/acme/projects/_index.md) = 0",
    "onepen -C ws archive anagama --undo --client acme",
    "grep -q 'anagama.md#firing' ws/clients/acme/projects/_index.md",
    "onepen -C ws doctor",
    Line("onepen -C ws prune --staging-older 0d", says="Nothing is to be pruned:"),
    "onepen -C ws show $STORY_D && onepen -C ws approve $STORY_D",
    f"{GIT} -C ws init -q; {GIT} -C ws add -A; {GIT} -C ws commit -qm all; git clone -q ws other",
    Line("onepen -C ws prune --client acme", 3, "onepen prune --client acme --confirm acme"),
    Line("onepen -C ws prune --client acme --yes", 3, "was not removed"),
    Line("onepen -C ws prune --client acme --confirm acmee", 3, "'acmee' is not its id"),
    Line("onepen -C ws prune --client acme --confirm acme", says="Removed client acme"),
    "test ! -e ws/clients/acme && onepen -C ws doctor",
    Line("onepen -C ws status --client acme", 2, "was removed on"),
    # The other clone went on with the client; a merge both ways keeps it removed.
    "onepen -C other log 'she called' --client acme && echo mine > other/clients/acme/projects/mine.txt",
    f"{GIT} -C other add -A; {GIT} -C other commit -qm on; {GIT} -C ws add -A; {GIT} -C ws commit -qm removed",
    f"cd other; {GIT} pull -q --no-rebase; {GIT} add -A; {GIT} commit -qm merged; test -e clients/acme",
    Line("onepen -C other status --client acme", 2, "was removed on"),
    Line("onepen -C other doctor", says="this client was removed on"),
    Line("onepen -C other log 'goes on'", says="the client was removed on"),
    "test ! -e other/clients/acme && onepen -C other doctor",
    f"cd other; {GIT} add -A; {GIT} commit -qm gone; cd ../ws; {GIT} pull -q --no-rebase ../other HEAD",
    "onepen -C ws doctor && test ! -e ws/clients/acme",
)


def told(folder: Path, kill: Container[int]) -> None:
    with Story(folder) as story, Story(folder, workspace="other"):
        story.tell(*LINES, kill=kill)


@pytest.mark.timeout(180)
def test_names_rest_and_a_client_that_leaves(tmp_path: Path) -> None:
    told(tmp_path, ())


@pytest.mark.timeout(180)
def test_the_same_with_the_orchestrator_killed_before_any_line(tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    told(tmp_path, {*random.Random(seed).sample(range(len(LINES)), 8), 7, 24})


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("line", range(7, len(LINES)))
def test_the_same_killed_before_each_line(line: int, tmp_path: Path) -> None:
    told(tmp_path, {line})
