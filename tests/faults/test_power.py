"""F4: the power is cut. What the file system held back is gone; what was acknowledged is not.

The workspace lies in a loop-mounted image. A kill at a system call and a copy of the image right then give what a disk
would hold that lost its power there. Where a stranger syncs a file of his own in between, the journal of the file
system comes to the disk with names whose data may not have come yet.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from onepen.testing.ground import Ground
from onepen.testing.hands import Hands, Way
from onepen.testing.mounts import JOURNALS, copy_image, make_image, mounted
from onepen.testing.strace import Fault
from onepen.testing.tally import Tally, spread

WAYS = {"one by one": Way(), "together": Way(group=4), "lazy": Way(lazy="waiting"), "flushed": Way(lazy="flushed")}
LONG = pytest.param(16, marks=[pytest.mark.long, pytest.mark.timeout(900)])


@pytest.mark.parametrize("stranger", [False, True], ids=["", "stranger syncs"])
@pytest.mark.parametrize("journal", JOURNALS)
@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("most", [3, LONG])
def test_a_power_cut(
    most: int,
    name: str,
    journal: str,
    stranger: bool,
    hands: Hands,
    making: Ground,
    images: Path,
    folder: Path,
    tally: Callable[[str, int], Tally],
) -> None:
    """F4: 0 mixed states, 0 acknowledged commits lost; also with `data=writeback`. Lazily, the last second may go."""
    way = WAYS[name]
    lost = {"": 0, "flushed": 1, "waiting": 4}[way.lazy]
    ground = making
    options = (f"data={journal}", "noauto_da_alloc")
    base, image, cut = folder / "base.img", folder / "run.img", folder / "cut.img"
    make_image(base, 24)
    with mounted(base, images / "mnt", *options) as mnt:
        shutil.copytree(ground.again(), mnt / "ws")
        points = hands.points(mnt / "ws", to=ground.to, way=way)
        shutil.rmtree(mnt / "ws")
        shutil.copytree(ground.again(), mnt / "ws")
    with tally("power cuts", min(most - 1, 12)) as cuts:
        changing = [p for p in points if not p.call.startswith("open")]
        for point in (*spread(changing, most - 1), None):  # the last one when all is done
            fault = Fault(point) if point else None
            copy_image(base, image)
            with cuts.point(f"power cut at {point or 'the end'}"):
                with mounted(image, images / "mnt", *options) as mnt:
                    ended = hands.order(mnt / "ws", to=ground.to, fault=fault, way=way)
                    if ended.killed != (fault is not None):
                        cuts.not_reached()
                    if stranger:
                        sync(mnt / "other")
                    copy_image(image, cut)
                with mounted(cut, images / "mnt", *options) as mnt:
                    ground.judge(ended, mnt / "ws", lost=lost, group=way.group)


def sync(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"x")
        file.flush()
        os.fsync(file.fileno())
