"""Commits of onepen become commits of git; whatever git does, they stand."""

import os
import subprocess
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from onepen.memory.change import Change
from onepen.memory.history import Commit
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace
from onepen.orchestrator.commit import Scribe
from onepen.orchestrator.mirror.following import AtOnce, Behind
from onepen.orchestrator.mirror.mirror import Mirror
from onepen.orchestrator.mirror.standing import read_mirror
from onepen.orchestrator.pens import HeldPen
from onepen.orchestrator.service import Service
from onepen.testing.clock import FixedClock
from onepen.testing.story import wait_until

from .conftest import Repo

MakeService = Callable[..., Service]


def test_a_commit_is_a_commit_of_git_with_its_files_and_nothing_else(mirrored: Service, repo: Repo) -> None:
    (repo.root / "mine.md").write_text("Mine.\n")
    (repo.root / "BRIEF.md").write_text("Changed by hand.\n")
    done = mirrored.add_project("Kiln")
    assert done.notices == ()
    assert repo("log", "-1", "--format=%an <%ae> %at %s%n%(trailers)") == (
        f"Ana <ana@example.org> 1795941000 projects/kiln.md: created\nOnepen-Commit: {done.commit}\n\n"
    )
    assert repo.lines("show", "--format=", "--name-status") == [
        "A\tlogs/commits-2026-11.jsonl", "A\tmemory/2026-11-29.md", "M\tprojects/_index.md", "A\tprojects/kiln.md",
    ]  # fmt: skip
    assert repo.status == [" M BRIEF.md", "?? mine.md"]
    assert repo("show", "HEAD:projects/kiln.md") == (repo.root / "projects/kiln.md").read_text()
    assert repo.lines("reflog", "-1", "--format=%gs") == ["onepen: projects/kiln.md: created"]
    repo("fsck", "--strict")


def test_a_later_change_does_not_show_in_an_earlier_commit(
    make_service: MakeService, make_mirror: Callable[[], Mirror], repo: Repo, clock: FixedClock
) -> None:
    """Git is behind the commits, and their files have moved on by the time that it takes them."""
    mirror = make_mirror()
    held = _Held(mirror)
    with HeldPen.open(View(open_workspace(repo.root)), clock, witness=lambda: held) as pen:
        service = make_service(pens=pen)
        service.add_project("Kiln")
        service.add_project("Loom")
        service.log("called Ana")
        assert repo.subjects == ["Begin"]
        mirror.follow()
    assert repo.subjects[1:] == ["projects/kiln.md: created", "projects/loom.md: created", "[note] called Ana"]
    index = [repo("show", f"HEAD~{k}:projects/_index.md") for k in (2, 1)]
    assert [text.count("## [") for text in index] == [1, 2]
    logs = [repo("show", f"HEAD~{k}:logs/commits-2026-11.jsonl").count("\n") for k in (2, 1, 0)]
    assert logs == [1, 2, 3]
    assert repo.lines("show", "--format=", "--name-only", "HEAD~1") == [
        "logs/commits-2026-11.jsonl", "memory/2026-11-29.md", "projects/_index.md", "projects/loom.md",
    ]  # fmt: skip
    assert repo.status == []


