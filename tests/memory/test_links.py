import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.links import LinkLeadsOut, resolve


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = (tmp_path / "ws").resolve()
    for folder in ("projects", "shared", ".onepen/redo", ".git", "clients/acme/projects", "clients/bolt/projects"):
        (root / folder).mkdir(parents=True)
    (tmp_path / "dot").mkdir()
    return root


def test_plain_paths_are_themselves(root: Path) -> None:
    assert resolve(root, "projects/kiln.md") == root / "projects" / "kiln.md"
    assert resolve(root, "clients/acme/nothing/yet.md") == root / "clients/acme/nothing/yet.md"


NAMES = ("kiln.md", "deep", "up", "away", "closed", ".git", ".Onepen", "..", ".", "")
PARTS = st.lists(st.sampled_from(NAMES), min_size=1)


@given(PARTS)
def test_what_is_told_at_a_glance_is_what_following_every_link_says(parts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "ws"
        for made in ("deep/deep", ".git"):
            (root / made).mkdir(parents=True)
        (root / "deep" / "kiln.md").write_text("text\n")
        for place in (root, root / "deep"):
            (place / "up").symlink_to(root / "deep")
            (place / "away").symlink_to(folder)
            (place / "closed").symlink_to(root / ".git")
        path = "/".join(parts)
        real = Path(os.path.realpath(f"{root}/{path}"))
        if not real.is_relative_to(root) or real == root or real.relative_to(root).parts[0] == ".git":
            with pytest.raises(LinkLeadsOut):
                resolve(root, path)
        elif not {".git", ".onepen"} & {part.casefold() for part in real.relative_to(root).parts}:
            assert resolve(root, path) == real


def test_a_link_inside_leads_to_the_real_file(root: Path) -> None:
    (root / "projects" / "kiln.md").symlink_to("../shared/kiln.md")
    (root / "clients" / "acme" / "BRIEF.md").symlink_to("../../BRIEF.md")
    (root / "research").symlink_to("shared")
    assert resolve(root, "projects/kiln.md") == root / "shared" / "kiln.md"
    assert resolve(root, "clients/acme/BRIEF.md") == root / "BRIEF.md"
    assert resolve(root, "research/cones.md") == root / "shared" / "cones.md"


@pytest.mark.parametrize(
    ("link", "target", "path", "reason"),
    [
        ("SOUL.md", "../dot/SOUL.md", "SOUL.md", "outside the workspace"),
        ("research", "/tmp", "research/kiln.md", "outside the workspace"),
        ("x", "..", "x/dot/SOUL.md", "outside the workspace"),
        ("projects/kiln.md", "../.onepen/redo/log", "projects/kiln.md", "no part of memory"),
        ("research", ".git", "research/config.md", "no part of memory"),
        ("clients/acme/research", "../bolt/projects", "clients/acme/research/kiln.md", "another client's"),
    ],
)
def test_a_link_that_leads_away_is_refused(root: Path, link: str, target: str, path: str, reason: str) -> None:
    (root / link).symlink_to(target)
    with pytest.raises(LinkLeadsOut, match=reason) as caught:
        resolve(root, path)
    assert caught.value.exit_code == 2
    assert path in caught.value.message


@pytest.mark.parametrize(
    "path", [".git/config", ".onepen/redo/log", ".GIT/hooks/pre-commit", "projects/kiln/.git/config"]
)
def test_closed_folders_are_closed_to_plain_paths_too(root: Path, path: str) -> None:
    with pytest.raises(LinkLeadsOut, match="this is a path which is no part of memory"):
        resolve(root, path)
