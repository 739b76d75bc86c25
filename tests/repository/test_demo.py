"""`make demo` takes a question and a folder as they were typed."""

import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PROBE = 'probe: ; @printf "%s|%s" "$$Q" "$$INPUT"'


@pytest.mark.parametrize("question", ["Where is $HOME?", "What costs $(5)?", 'It\'s "so" # here'])
def test_make_hands_on_what_was_typed(question: str) -> None:
    done = subprocess.run(
        ["make", "-s", "--eval", PROBE, "probe", f"Q={question}", "INPUT=a b"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    assert done.stdout == f"{question}|a b"


def test_an_input_that_is_not_there_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", REPOSITORY / "examples/demo.sh"],
        env={"PATH": "/usr/bin:/bin", "INPUT": "/nonexist", "DEMO": str(tmp_path / "demo")},
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "INPUT=/nonexist: no such file or folder\n")
    assert not (tmp_path / "demo").exists()
