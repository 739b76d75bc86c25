"""A workspace that is hit again and again, and what it must be afterwards: as after some commit, to the byte.

The states that are right are made once, by commits that nothing disturbs. After a fault the workspace must be in one of
them: that of the last commit that was acknowledged, or of the one that was under way.
"""

import json
import shutil
from pathlib import Path

from ..memory.view import View
from ..memory.workspace import open_workspace
from . import evidence
from .deeds import begin
from .hands import Ended, Hands


class Ground:
    """A workspace in `folder` at which `hands` work, and its states after each of the changes 1 to `last`.

    It begins anew each time with the changes 1 to `first` in it; a round commits four more, and then one more follows.
    """

    def __init__(self, hands: Hands, folder: Path, first: int = 0) -> None:
        self.hands = hands
        self.root = folder / "ws"
        self.first = first
        self.to = first + 4
        self.last = last = first + 5
        self._base = folder / "base"
        begin(self._base)
        self.states = [evidence.state(self._base)]
        self.again()
        for n in range(1, last + 1):
            ended = hands.order(self.root, to=n)
            assert ended.done and ended.reached == n, ended
            self.states.append(evidence.state(self.root))
            assert evidence.told(self.root, self.states[0]) == []
            assert evidence.keys(self.states[n]) == [f"k{k}" for k in range(1, n + 1)]
        assert len({tuple(sorted(state.items())) for state in self.states}) == last + 1
        assert hands.order(self._base, to=first).done

    def again(self) -> Path:
        """The workspace as it was at the start."""
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self._base, self.root, symlinks=True)
        return self.root

    def judge(self, ended: Ended, root: Path | None = None, *, lost: int = 0, group: int = 1) -> int:
        """Hold every promise against the workspace after a fault; tells how many changes are in it.

        `lost` is how many acknowledged changes a fault may take with it, `group` how many stand or fall together.
        """
        root = root or self.root
        seen = self._seen(root)
        recovered = self.hands.order(root, "open")
        assert recovered.done, f"the next opening fails: {recovered}"
        found = self.state_of(evidence.state(root), "after recovery")
        assert found == seen, f"readers saw {seen} changes, recovery made it {found}"
        reached = max(ended.reached, self.first)
        assert reached - lost <= found <= reached + group, f"{reached} were acknowledged, {found} are there"
        assert (found - self.first) % group == 0 or found == self.last, f"{found} are there, of groups of {group}"
        if "OSError" in ended.kinds and ended.stage == "open":
            assert found == reached, f"said to have failed, and was committed: {ended.message}"
        assert evidence.told(root, self.states[0]) == []
        on = self.hands.order(root, to=self.last)
        assert on.done, f"work doesn't go on: {on}"
        assert self.state_of(evidence.state(root), "at the end") == self.last
        self.whole(root)
        return found

    def whole(self, root: Path) -> None:
        """What the files say by themselves, and `onepen doctor`."""
        assert evidence.told(root, self.states[0]) == []
        assert (root / ".onepen/redo/log").read_bytes() == b""
        doctor = self.hands.order(root, "doctor")
        assert (doctor.code, json.loads(doctor.out)["problems"]) == (0, []), doctor.out

    def state_of(self, now: evidence.State, when: str) -> int:
        """How many changes make this state; fails if none do, and tells in what it differs from each."""
        if now in self.states:
            return self.states.index(now)
        differs = [sorted(path for path in now | state if now.get(path) != state.get(path)) for state in self.states]
        raise AssertionError(f"{when}: as after none of the commits; it differs from them in {differs}")

    def _seen(self, root: Path) -> int:
        """The same, as readers see it who come before the next writer."""
        view = View(open_workspace(root))
        paths = {path for state in self.states for path in state}
        found = {path: data for path in paths if (data := view.bytes(path)) is not None}
        return self.state_of(found, "to readers")
