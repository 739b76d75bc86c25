"""Bugs put in on purpose, in a copy of onepen: the fault tests must notice each of them.

    python -m tests.faults.mutants            all of them, one after the other
    python -m tests.faults.mutants NAME…      these
    python -m tests.faults.mutants --list

A bug is code put at the end of a module of the copy. A bug that no test notices ends the command with exit code 1.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

REPOSITORY = Path(__file__).resolve().parents[2]
ROOMS = ("memory", "staging", "subagents", "orchestrator")


@dataclass(frozen=True)
class Mutant:
    """A bug: the module that has it, its code, and which of the fault tests are to notice it."""

    what: str
    module: str
    code: str
    tests: str
    long: bool = False


MUTANTS = {
    "index-first": Mutant(
        "the index is written before the record",
        "memory/commit/redo_log.py",
        """
        _append = RedoLog.append

        def _index_first(self, line, **how):
            for laid in self._root.rglob("._index.md.*.tmp"):
                laid.replace(laid.with_name("_index.md"))
            _append(self, line, **how)

        RedoLog.append = _index_first
        """,
        "test_killed_at_a_system_call",
    ),
    "no-sync": Mutant(
        "nothing is ever synced",
        "memory/files.py",
        "Disk.sync = Disk.sync_folder = lambda self, fd: None",
        "test_a_power_cut",
    ),
    "record-not-synced": Mutant(
        "the record is not synced, all else is",
        "memory/commit/redo_log.py",
        """
        class _Unsynced(files.Disk):
            def sync(self, fd):
                pass

        _append = RedoLog.append

        def _append_unsynced(self, line, **how):
            disk, self._disk = self._disk, _Unsynced()
            try:
                _append(self, line, **how)
            finally:
                self._disk = disk

        RedoLog.append = _append_unsynced
        """,
        "test_a_power_cut",
    ),
    "flushed-too-soon": Mutant(
        "what was committed lazily is brought into its files before its record is synced",
        "memory/commit/redo_log.py",
        """
        def _sync(self):
            self.synced = self.size

        RedoLog.sync = _sync
        """,
        "test_a_power_cut",
    ),
    "laid-not-synced": Mutant(
        "new versions are swapped in before they are on the disk",
        "memory/files.py",
        """
        class _Unsynced(Disk):
            def sync(self, fd):
                pass

            begin_sync = sync

        def _lay(wanted, laid, disk, _lay=_lay):
            _lay(wanted, laid, _Unsynced())
        """,
        "test_a_power_cut",
    ),
    "trimmed-too-soon": Mutant(
        "the redo log is trimmed before the files are synced",
        "memory/files.py",
        """
        def sync_file(path, *, disk=DISK):
            pass
        """,
        "test_a_power_cut",
    ),
    "key-forgotten": Mutant(
        "nobody looks whether a key was committed before",
        "memory/commit/ledger.py",
        "Ledger.known = lambda *args: None",
        "test_killed_at_a_system_call",
    ),
    "torn-tail-kept": Mutant(
        "a torn record is left in the redo log",
        "memory/commit/redo_log.py",
        """
        _prepare = RedoLog.prepare

        def _prepare_with_tail(self, found):
            return _prepare(self, type(found)(found.records, b""))

        RedoLog.prepare = _prepare_with_tail
        """,
        "test_killed_between_two_parts_of_one_write",
    ),
    "laid-left": Mutant(
        "what was laid for a commit that never was is left lying",
        "memory/commit/laid.py",
        "clear = lambda *args: None",
        "test_killed_at_a_system_call",
    ),
    "added-twice": Mutant(
        "recovery adds a line without asking whether it stands there",
        "memory/commit/settle.py",
        "_with_addition = lambda data, change: data + change.due",
        "test_killed_at_a_system_call",
    ),
    "half-seen": Mutant(
        "readers don't see the records that are pending",
        "memory/commit/settle.py",
        "Chains.overlay = lambda self, path, now, **more: now",
        "test_killed_at_a_system_call",
    ),
    "failed-and-written": Mutant(
        "an error behind the commit point is told like one before it",
        "memory/commit/pen.py",
        """
        class RecoveryNeeded(OSError):
            def __init__(self, what, reason, *, asked=True):
                super().__init__(5, reason, what)
                self.what, self.reason = what, reason
        """,
        "test_a_call_that_fails and 60-once-EIO and making",
        long=True,
    ),
}  # fmt: skip


def copy(place: Path, mutant: Mutant) -> Path:
    """onepen's code with the bug in it; gives the folder to import it from."""
    shutil.copytree(REPOSITORY / "src", place / "src", symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for room in ROOMS:
        shutil.copytree(REPOSITORY / room, place / room, ignore=shutil.ignore_patterns("__pycache__"))
    with (place / mutant.module).open("a", encoding="utf-8") as file:
        file.write(f"\n\n{dedent(mutant.code)}\n")
    return place / "src"


def noticed(mutant: Mutant) -> tuple[bool, list[str]]:
    """Whether a test failed, and what the run says about it."""
    with tempfile.TemporaryDirectory(prefix="onepen-mutant-") as folder:
        package = copy(Path(folder), mutant)
        long = ("-m", "long") if mutant.long else ()
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "tests/faults", "-p", "no:randomly", "-k", mutant.tests, *long],
            cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": str(package)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
    said = [line for line in done.stdout.splitlines() if re.search(r"\d+ did harm$|not tried", line)]
    first = [line for line in done.stdout.splitlines() if re.match(r"E +(?:killed|power cut|E\w+) .*at ", line)][:1]
    return done.returncode == 1 and "AssertionError" in done.stdout, [
        *said,
        *(line[1:].strip()[:110] for line in first),
    ]


def main(names: list[str]) -> int:
    if names == ["--list"]:
        print("\n".join(f"{name}: {mutant.what}" for name, mutant in MUTANTS.items()))
        return 0
    missed = 0
    for name in names or MUTANTS:
        found, said = noticed(MUTANTS[name])
        missed += not found
        print(f"{'noticed' if found else 'MISSED '}  {name}: {MUTANTS[name].what}", *said, sep="\n    ", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
