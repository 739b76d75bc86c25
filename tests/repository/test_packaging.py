"""What is installed: one package called onepen, from the wheel, from the sdist, beside a person's own files."""

import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

import onepen

pytestmark = pytest.mark.timeout(180)  # it starts programs, which takes its time on a busy machine

REPOSITORY = Path(__file__).resolve().parents[2]
ROOMS = ("memory", "staging", "subagents", "orchestrator")
VERSION = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def call(command: Sequence[str | Path], *, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    surroundings = {**os.environ, "NO_COLOR": "1", **env}
    surroundings.pop("PYTHONPATH", None)
    done = subprocess.run(
        command, cwd=cwd, env=surroundings, text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


def build(kind: str, source: Path, place: Path) -> Path:
    call([sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", place], cwd=source)
    (made,) = place.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", REPOSITORY, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that has onepen from the wheel, and our dependencies by path.

    A plain line in a .pth file brings the dependencies but not the editable onepen beside them: the path files of a
    folder named so aren't read.
    """
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False, symlinks=True)
    bin_folder = place / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(bin_folder / "python")]
    call([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], cwd=place)
    site = next(place.glob("lib/python*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return bin_folder


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def shipped() -> set[str]:
    """Every file of the rooms and of src/onepen that a commit holds or would hold, under its installed name."""
    files = set()
    for room in ROOMS:
        files |= {f"onepen/{path.relative_to(REPOSITORY)}" for path in (REPOSITORY / room).rglob("*") if path.is_file()}
    for path in (REPOSITORY / "src" / "onepen").iterdir():
        if not path.is_symlink():
            inside = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
            files |= {str(one.relative_to(REPOSITORY / "src")) for one in inside}
    return {name for name in files if "__pycache__" not in name}


def test_the_wheel_holds_one_package_and_its_dist_info(wheel: Path) -> None:
    assert {name.split("/")[0] for name in names(wheel)} == {"onepen", f"onepen-{VERSION}.dist-info"}


def test_the_wheel_holds_every_file_of_the_rooms_and_nothing_else(wheel: Path) -> None:
    assert {name for name in names(wheel) if name.startswith("onepen/")} == shipped()


def test_the_version_is_told_once() -> None:
    assert onepen.__version__ == VERSION


def test_the_sdist_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    sdist = build("sdist", REPOSITORY, tmp_path / "sdist")
    call(["tar", "-xzf", sdist], cwd=tmp_path)
    again = build("wheel", tmp_path / f"onepen-{VERSION}", tmp_path / "wheel")
    assert names(again) == names(wheel)


def test_what_is_installed_is_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = "import onepen, onepen.memory.text.card; print(onepen.memory.text.card.__file__)"
    where = Path(call([installed / "python", "-c", code], cwd=tmp_path).stdout.strip())
    assert installed.parent in where.parents


def test_the_installed_command_runs(installed: Path, tmp_path: Path) -> None:
    assert VERSION in call([installed / "onepen", "--version"], cwd=tmp_path).stdout
    assert "delegate" in call([installed / "python", "-m", "onepen", "--help"], cwd=tmp_path).stdout


def test_a_persons_own_modules_of_our_names_do_no_harm(installed: Path, tmp_path: Path) -> None:
    for name in (*ROOMS, "anyio", "typer"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the working folder')\n", encoding="utf-8")
    onepen_command = installed / "onepen"
    (tmp_path / "notes.txt").write_text("The kiln reaches cone 6 at 1222 degrees.\n", encoding="utf-8")
    call([onepen_command, "init", "ws"], cwd=tmp_path)
    told = call(
        [onepen_command, "-C", "ws", "delegate", "When does the kiln reach cone 6?", "--input", "notes.txt", "--json"],
        cwd=tmp_path,
        HOME=str(tmp_path),
    )
    assert '"in_review"' in told.stdout


@pytest.mark.parametrize("room", ["orchestrator", "onepen"])
def test_the_program_runs_from_the_repository_too(room: str) -> None:
    assert "delegate" in call([sys.executable, "-m", room, "--help"], cwd=REPOSITORY).stdout


def test_a_worker_runs_from_the_repository_and_ends_when_nobody_speaks_to_it() -> None:
    command = [sys.executable, "-m", "subagents"]
    done = subprocess.run(
        command, cwd=REPOSITORY, text=True, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (1, "the orchestrator is gone")


@pytest.mark.long
@pytest.mark.installs
@pytest.mark.timeout(600)
def test_a_fresh_environment_can_be_made_by_hash(tmp_path: Path) -> None:
    call(["bash", REPOSITORY / ".ci" / "venv", sys.executable, tmp_path / "venv"], cwd=REPOSITORY)
    assert VERSION in call([tmp_path / "venv" / "bin" / "onepen", "--version"], cwd=tmp_path).stdout
