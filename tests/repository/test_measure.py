"""The measuring itself: a figure means what it says."""

import os
import sys
from functools import partial
from pathlib import Path

import pytest

from benchmarks.measure import Figure, ProgramFailed, Run, figure, in_turns, run

HERE = Path(__file__).parent
MEBIBYTE = 2**20


def python(code: str) -> Run:
    return run((sys.executable, "-I", "-S", "-c", code), cwd=HERE, env=dict(os.environ))


def test_the_peak_is_the_programs_own_and_not_that_of_the_test_runner() -> None:
    ballast = bytearray(b"x") * (150 * MEBIBYTE)
    assert python("pass").peak_bytes < 40 * MEBIBYTE
    assert len(ballast) == 150 * MEBIBYTE


def test_the_peak_counts_what_the_program_allocated() -> None:
    assert python(f"x = b'x' * {100 * MEBIBYTE}").peak_bytes > 100 * MEBIBYTE


def test_the_time_covers_the_whole_run() -> None:
    assert 0.2 <= python("import time; time.sleep(0.2)").seconds < 10


def test_a_program_that_fails_gives_no_figure() -> None:
    with pytest.raises(ProgramFailed, match=r"exit 3\nso much for that"):
        python("import sys; sys.stderr.write('so much for that'); sys.exit(3)")


def test_a_program_that_is_not_there_gives_no_figure() -> None:
    with pytest.raises(ProgramFailed, match="no-such-program: No such file"):
        run(("no-such-program",), cwd=HERE, env=dict(os.environ))


def test_a_flood_on_stderr_does_not_block() -> None:
    assert len(python(f"import sys; sys.stderr.write('x' * {MEBIBYTE})").stderr) == MEBIBYTE


def test_the_median_counts_and_the_extremes_are_kept() -> None:
    runs = [Run(0.3, 10, ""), Run(0.1, 30, ""), Run(9.0, 20, "")]
    assert figure("three", runs) == Figure("three", 0.3, 0.1, 9.0, 20, 3)


def test_programs_take_turns_and_the_first_round_is_not_counted() -> None:
    order: list[str] = []

    def note(name: str, seconds: float) -> Run:
        order.append(name)
        return Run(seconds if len(order) > 2 else 100.0, 1, "")

    figures = in_turns({"a": partial(note, "a", 1.0), "b": partial(note, "b", 2.0)}, rounds=3)
    assert order == ["a", "b"] * 4
    assert [(one.name, one.most, one.runs) for one in figures] == [("a", 1.0, 3), ("b", 2.0, 3)]
