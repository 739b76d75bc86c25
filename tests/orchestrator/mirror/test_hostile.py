"""T9: a workspace that is a program. Whatever a repository names, the mirror runs none of it.

That each bait works is proven first, by the git commands that a person would type.
"""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from onepen.memory.workspace import open_workspace
from onepen.orchestrator.mirror.following import AtOnce
from onepen.orchestrator.mirror.mirror import Mirror
from onepen.orchestrator.mirror.wanted import Wanted
from onepen.orchestrator.service import Service
from onepen.testing.clock import FixedClock

from .conftest import Repo

HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
    "post-index-change", "post-merge", "post-rewrite", "pre-applypatch", "pre-auto-gc", "pre-commit",
    "pre-merge-commit", "pre-push", "pre-rebase", "prepare-commit-msg", "reference-transaction", "update",
)  # fmt: skip


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """Where everything that was run leaves its name."""
    return tmp_path / "planted"


@pytest.fixture
def bait(repo: Repo, planted: Path) -> Repo:
    """A repository that names a program wherever it can."""
    program = repo.root.parent / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {planted}\ncat\n')
    program.chmod(0o755)
    hooks = repo.root / ".git/hooks"
    for name in HOOKS:
        (hooks / name).write_text(f"#!/bin/sh\necho hook {name} >> {planted}\n")
        (hooks / name).chmod(0o755)
    for key in (
        "core.fsmonitor", "core.editor", "core.pager", "core.sshCommand", "core.askPass", "core.gitProxy",
        "core.alternateRefsCommand", "diff.external", "diff.x.textconv", "diff.x.command", "merge.x.driver",
        "filter.x.clean", "filter.x.smudge", "filter.x.process", "gpg.program", "gpg.ssh.program",
        "gpg.ssh.defaultKeyCommand", "credential.helper", "gc.recentObjectsHook", "uploadpack.packObjectsHook",
        "sequence.editor", "interactive.diffFilter", "trailer.x.command", "trailer.x.cmd",
    ):  # fmt: skip
        repo("config", key, f"{program} {key}")
    for key, value in {
        "core.hooksPath": str(hooks), "commit.gpgSign": "true", "tag.gpgSign": "true", "gpg.format": "openpgp",
        "protocol.allow": "always", "protocol.ext.allow": "always", "core.untrackedCache": "true",
        "core.splitIndex": "true", "core.logAllRefUpdates": "always", "maintenance.auto": "true", "gc.auto": "1",
        "alias.fast-import": f"!{program} alias", "alias.update-ref": f"!{program} alias",
        "alias.rev-parse": f"!{program} alias", "trailer.x.key": "Onepen-Commit", "trailer.x.ifExists": "replace",
    }.items():  # fmt: skip
        repo("config", key, value)
    (repo.root / ".git/info/attributes").write_text("SOUL.md filter=x diff=x merge=x\n")
    return repo


def test_the_bait_is_taken_by_the_person_who_types_git(bait: Repo, planted: Path) -> None:
    (bait.root / "SOUL.md").write_text("Changed.\n")
    env = {**bait.env, "GIT_TERMINAL_PROMPT": "0"}
    for words in (["status"], ["add", "SOUL.md"], ["commit", "-m", "x"], ["update-ref", "refs/x", "HEAD"]):
        subprocess.run(["git", *words], cwd=bait.root, env=env, capture_output=True, stdin=subprocess.DEVNULL)
    told = planted.read_text()
    for name in ("hook reference-transaction", "hook post-index-change", "core.fsmonitor", "filter.x.process"):
        assert name in told, told


def test_nothing_that_a_repository_names_is_run(mirrored: Service, bait: Repo, planted: Path) -> None:
    planted.unlink(missing_ok=True)
    os.utime(bait.root / ".git/index", (1, 1))  # so that whoever writes it looks at every file anew
    notices = mirrored.add_project("Kiln").notices
    mirrored.add_client("Acme")
    notices += mirrored.log("one", client="acme").notices
    assert notices == ()
    assert not planted.exists(), planted.read_text()
    for name in HOOKS:
        (bait.root / ".git/hooks" / name).unlink()
    subjects = subprocess.run(
        ["git", "-C", bait.root, "log", "--format=%s", "--no-show-signature"],
        env=bait.env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert subjects.stdout.splitlines() == [
        "[note] one", "clients/acme: created", "projects/kiln.md: created", "Begin",
    ]  # fmt: skip


def test_what_a_partial_clone_lacks_is_not_fetched(mirrored: Service, repo: Repo, planted: Path) -> None:
    """Fetching a missing object runs whatever the remote's address names."""
    (repo.root / "projects/kiln.md").write_text("# Kiln\n")
    repo("add", "-A")
    repo("commit", "-q", "-m", "Kiln")
    for key, value in {
        "extensions.partialClone": "evil", "remote.evil.promisor": "true", "protocol.allow": "always",
        "protocol.ext.allow": "always", "remote.evil.url": f"ext::sh -c touch% {planted}",
    }.items():  # fmt: skip
        repo("config", key, value)
    tree = repo("rev-parse", "HEAD:projects").strip()
    (repo.root / ".git/objects" / tree[:2] / tree[2:]).unlink()
    subprocess.run(["git", "-C", repo.root, "ls-tree", "HEAD:projects"], env=repo.env, capture_output=True)
    assert planted.exists(), "the bait works"
    planted.unlink()
    assert "git ls-tree failed" in mirrored.add_project("Loom").notices[-1]
    assert not planted.exists()


def test_a_workspace_can_not_switch_the_mirror_on(
    make_service: Callable[..., Service], repo: Repo, tmp_path: Path, clock: FixedClock
) -> None:
    (repo.root / "config.toml").write_text("[git]\nmirror = true\n")
    (repo.root / ".config/onepen").mkdir(parents=True)
    (repo.root / ".config/onepen/config.toml").write_text("[git]\nmirror = true\n")
    config = tmp_path / "config.toml"
    mirror = Mirror(open_workspace(repo.root), clock, repo.env, Wanted("0123456789abcdef", lambda: config))
    service = make_service(witness=lambda: AtOnce(mirror))
    service.log("one")
    assert repo.subjects == ["Begin"] and not (repo.root / ".onepen/mirror.json").exists()
    config.write_text("[git]\nmirror = true\n")
    service.log("two")
    assert repo.subjects == ["Begin", "2 commits of onepen"]
    config.write_text('[git]\nmirror = true\n[git.workspaces]\n"0123456789abcdef" = false\n')
    service.log("three")
    assert len(repo.subjects) == 2 and not (repo.root / ".onepen/mirror.json").exists()
    config.write_text('[git.workspaces]\n"0123456789abcdef" = true\n')
    service.log("four")
    assert len(repo.subjects) == 3


def test_a_config_that_can_not_be_read_is_told_and_hinders_no_commit(
    make_service: Callable[..., Service], repo: Repo, tmp_path: Path, clock: FixedClock
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[git]\nmirror = 7\n")
    mirror = Mirror(open_workspace(repo.root), clock, repo.env, Wanted("0123456789abcdef", lambda: config))
    (notice,) = make_service(witness=lambda: AtOnce(mirror)).log("one").notices
    assert "whether to mirror is not known" in notice and "config.toml" in notice
    assert repo.subjects == ["Begin"]
