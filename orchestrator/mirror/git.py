"""Calls git as a stranger's repository has to be called: plumbing only, and nothing that it names is run.

A repository's own config can name programs for almost everything that git does: hooks, filters, diff and merge drivers,
file system monitors, editors, pagers, credential helpers, signing, remotes. git obeys whoever can write `.git/config`,
and a workspace from an archive brings one along. So:

- only commands that look at objects, refs and the index are called, none that looks through the work tree. The bytes
  that become objects are handed over on stdin, so no filter is asked, and nothing is diffed or merged;
- filters are emptied by name all the same: whoever writes the index hashes files that changed in the moment in which
  the index was written before (git calls them racily clean), and hashes them as the work tree's files, with filters;
- what could be run besides is switched off on the command line, which comes before any config: hooks (updating a
  ref runs one), monitors, signing. Fetching what a partial clone lacks is switched off in the environment, and no
  protocol is allowed;
- the environment is made anew, so a GIT_DIR or GIT_EXTERNAL_DIFF of the shell has no effect;
- git itself finds the repository, from the workspace's folder and no further up. A repository that is another user's is
  thereby refused by git, which it wouldn't be if its folder were named.

Paths are literal, answers are separated by NUL, and messages are in English, since one of them is looked for.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from .errors import GitBusy, GitRefused, NoGit

_OFF = (
    "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.splitIndex=false", "core.pager=cat", "core.editor=false",
    "core.askPass=false", "core.sshCommand=false", "core.gitProxy=false", "credential.helper=", "commit.gpgSign=false",
    "tag.gpgSign=false", "gpg.program=false", "gpg.ssh.program=false", "gpg.x509.program=false", "protocol.allow=never",
    "gc.auto=0", "maintenance.auto=false", "user.useConfigOnly=true", "advice.detachedHead=false",
)  # fmt: skip
_FIXED = {
    "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "false", "SSH_ASKPASS": "false", "GIT_EDITOR": "false",
    "GIT_PAGER": "cat", "GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
}  # fmt: skip
_PASSED = (
    "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "LD_LIBRARY_PATH", "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
)  # fmt: skip
_PATHS = frozenset({"ls-tree", "ls-files"})
"""Commands that would take a path for a pattern."""
_SECONDS = 60.0


@dataclass(frozen=True)
class Answer:
    """How a git command ended; `pid` was its process."""

    code: int
    out: bytes
    words: str
    pid: int

    def lines(self) -> list[str]:
        return self.out.decode("utf-8", "surrogateescape").splitlines()

    def fields(self) -> list[str]:
        """What stands between NULs."""
        return self.out.decode("utf-8", "surrogateescape").split("\0")[:-1]


@dataclass(frozen=True)
class Git:
    """The git program, for the repository in one folder."""

    program: str
    root: Path
    env: Mapping[str, str]

    @classmethod
    def find(cls, root: Path, env: Mapping[str, str]) -> Self:
        """The git of the person's PATH, parts of which that are relative count for nothing; raises NoGit."""
        parts = env.get("PATH", os.defpath).split(os.pathsep)
        path = os.pathsep.join(part for part in parts if part.startswith("/"))
        program = shutil.which("git", path=path)
        if program is None:
            raise NoGit
        kept = {name: env[name] for name in _PASSED if name in env}
        return cls(program, root, {**kept, **_FIXED, "PATH": path, "GIT_CEILING_DIRECTORIES": str(root.parent)})

    def without_filters(self) -> Self:
        """The same, for which no filter does anything that a config of the repository or the person names.

        Raises NotMirrored.
        """
        keys = self("config", "-z", "--name-only", "--get-regexp", r"^filter\.", good=1).fields()
        names = dict.fromkeys(key.rpartition(".")[0] for key in keys)
        empty = {f"{name}.{what}": "" for name in names for what in ("clean", "smudge", "process")}
        empty |= {f"{name}.required": "false" for name in names}
        env = {"GIT_CONFIG_COUNT": str(len(empty))}
        for number, (key, value) in enumerate(empty.items()):
            env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return replace(self, env={**self.env, **env})

    def ask(self, *args: str, data: bytes = b"", index: Path | None = None) -> Answer:
        """Runs one command with `data` on its stdin, whatever it ends with; raises GitBusy where it doesn't end."""
        env = self.env if index is None else {**self.env, "GIT_INDEX_FILE": str(index)}
        process = subprocess.Popen(
            self._command(args), cwd="/", env=env, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            out, err = process.communicate(data, timeout=_SECONDS)
        except subprocess.TimeoutExpired as e:
            raise GitBusy(f"git {args[0]} didn't end within {_SECONDS:.0f} s") from e
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        return Answer(process.returncode, out, _first(err), process.pid)

    def __call__(self, *args: str, data: bytes = b"", index: Path | None = None, good: int = 0) -> Answer:
        """Runs one command that has to end with 0 or `good`; raises GitBusy or GitRefused."""
        answer = self.ask(*args, data=data, index=index)
        if answer.code not in {0, good}:
            raise GitRefused(args[0], answer.words)
        return answer

    def _command(self, args: Sequence[str]) -> list[str]:
        off = [word for setting in _OFF for word in ("-c", setting)]
        literal = ("--literal-pathspecs",) if args[0] in _PATHS else ()
        return [self.program, "-C", str(self.root), "--no-pager", *literal, *off, *args]


def _first(err: bytes) -> str:
    """The first line in which git says what is the matter, without its own "fatal: "."""
    lines = [line for line in err.decode("utf-8", "replace").splitlines() if line.strip()]
    bad = [line for line in lines if line.startswith(("fatal: ", "error: "))]
    return (bad or lines)[0].removeprefix("fatal: ").removeprefix("error: ") if lines else ""
