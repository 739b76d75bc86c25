"""What is measured of processes is theirs: processor time of all that was started, and memory that nobody else has."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from benchmarks.processes import children, descendants, private_bytes, processor_seconds

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
MEBIBYTE = 2**20


@contextmanager
def running(code: str) -> Iterator[int]:
    """A process that runs `code` and then waits; its pid."""
    command = (sys.executable, "-I", "-S", "-c", f"import sys\n{code}\nprint(flush=True)\nsys.stdin.read()")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.stdin.close()


def test_memory_counts_that_nobody_shares() -> None:
    with running("pass") as bare, running(f"x = bytearray(b'x') * {50 * MEBIBYTE}") as large:
        # One bare interpreter is never quite as large as another.
        assert 49 <= (private_bytes(large) - private_bytes(bare)) / MEBIBYTE < 60


def test_what_a_child_shares_with_its_parent_is_nobodys_own() -> None:
    code = (
        f"import os\nx = bytearray(b'x') * {50 * MEBIBYTE}\nif os.fork() == 0:\n    sys.stdin.read()\n    os._exit(0)"
    )
    with running(code) as parent:
        [child] = children(parent)
        assert private_bytes(child) < 10 * MEBIBYTE
        assert child in set(descendants(os.getpid()))


def test_processor_time_is_that_of_all_that_was_started_also_when_it_has_ended() -> None:
    before = processor_seconds(os.getpid())
    spin = "import time\nwhile time.process_time() < 0.3: pass"
    with running(spin):
        during = processor_seconds(os.getpid())
    assert 0.2 <= during - before < 1
    assert 0.2 <= processor_seconds(os.getpid()) - before < 1


def test_a_process_that_is_gone_has_nothing() -> None:
    with running("pass") as pid:
        pass
    assert (private_bytes(pid), children(pid), processor_seconds(pid)) == (0, [], 0.0)
