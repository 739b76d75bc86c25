"""Which cards a draft could be mixed up with, told without a look at all of them."""

import pytest

from onepen.memory.target import parse_target
from onepen.orchestrator.review.shelves import Shelves

PATHS = ("projects/kiln.md", "projects/loom.md", "research/cones.md", "research/Kiln.md")


@pytest.mark.parametrize(
    ("target", "near"),
    [
        ("projects/kiln.md", {"projects/kiln.md"}),
        ("research/kiln.md", {"research/Kiln.md", "projects/kiln.md"}),
        ("projects/cones.md", {"research/cones.md"}),
        ("projects/glaze.md", set()),
        ("projects/loom/loom.csv", set()),
        ("MEMORY.md", set()),
    ],
)
def test_near_is_what_has_its_name_but_for_case_and_its_id_on_the_other_shelf(target: str, near: set[str]) -> None:
    assert Shelves(PATHS).near(parse_target(target)) == near


def test_one_more_is_known() -> None:
    shelves = Shelves(())
    shelves.add("research/kiln.md")
    assert shelves.near(parse_target("projects/kiln.md")) == {"research/kiln.md"}
