from pathlib import Path

import pytest

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
