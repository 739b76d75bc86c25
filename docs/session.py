"""Runs the sessions of a page for real: `python docs/session.py docs/tutorial.md` puts in what the commands now print.

A session is a ```console block: `$ ` begins a command, what follows is what it printed (and, where it failed, what it
said on stderr and `(exit N)`). All blocks of a page are one session, run in one scratch folder, in which `onepen/` is
this repository. A line `…` stands for lines that were left out. A test runs the pages and compares; ids, hashes, times
and the person's name differ from run to run and are passed over.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TASK = re.compile(r"\b[a-z][0-9a-z]{7}(?=(?:-\d+)? +(?:researcher|writer|waiting)\b)")
VARYING: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
    (re.compile(r"\bc(\d+)-[0-9a-z]{6}\b"), r"c\1-MACHINE"),
    (re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)"), "DAY"),
    (re.compile(r"T?\d\d:\d\d(:\d\d)?([+-]\d\d:\d\d)?"), "TIME"),
    (re.compile(r"\d+(\.\d+)? s\b"), "SECONDS"),
    (re.compile(r"user:[\w.-]+"), "user:NAME"),
    (re.compile(r"/\S*/(?=studio\b)"), "/HERE/"),
    (re.compile(r"(time zone: ).*"), r"\1ZONE"),
    (re.compile(r"^(sandbox: ).*$", re.MULTILINE), r"\1LEVEL"),
    (re.compile(r"\b(Read \d+ files), \d+ lines\."), r"\1."),
)


@dataclass
class Session:
    """A scratch folder and the shell's place in it; `ids` maps task ids of the page to those of this run."""

    folder: Path
    here: Path
    ids: dict[str, str] = field(default_factory=dict)

    def run(self, command: str, told: str) -> str:
        """What the command prints, with the page's ids; `told` is what the page shows now."""
        for old, new in self.ids.items():
            command = command.replace(old, new)
        script = f"{command}\ncode=$?\npwd -P >&3\nexit $code"
        place = self.folder / ".place"
        with place.open("w") as where:
            env = surroundings(self.folder)
            done = subprocess.run(
                ["bash", "-c", f"exec 3>&{where.fileno()}\n{script}"],
                cwd=self.here, env=env, pass_fds=(where.fileno(),), stdin=subprocess.DEVNULL,
                text=True, capture_output=True, check=False,
            )  # fmt: skip
        self.here = Path(place.read_text().strip())
        printed = done.stdout if done.returncode == 0 else f"{done.stdout}{done.stderr}(exit {done.returncode})\n"
        printed = printed.replace(str(self.folder), "/tmp")
        self.ids.update(zip(tasks(told), tasks(printed), strict=False))
        for old, new in self.ids.items():
            printed = printed.replace(new, old)
        return printed

    def end(self) -> None:
        """No orchestrator is left in the background."""
        for settings in self.folder.glob("*/onepen.toml"):
            down = ["onepen", "-C", str(settings.parent), "down", "--now"]
            subprocess.run(down, env=surroundings(self.folder), capture_output=True, check=False)


def surroundings(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "HOME": str(home), "NO_COLOR": "1", "USER": "ana", "LOGNAME": "ana", "COLUMNS": "120"}


def tasks(text: str) -> list[str]:
    return list(dict.fromkeys(TASK.findall(text)))


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a block with what the page shows of it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, told = part.partition("\n")
        while command.endswith("\\"):
            more, _, told = told.partition("\n")
            command = f"{command}\n{more}"
        yield command, told


def plain(text: str) -> str:
    """Text without what differs from run to run."""
    for task in tasks(text):
        text = text.replace(task, "TASK")
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return re.sub(r"\b[a-z][0-9a-z]{3,7}-(\d+)\b(?=[,.\s]|$)", r"TASK-\1", text)


def agrees(told: str, printed: str) -> bool:
    """Whether the page shows what was printed, `…` standing for anything."""
    pieces = [re.escape(piece) for piece in plain(told).split("…\n")]
    return re.fullmatch("(?:.*\n)*?".join(pieces), plain(printed)) is not None


def rerun(page: str) -> tuple[str, list[str]]:
    """The page with what its commands print now, and the commands that print something else than the page shows."""
    changed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="onepen-session-") as scratch:
        folder = Path(scratch).resolve()
        (folder / "onepen").symlink_to(REPOSITORY)
        session = Session(folder, folder)

        def block(match: re.Match[str]) -> str:
            shown = []
            for command, told in commands(match.group(1)):
                printed = session.run(command, told)
                if not agrees(told, printed):
                    changed.append(f"$ {command}\n{printed}--- but the page shows:\n{told}")
                    told = printed
                shown.append(f"$ {command}\n{told}")
            return f"```console\n{''.join(shown)}```"

        new = BLOCK.sub(block, page)
        session.end()
    return new, changed


def main() -> None:
    for name in sys.argv[1:]:
        path = Path(name)
        page, changed = rerun(path.read_text(encoding="utf-8"))
        path.write_text(page, encoding="utf-8")
        for one in changed:
            sys.stdout.write(f"{name}: {one.splitlines()[0]}\n")


if __name__ == "__main__":
    main()
