"""How many workers an orchestrator has at the same time: what the person says, as far as it goes."""

import subprocess
import sys
from pathlib import Path

import pytest

from onepen.testing.program import Program

LOOK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600))
from pathlib import Path
import anyio
from onepen.orchestrator.compose import build_orchestrator

async def look():
    async with build_orchestrator(Path(sys.argv[1])) as orchestrator:
        print(round(orchestrator.workshop.slots.total_tokens), *orchestrator.notices)

anyio.run(look)
"""


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("", "32"),
        ("[workers]\nat_once = 5\n", "5"),
        (
            "[workers]\nat_once = 500\n",
            "86 86 workers run at the same time: at_once is 500, but this process may not open the files for so many "
            "(ulimit -n)",
        ),
        ("[workers]\nat_once = 0\n", "32"),
    ],
    ids=["nothing said", "fewer", "more than fit", "unreadable"],
)
def test_the_person_says_how_many(tmp_path: Path, config: str, says: str) -> None:
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    place = tmp_path / ".config" / "onepen" / "config.toml"
    place.parent.mkdir(parents=True)
    place.write_text(config)
    said = subprocess.run(
        [sys.executable, "-P", "-c", LOOK, tmp_path / "ws"], env=onepen.env, capture_output=True, text=True, check=True
    )
    assert said.stdout == f"{says}\n"


def test_the_config_is_shown(tmp_path: Path) -> None:
    onepen = Program(tmp_path)
    place = tmp_path / ".config" / "onepen" / "config.toml"
    place.parent.mkdir(parents=True)
    place.write_text("[workers]\nat_once = 5\n")
    assert onepen.json("config", "show")["at_once"] == 5
    assert "workers: 5 at the same time" in onepen.ok("config", "show").out
    place.write_text("[workers]\nat_once = 1001\n")
    assert "workers.at_once" in onepen("config", "show").err