class _Held:
    """A witness that has git follow when a test wants it."""

    def __init__(self, mirror: Mirror) -> None:
        self.saw = mirror.saw
        self.wanted = True

    def news(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        pass


def test_commits_that_shared_a_sync_are_one_commit_of_git(
    make_mirror: Callable[[], Mirror], repo: Repo, clock: FixedClock
) -> None:
    """Each of their files was written once, so how it was between two of them nobody knows."""
    workspace = open_workspace(repo.root)
    with Scribe.open(View(workspace), clock, witness=AtOnce(make_mirror())) as scribe:
        notes = [Change(None, f"note {k}", "user:ana", log=(("note", f"note {k}"),)) for k in range(3)]
        made, _ = scribe.commit_all(notes)
        scribe.log(workspace.house, "note", "alone", "user:ana")
        assert scribe.notices() == ()
    assert repo.subjects == ["Begin", "3 commits of onepen", "[note] alone"] and repo.status == []
    trailers = repo.lines("log", "-1", "--format=%(trailers:key=Onepen-Commit,valueonly)", "HEAD~1")
    assert [line for line in trailers if line] == [commit.id for commit in made if isinstance(commit, Commit)]
    assert "alone" not in repo("show", "HEAD~1:memory/2026-11-29.md")


def test_what_the_person_staged_stays_staged_and_is_not_committed(mirrored: Service, repo: Repo) -> None:
    mirrored.add_project("Kiln")
    (repo.root / "mine.md").write_text("Mine.\n")
    index = repo.root / "projects/_index.md"
    index.write_text(index.read_text() + "\nMine, staged.\n")
    repo("add", "mine.md", "projects/_index.md")
    repo("rm", "-q", "--cached", "SOUL.md")
    staged = repo("ls-files", "-s", "mine.md", "projects/_index.md", "SOUL.md")
    mirrored.add_project("Loom")
    assert repo("ls-files", "-s", "mine.md", "projects/_index.md", "SOUL.md") == staged
    assert repo.subjects[-1] == "projects/loom.md: created"
    assert "mine.md" not in repo.lines("ls-tree", "-r", "--name-only", "HEAD")
    assert "SOUL.md" in repo.lines("ls-tree", "-r", "--name-only", "HEAD")
    assert sorted(repo.status) == ["?? SOUL.md", "A  mine.md", "D  SOUL.md", "MM projects/_index.md"]
    repo("commit", "-q", "-m", "Mine")
    assert repo("show", "HEAD:mine.md") == "Mine.\n"


def test_a_card_that_the_person_staged_for_removal_is_left_so(mirrored: Service, repo: Repo) -> None:
    mirrored.log("one")
    repo("rm", "-q", "--cached", "memory/2026-11-29.md")
    mirrored.log("two")
    assert repo.status == ["D  memory/2026-11-29.md", "?? memory/2026-11-29.md"]
    assert "two" in repo("show", "HEAD:memory/2026-11-29.md")


def test_a_change_that_git_sees_only_by_comparing_is_still_seen(mirrored: Service, repo: Repo) -> None:
    """Staged and changed again within one second: git tells that by the time of its index."""
    mine, index = repo.root / "mine.md", repo.root / ".git/index"
    for change in (None, "branch moved"):
        mine.write_text("one\n")
        os.utime(mine, (1_700_000_000, 1_700_000_000))
        repo("add", "mine.md")
        os.utime(index, (1_700_000_000, 1_700_000_000))
        mine.write_text("two\n")
        os.utime(mine, (1_700_000_000, 1_700_000_000))
        if change is not None:
            branch_locked(repo)
        assert len(mirrored.add_project(f"Kiln {change}").notices) == (change is not None)
        assert "AM mine.md" in repo.status


def test_what_git_missed_is_caught_up_with_as_one(make_service: MakeService, mirrored: Service, repo: Repo) -> None:
    unmirrored = make_service()
    unmirrored.add_project("Kiln")
    unmirrored.log("one")
    done = mirrored.log("two")
    assert repo.subjects[1:] == ["3 commits of onepen"]
    trailers = repo.lines("log", "-1", "--format=%(trailers:key=Onepen-Commit,valueonly)")
    assert [line.partition("-")[0] for line in trailers if line] == ["c1", "c2", "c3"]
    assert done.notices == () and repo.status == []
    mirrored.log("three")
    assert repo.subjects[2:] == ["[note] three"]


def test_what_the_person_committed_is_not_mirrored_again(
    make_service: MakeService, mirrored: Service, repo: Repo
) -> None:
    make_service().add_project("Kiln")
    repo("add", "-A")
    repo("commit", "-q", "-m", "By hand")
    mirrored.log("two")
    assert repo.subjects == ["Begin", "By hand", "[note] two"]


def test_a_client_and_its_logs_are_mirrored(mirrored: Service, repo: Repo) -> None:
    mirrored.add_client("Acme")
    mirrored.log("called", client="acme")
    assert repo.subjects[1:] == ["clients/acme: created", "[note] called"]
    assert repo.status == []
    assert repo.lines("show", "--format=", "--name-only") == [
        "clients/acme/logs/commits-2026-11.jsonl", "clients/acme/memory/2026-11-29.md",
    ]  # fmt: skip


class Meanwhile(FixedClock):
    """Asked for the time between the look and the lock; the first time, the person commits."""

    repo: Repo | None = None

    def now(self) -> datetime:
        if self.repo is not None:
            self.repo("commit", "-q", "--allow-empty", "-m", "Meanwhile")
            self.repo = None
        return super().now()


def test_a_branch_that_moves_meanwhile_is_followed(make_service: MakeService, repo: Repo) -> None:
    clock = Meanwhile("2026-11-29T09:30:00+01:00")
    mirror = Mirror(open_workspace(repo.root), clock, repo.env, lambda: True)
    clock.repo = repo
    assert make_service(witness=lambda: AtOnce(mirror)).log("one").notices == ()
    assert repo.subjects == ["Begin", "Meanwhile", "[note] one"] and repo.status == []


def test_who_git_does_not_know_is_onepen(mirrored: Service, repo: Repo, env: dict[str, str]) -> None:
    Path(env["HOME"], ".gitconfig").unlink()
    mirrored.log("one")
    assert repo("log", "-1", "--format=%an <%ae>") == "onepen <onepen@localhost>\n"


def test_a_file_mode_that_git_has_is_kept(mirrored: Service, repo: Repo) -> None:
    mirrored.add_project("Kiln")
    (repo.root / "projects/_index.md").chmod(0o755)
    repo("commit", "-q", "-am", "Mode")
    mirrored.add_project("Loom")
    assert repo("ls-tree", "HEAD", "projects/_index.md").startswith("100755") and repo.status == []


def test_a_card_behind_a_link_is_mirrored_where_it_lies(mirrored: Service, repo: Repo) -> None:
    (repo.root / "real").mkdir()
    (repo.root / "projects/kiln.md").symlink_to("../real/kiln.md")
    (repo.root / "real/kiln.md").write_text("# Kiln\n\n## Firing\n\n- cold\n")
    repo("add", "-A")
    repo("commit", "-q", "-m", "Linked")
    mirrored.log("one")
    assert repo("ls-tree", "HEAD", "projects/kiln.md").startswith("120000") and repo.status == []


# -- what stays out ----------------------------------------------------------------------------------------------------


def test_what_gitignore_leaves_out_stays_out(mirrored: Service, repo: Repo) -> None:
    with (repo.root / ".gitignore").open("a") as f:
        f.write("/clients/\n/memory/\n")
    repo("commit", "-q", "-am", "Private")
    mirrored.add_client("Acme")
    assert mirrored.log("private", client="acme").notices == ()
    mirrored.log("also private")
    mirrored.add_project("Kiln")
    assert not [path for path in repo.lines("ls-tree", "-r", "--name-only", "HEAD") if path.startswith("clients/")]
    assert not [path for path in repo.lines("ls-tree", "-r", "--name-only", "HEAD") if path.startswith("memory/")]
    assert repo.subjects[2:] == ["[note] also private", "projects/kiln.md: created"]
    assert repo.status == []


def test_a_file_that_passes_a_filter_is_left_to_the_person(mirrored: Service, repo: Repo) -> None:
    """Its content would be in git as nobody wanted it there: with git-crypt, in the clear."""
    with (repo.root / ".gitattributes").open("a") as f:
        f.write("projects/*.md filter=crypt\n")
    repo("commit", "-q", "-am", "Crypt")
    (notice,) = mirrored.add_project("Kiln").notices
    assert "projects/_index.md and 1 more: a filter of git is set for it" in notice
    assert repo.lines("show", "--format=", "--name-only") == ["logs/commits-2026-11.jsonl", "memory/2026-11-29.md"]


def test_a_client_that_is_a_repository_of_its_own_is_left_alone(mirrored: Service, repo: Repo) -> None:
    mirrored.add_client("Acme")
    acme = Repo(repo.root / "clients/acme", repo.env)
    acme("init", "-q")
    before = repo("rev-parse", "HEAD")
    mirrored.log("private", client="acme")
    assert repo("rev-parse", "HEAD") == before


# -- when git can't follow ---------------------------------------------------------------------------------------------

Hinder = Callable[[Repo], object]
PARTS = {
    "AUTO_MERGE", "COMMIT_EDITMSG", "HEAD", "MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "ORIG_HEAD", "REBASE_HEAD",
    "branches", "commondir", "config", "description", "hooks", "index", "index.lock", "info", "logs", "objects",
    "rebase-merge", "refs",
}  # fmt: skip


def detach(repo: Repo) -> None:
    repo("checkout", "-q", "--detach")


def merge(repo: Repo) -> None:
    repo("switch", "-q", "-c", "other")
    (repo.root / "SOUL.md").write_text("Theirs.\n")
    repo("commit", "-q", "-am", "Theirs")
    repo("switch", "-q", "main")
    (repo.root / "SOUL.md").write_text("Ours.\n")
    repo("commit", "-q", "-am", "Ours")
    repo("merge", "-q", "other", code=1)


def rebase(repo: Repo) -> None:
    merge(repo)
    repo("merge", "--abort")
    repo("rebase", "-q", "other", code=1)


def bare(repo: Repo) -> None:
    repo("config", "core.bare", "true")


def elsewhere(repo: Repo) -> None:
    repo("config", "core.worktree", str(repo.root.parent))


def gone(repo: Repo) -> None:
    (repo.root / ".git").rename(repo.root.parent / "away")


def linked(repo: Repo) -> None:
    gone(repo)
    (repo.root / ".git").symlink_to("../away")


def named(repo: Repo) -> None:
    gone(repo)
    (repo.root / ".git").write_text("gitdir: ../away\n")


def other_refs(repo: Repo) -> None:
    (repo.root / ".git/refs").rename(repo.root.parent / "refs")
    (repo.root / ".git/refs").symlink_to("../../refs")


def other_log(repo: Repo) -> None:
    """git adds a line to the file that this names, whatever it is."""
    (repo.root.parent / "profile").write_text("")
    (repo.root / ".git/logs/HEAD").unlink()
    (repo.root / ".git/logs/HEAD").symlink_to("../../../profile")


def common(repo: Repo) -> None:
    subprocess.run(["git", "init", "-q", repo.root.parent / "victim"], env=repo.env, check=True)
    (repo.root / ".git/commondir").write_text(str(repo.root.parent / "victim/.git"))


def broken(repo: Repo) -> None:
    (repo.root / ".git/HEAD").write_text("no head\n")


def unborn(repo: Repo) -> None:
    repo("checkout", "-q", "--orphan", "fresh")


def locked(repo: Repo) -> None:
    (repo.root / ".git/index.lock").touch()


def unwritable(repo: Repo) -> None:
    """git can't write an object."""
    (repo.root / ".git/objects/pack").rmdir()
    (repo.root / ".git/objects/pack").touch()


def branch_locked(repo: Repo) -> None:
    (repo.root / ".git/refs/heads/main.lock").touch()


@pytest.mark.parametrize(
    ("hinder", "says"),
    [
        (detach, "HEAD is on no branch (detached)"),
        (merge, "a merge is under way"),
        (rebase, "a rebase is under way"),
        (bare, "it is a bare repository"),
        (elsewhere, "its files lie in "),
        (gone, "no git repository of its own"),
        (linked, ".git leads to ../away"),
        (named, "it is a submodule, or its .git names"),
        (other_refs, ".git/refs leads to"),
        (other_log, ".git/logs/HEAD leads to"),
        (common, ".git/commondir leads to"),
        (broken, "git rev-parse failed: not a git repository"),
        (unborn, "the repository has no commit yet"),
        (locked, "git is busy (index.lock is there"),
        (unwritable, "git fast-import failed"),
        (branch_locked, "git update-ref failed"),
    ],
)  # fmt: skip
def test_whatever_is_the_matter_with_git_is_told_once_and_the_commit_stands(
    mirrored: Service, repo: Repo, hinder: Hinder, says: str
) -> None:
    hinder(repo)
    index = repo.root / ".git/index"
    staged = index.read_bytes() if index.exists() else b""
    around = {path: path.stat().st_mtime_ns for path in repo.root.parent.rglob("*") if repo.root not in path.parents}
    first = mirrored.add_project("Kiln")
    assert first.commit is not None and (repo.root / "projects/kiln.md").exists()
    (notice,) = first.notices
    assert notice.startswith(f"git: {says}") or says in notice, notice
    assert "onepen's commits stand, and git takes them later" in notice
    assert mirrored.log("again").notices == (), "told once"
    standing = read_mirror(repo.root)
    assert standing is not None and standing.problem is not None and says in standing.problem
    after = {path: path.stat().st_mtime_ns for path in repo.root.parent.rglob("*") if repo.root not in path.parents}
    around.pop(repo.root), after.pop(repo.root)
    assert after == around, "nothing outside the workspace was written"
    assert (index.read_bytes() if index.exists() else b"") == staged, "the index is as the person left it"
    if (repo.root / ".git").is_dir():
        assert {path.name for path in (repo.root / ".git").iterdir()} <= PARTS, "no lock and no report is left there"


def test_once_it_can_git_catches_up_and_says_so(mirrored: Service, repo: Repo) -> None:
    detach(repo)
    mirrored.add_project("Kiln")
    mirrored.log("one")
    repo("switch", "-q", "main")
    assert mirrored.log("two").notices == ("git has caught up",)
    assert repo.subjects == ["Begin", "3 commits of onepen"]
    standing = read_mirror(repo.root)
    assert standing is not None and standing.problem is None


def test_another_users_repository_is_left_alone(mirrored: Service, repo: Repo) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(repo.root / ".git", 12345, 12345)
    (notice,) = mirrored.log("one").notices
    assert "belongs to another user" in notice and "safe.directory" in notice


def test_without_git_memory_works_on(make_service: MakeService, repo: Repo, clock: FixedClock) -> None:
    mirror = Mirror(open_workspace(repo.root), clock, {"PATH": "/nowhere:bin"}, lambda: True)
    (notice,) = make_service(witness=lambda: AtOnce(mirror)).log("one").notices
    assert "no git program was found" in notice


def test_a_repository_above_is_not_used(mirrored: Service, root: Path, repo: Repo) -> None:
    gone(repo)
    above = Repo(root.parent, repo.env)
    above("init", "-q")
    above("commit", "-q", "--allow-empty", "-m", "Begin")
    (notice,) = mirrored.log("one").notices
    assert "no git repository of its own" in notice and above.subjects == ["Begin"]


def test_a_linked_worktree_is_mirrored(
    make_service: MakeService, repo: Repo, clock: FixedClock, tmp_path: Path
) -> None:
    tree = Repo(tmp_path / "tree", repo.env)
    repo("worktree", "add", "-q", str(tree.root), "-b", "tree")
    mirror = Mirror(open_workspace(tree.root), clock, repo.env, lambda: True)
    workspace = open_workspace(tree.root)
    with Scribe.open(View(workspace), clock, witness=AtOnce(mirror)) as scribe:
        scribe.log(workspace.house, "note", "one", "user:ana")
        assert scribe.notices() == ()
    assert tree.subjects == ["Begin", "[note] one"] and tree.status == []
    assert repo.subjects == ["Begin"]


# -- locks -------------------------------------------------------------------------------------------------------------


def test_a_stale_lock_is_removed_and_said(mirrored: Service, repo: Repo) -> None:
    lock = repo.root / ".git/index.lock"
    lock.touch()
    os.utime(lock, (time.time() - 700, time.time() - 700))
    (notice,) = mirrored.log("one").notices
    assert "a stale index.lock was removed: it was 12 minutes old" in notice
    assert repo.subjects == ["Begin", "[note] one"] and repo.status == [] and not lock.exists()


def test_an_old_lock_of_a_git_that_lives_is_left(mirrored: Service, repo: Repo) -> None:
    """`git commit` holds it for as long as the person writes a message."""
    (repo.root / "SOUL.md").write_text("Changed.\n")
    editor = repo.root.parent / "editor"
    editor.write_text("#!/bin/sh\nexec sleep 30\n")
    editor.chmod(0o755)
    env = {**repo.env, "GIT_EDITOR": str(editor)}
    with subprocess.Popen(["git", "commit", "-a"], cwd=repo.root, env=env, start_new_session=True) as writing:
        lock = repo.root / ".git/index.lock"
        assert wait_until(lock.exists)
        os.utime(lock, (time.time() - 700, time.time() - 700))
        (notice,) = mirrored.log("one").notices
        assert f"process {writing.pid} (git commit) is at work here" in notice
        assert lock.exists()
        os.killpg(writing.pid, 15)
    assert mirrored.log("two").notices == ("git has caught up",)


def test_a_lock_of_a_mirror_that_was_killed_is_removed_at_once(mirrored: Service, repo: Repo) -> None:
    (repo.root / ".git/index.lock").write_text("onepen: the git mirror is at work\n")
    assert mirrored.log("one").notices == ()
    assert repo.subjects == ["Begin", "[note] one"] and repo.status == []


# -- behind ------------------------------------------------------------------------------------------------------------


def test_an_orchestrator_does_not_wait_for_git(
    make_service: MakeService, make_mirror: Callable[[], Mirror], repo: Repo, clock: FixedClock
) -> None:
    make_service().log("before it was there")
    with HeldPen.open(View(open_workspace(repo.root)), clock, witness=lambda: Behind(make_mirror())) as pen:
        service = make_service(pens=pen)
        assert wait_until(lambda: len(repo.subjects) == 2), "what was missing is caught up with at once"
        for k in range(20):
            service.log(f"line {k}")
    assert repo.subjects == ["Begin", "[note] before it was there", *(f"[note] line {k}" for k in range(20))]
    assert repo.status == []


def test_what_git_could_not_do_behind_is_told_with_the_next_answer(
    make_service: MakeService, make_mirror: Callable[[], Mirror], repo: Repo, clock: FixedClock
) -> None:
    detach(repo)
    with HeldPen.open(View(open_workspace(repo.root)), clock, witness=lambda: Behind(make_mirror())) as pen:
        service = make_service(pens=pen)
        told: list[str] = []

        def hears() -> bool:
            told.extend(service.log("one").notices)
            return bool(told)

        assert wait_until(hears)
        hears()
    assert len(told) == 1 and "HEAD is on no branch" in told[0]
