"""A workspace under git, as its person has it, and a service that mirrors."""

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from onepen.memory.workspace import open_workspace
from onepen.orchestrator.mirror.following import AtOnce
from onepen.orchestrator.mirror.mirror import Mirror
from onepen.orchestrator.service import Service
from onepen.testing.clock import FixedClock


@dataclass(frozen=True)
class Repo:
    """What the person does with git in a folder, with their own identity and no config but the repository's."""

    root: Path
    env: Mapping[str, str]

    def __call__(self, *args: str, code: int = 0) -> str:
        done = subprocess.run(["git", "-C", self.root, *args], env=self.env, capture_output=True, text=True)
        assert done.returncode == code, (args, done)
        return done.stdout

    def lines(self, *args: str) -> list[str]:
        return self(*args).splitlines()

    @property
    def subjects(self) -> list[str]:
        """The subjects of all commits, oldest first."""
        return self.lines("log", "--reverse", "--format=%s")

    @property
    def status(self) -> list[str]:
        return self.lines("status", "--porcelain", "--untracked-files=all")


@pytest.fixture
def env(tmp_path: Path) -> Mapping[str, str]:
    home = tmp_path / "git-home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\nname = Ana\nemail = ana@example.org\n[init]\ndefaultBranch = main\n")
    return {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}


@pytest.fixture
def repo(root: Path, env: Mapping[str, str]) -> Repo:
    """The workspace under git, everything committed."""
    repo = Repo(root, env)
    repo("init", "-q")
    repo("add", "-A")
    repo("commit", "-q", "-m", "Begin")
    return repo


@pytest.fixture
def make_mirror(root: Path, env: Mapping[str, str], clock: FixedClock) -> Callable[[], Mirror]:
    return lambda: Mirror(open_workspace(root), clock, env, lambda: True)


@pytest.fixture
def mirrored(make_service: Callable[..., Service], make_mirror: Callable[[], Mirror]) -> Service:
    """A service that takes the pen for each piece of work, and has git follow before it answers."""
    return make_service(witness=lambda: AtOnce(make_mirror()))
