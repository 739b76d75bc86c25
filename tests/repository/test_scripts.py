"""The scripts that CI and newcomers run, tried with small stand-in programs: they fail when they should and say why."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def program(path: Path, text: str) -> Path:
    path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
    path.chmod(0o755)
    return path


def bash(script: Path, *arguments: str | Path, path: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}", "CI": "true"}
    command = ["bash", script, *arguments]
    return subprocess.run(command, env=env, text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False)


@pytest.fixture
def ci(tmp_path: Path) -> Path:
    (tmp_path / ".ci").mkdir()
    return Path(shutil.copy(REPOSITORY / ".ci" / "run", tmp_path / ".ci" / "run"))


@pytest.mark.parametrize(
    ("broken", "code", "last"),
    [
        ("", 0, "all passed\n"),
        ("test", 1, "failed: test\n"),
        ("lint", 1, "failed: lint\n"),
        ("test lint", 1, "failed: test lint\n"),
    ],
)
def test_ci_runs_everything_and_fails_when_any_fails(
    ci: Path, tmp_path: Path, broken: str, code: int, last: str
) -> None:
    program(tmp_path / "make", f'echo "made $1"; case " {broken} " in *" $1 "*) exit 2;; esac\n')
    done = bash(ci, path=tmp_path)
    assert done.returncode == code
    assert (done.stdout + done.stderr).endswith(last)
    assert "made test" in done.stdout and "made lint" in done.stdout


def test_without_ensurepip_and_pip_the_package_to_install_is_named(tmp_path: Path) -> None:
    bare = program(
        tmp_path / "python", 'case "$*" in *version_info*print*|*print*version_info*) echo 3.12;; *) exit 1;; esac\n'
    )
    done = bash(REPOSITORY / ".ci" / "venv", bare, tmp_path / "venv", path=tmp_path)
    assert done.returncode == 1
    assert "apt-get install python3.12-venv" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_without_a_new_enough_python_it_says_so(tmp_path: Path) -> None:
    done = bash(REPOSITORY / ".ci" / "venv", "", tmp_path / "venv", path=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("onepen needs Python 3.11 or newer")


def test_make_alone_lists_what_can_be_made() -> None:
    done = subprocess.run(
        ["make", "-C", REPOSITORY, "--no-print-directory"], text=True, capture_output=True, check=True
    )
    for target in ("demo", "test", "prove", "lint", "bench"):
        assert f"make {target}" in done.stdout
