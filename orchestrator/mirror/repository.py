"""Looks at the workspace's repository: may the mirror write to it now, and where does it stand?

What is written to has to be the workspace's own. A repository can lie elsewhere in many ways (`.git` a link or a file,
a common folder or a work tree that its config names, a link in place of `refs`), and each would let an archive from
elsewhere have another repository of the person's written to, or lines added to any file of theirs.
"""

import stat
from dataclasses import dataclass
from pathlib import Path

from .errors import (
    ForeignOwner,
    GitRefused,
    LeadsElsewhere,
    NoBranch,
    NoCommitYet,
    NoRepository,
    NotMirrored,
    NoWorkTree,
    Underway,
)
from .git import Answer, Git

_UNDERWAY = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase or git am",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or revert",
    "BISECT_LOG": "a bisect",
}
_PARTS = ("HEAD", "config", "index", "objects", "refs", "packed-refs", "logs")
_ASKED = (
    "--is-bare-repository", "--absolute-git-dir", "--git-common-dir", "--show-object-format", "--show-toplevel",
    "HEAD", "--symbolic-full-name", "HEAD",
)  # fmt: skip


@dataclass(frozen=True)
class Repository:
    """A repository that may be written to: its own folder, the branch that is checked out, and the commit there.

    `hashes` names how objects are named: "sha1" or "sha256".
    """

    folder: Path
    branch: str
    head: str
    hashes: str

    @property
    def index(self) -> Path:
        return self.folder / "index"

    @property
    def lock(self) -> Path:
        """The file by which git processes keep each other from the index."""
        return self.folder / "index.lock"

    @property
    def nothing(self) -> str:
        """The name that stands for no object."""
        return "0" * len(self.head)


def inspect(git: Git) -> Repository:
    """The repository as it is now; raises NotMirrored of one kind or another."""
    root = git.root
    dot = root / ".git"
    try:
        kind = dot.lstat().st_mode
    except FileNotFoundError:
        raise NoRepository from None
    if stat.S_ISLNK(kind):
        raise LeadsElsewhere(".git", str(dot.readlink()))
    asked = git.ask("rev-parse", *_ASKED)
    told = asked.lines()
    if told[:1] == ["true"]:
        raise NoWorkTree("it is a bare repository")
    if asked.code and len(told) < 5:
        raise _unread(asked, root)
    folder, common, hashes, top = Path(told[1]), root / told[2], told[3], told[4]
    if Path(top) != root:
        raise NoWorkTree(f"its files lie in {top}")
    _check_own(root, folder, common, is_folder=stat.S_ISDIR(kind))
    for name, what in _UNDERWAY.items():
        if (folder / name).exists():
            raise Underway(what)
    if asked.code:
        raise NoCommitYet
    head, branch = told[5:7]
    if not branch.startswith("refs/heads/"):
        raise NoBranch
    _check_links(common, (*_PARTS, *_with_parents(branch), *_with_parents(f"logs/{branch}")))
    _check_links(folder, (*_PARTS, "logs/HEAD"))
    return Repository(folder, branch, head, hashes)


def _check_own(root: Path, folder: Path, common: Path, *, is_folder: bool) -> None:
    """That the repository is the workspace's own, or a worktree that its repository knows of."""
    if is_folder:
        if folder != root / ".git":
            raise LeadsElsewhere(".git", str(folder))
        if not common.is_dir() or not common.samefile(folder):
            raise LeadsElsewhere(".git/commondir", str(common))
        return
    try:
        known = Path((folder / "gitdir").read_text().strip()) == root / ".git"
    except (OSError, ValueError):
        known = False
    if not known or not (common / "worktrees").is_dir() or not folder.parent.samefile(common / "worktrees"):
        raise NoWorkTree(f"it is a submodule, or its .git names {folder}, which doesn't know it")


def _check_links(folder: Path, parts: tuple[str, ...]) -> None:
    for part in parts:
        if (folder / part).is_symlink():
            raise LeadsElsewhere(f"{folder.name}/{part}", str((folder / part).readlink()))


def _with_parents(path: str) -> tuple[str, ...]:
    names = path.split("/")
    return tuple("/".join(names[: k + 1]) for k in range(len(names)))


def _unread(asked: Answer, root: Path) -> NotMirrored:
    if "dubious ownership" in asked.words:
        return ForeignOwner(root)
    return GitRefused("rev-parse", asked.words)
