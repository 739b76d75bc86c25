"""Where the socket lies: private folders only, short enough, and the same for every shell that looks for it."""

import os
from pathlib import Path

import pytest

from onepen.orchestrator.process.place import SocketFolderUnfit, key_of, places, socket_path


@pytest.fixture
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a short path: a socket's has a hundred bytes at most."""
    return tmp_path_factory.mktemp("s")


def private(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    return folder


def test_the_runtime_folder_comes_first(short: Path) -> None:
    runtime, temporary = private(short / "run"), private(short / "tmp")
    env = {"XDG_RUNTIME_DIR": str(runtime), "TMPDIR": str(temporary)}
    name = "{:x}-{:x}.sock".format(*map(int, key_of(short).split(":")))
    assert socket_path(short, env) == runtime / "onepen" / name
    assert socket_path(short, {"TMPDIR": str(temporary)}) == temporary / f"onepen-{os.getuid()}" / name
    assert socket_path(short, {}).parent == Path(f"/tmp/onepen-{os.getuid()}")


def test_a_runtime_folder_that_others_may_open_is_passed_over(short: Path) -> None:
    runtime = private(short / "run")
    runtime.chmod(0o755)
    env = {"XDG_RUNTIME_DIR": str(runtime), "TMPDIR": str(short)}
    assert socket_path(short, env).parent == short / f"onepen-{os.getuid()}"


def test_a_runtime_folder_that_cant_be_written_is_passed_over(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = private(short / "run")
    may = os.access  # root may write into any folder, but into none on a disk that is read only
    monkeypatch.setattr(os, "access", lambda path, mode: may(path, mode) and not Path(path).is_relative_to(runtime))
    env = {"XDG_RUNTIME_DIR": str(runtime), "TMPDIR": str(short)}
    assert socket_path(short, env).parent == short / f"onepen-{os.getuid()}"
    private(runtime / "onepen")
    assert socket_path(short, env).parent == short / f"onepen-{os.getuid()}"


def test_a_path_that_is_too_long_is_passed_over(short: Path) -> None:
    deep = short / ("d" * 90)
    deep.mkdir()
    assert socket_path(short, {"TMPDIR": str(deep)}).parent == Path(f"/tmp/onepen-{os.getuid()}")


@pytest.mark.parametrize("kind", ["link", "file", "open"])
def test_a_folder_that_could_be_somebody_elses_is_refused(kind: str, short: Path) -> None:
    folder = short / f"onepen-{os.getuid()}"
    match kind:
        case "link":
            folder.symlink_to(private(short / "other"))
        case "file":
            folder.touch()
        case "open":
            private(folder).chmod(0o750)
    env = {"TMPDIR": str(short)}
    assert not any(place.is_relative_to(folder) for place in places(short, env, str(folder / "x.sock")))
    assert not socket_path(short, env).is_relative_to(folder)


def test_where_no_folder_is_fit_it_is_said_which_and_why(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (short / f"onepen-{os.getuid()}").touch()
    monkeypatch.setattr("onepen.orchestrator.process.place._folders", lambda env: (short / f"onepen-{os.getuid()}",))
    with pytest.raises(SocketFolderUnfit, match="is no folder"):
        socket_path(short, {})


def test_a_note_can_only_name_a_folder(short: Path) -> None:
    """`.onepen/pen.json` may have come with a clone: it can't make a client speak to any socket it likes."""
    noted = private(short / "noted")
    found = places(short, {"TMPDIR": str(short)}, str(noted / "docker.sock"))
    assert found[0].parent == noted
    assert found[0].name != "docker.sock"
    assert not any(place.is_absolute() is False for place in places(short, {}, "relative/x.sock"))


def test_a_workspace_that_was_renamed_keeps_its_key_and_a_copy_gets_another(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    before = key_of(one)
    one.rename(other)
    one.mkdir()
    assert (key_of(other), key_of(one) == before) == (before, False)
