"""What comes in from outside has a limit and a kind, and is refused by its name before anything is written."""

from pathlib import Path

import pytest

from onepen.testing.program import PROGRAM, Program


@pytest.fixture(scope="module")
def onepen(tmp_path_factory: pytest.TempPathFactory) -> Program:
    onepen = Program(tmp_path_factory.mktemp("bounds"))
    onepen.ok("init", "ws")
    return onepen


def test_a_log_line_from_stdin_has_a_limit(onepen: Program) -> None:
    ran = onepen.shell(f"yes | {PROGRAM} -C ws log -")
    assert (ran.code, ran.out) == (2, "") and "8 KiB" in ran.err
    assert not any("y / y" in log.read_text() for log in (onepen.home / "ws/memory").glob("*.md"))


def test_a_log_line_has_a_limit_however_it_is_given(onepen: Program) -> None:
    ran = onepen("log", "x" * 8193, "-C", "ws")
    assert ran.code == 2 and "8 KiB" in ran.err


@pytest.mark.parametrize("name", ["/dev/zero", "pipe", "."])
def test_a_card_begins_with_a_regular_file(name: str, onepen: Program) -> None:
    ran = onepen.shell(f"[ -p pipe ] || mkfifo pipe; {PROGRAM} -C ws add project Kiln --from {name}")
    assert (ran.code, ran.out) == (2, "") and f"--from {name}: no regular file" in ran.err


def test_a_card_begins_with_a_megabyte_at_most(onepen: Program) -> None:
    (onepen.home / "big.md").write_bytes(b"a" * ((1 << 20) + 1))
    for given in ("--from big.md", "--from - < big.md"):
        ran = onepen.shell(f"{PROGRAM} -C ws add project Kiln {given}")
        assert (ran.code, ran.out) == (2, "") and "1 MiB" in ran.err


def test_a_folder_that_was_deleted_is_named(onepen: Program) -> None:
    for command in ("status", "init new", "delegate x --input y -C ../ws"):
        ran = onepen.shell(f"mkdir -p gone && cd gone && rmdir ../gone && {PROGRAM} {command}")
        assert ran.code == 2 and "Traceback" not in ran.err
    assert (
        "gone: this folder was moved or deleted"
        in onepen.shell(f"mkdir gone && cd gone && rmdir ../gone && {PROGRAM} status").err
    )


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\x1bb", "\u202eevil"])
def test_a_workspace_has_a_name_that_can_be_read(name: str, onepen: Program) -> None:
    before = sorted(onepen.home.iterdir())
    ran = onepen("init", name)
    assert (ran.code, ran.out) == (2, "") and ran.err.startswith("onepen: DIR")
    assert sorted(onepen.home.iterdir()) == before


@pytest.mark.parametrize("title", ["\u202eevil", "a\u200bb", "flag\U000e0067", "\ufeffx"])
def test_a_title_with_characters_that_nobody_sees_is_refused_as_a_title(title: str, onepen: Program) -> None:
    ran = onepen("add", "project", title, "-C", "ws")
    assert (ran.code, ran.out) == (2, "") and ran.err.startswith("onepen: title ")


def test_joiners_are_part_of_a_title(onepen: Program) -> None:
    assert onepen("add", "project", "می\u200cخواهم", "-C", "ws").code == 0


@pytest.mark.parametrize("kind", ["project", "client", "agent", "research"])
def test_an_id_is_not_empty_and_not_taken(kind: str, onepen: Program) -> None:
    assert onepen("add", kind, "Twice", "--id", "", "-C", "ws").code == 2
    onepen.ok("add", kind, f"Twice {kind}", "-C", "ws")
    ran = onepen("add", kind, f"Twice {kind}", "-C", "ws")
    assert (ran.code, ran.out) == (2, "") and "--id" in ran.err and "append" not in ran.err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["search", ""], "say what to look for"),
        (["search", "x", "--since", "2026-12-01", "--until", "2026-01-01"], "--since 2026-12-01 is after"),
        (["add", "--json"], "Missing command"),
        (["delegate", "x", "--agent", "writer"], "set ANTHROPIC_API_KEY"),
        (["delegate", "x", "--project", "nowhere"], "no project here has this id or title"),
    ],
)
def test_what_makes_no_sense_is_refused(args: list[str], said: str, onepen: Program) -> None:
    ran = onepen(*args, "-C", "ws") if args[0] != "add" else onepen(*args)
    assert ran.code == 2 and said in ran.err


def test_a_future_day_is_said_to_be_one(onepen: Program) -> None:
    assert "still to come" in onepen.ok("search", "x", "--since", "2999-01-01", "-C", "ws").out


@pytest.mark.parametrize("text", ["unknown = 1\n", 'timezone = "Nowhere"\n', "name = 3\n"])
def test_settings_are_refused_in_plain_words(text: str, onepen: Program) -> None:
    onepen.ok("init", "other")
    settings: Path = onepen.home / "other/onepen.toml"
    kept = settings.read_text()
    settings.write_text(text + "\n".join(line for line in kept.splitlines() if not line.startswith(text[:4])))
    ran = onepen("status", "-C", "other")
    settings.write_text(kept)
    assert ran.code == 2 and "onepen.toml" in ran.err
    assert not any(word in ran.err for word in ("Extra inputs", "Value error", "Input should"))


def test_the_environment_is_refused_in_plain_words(onepen: Program) -> None:
    ran = onepen("delegate", "x", "-C", "ws", env={"ANTHROPIC_BASE_URL": "localhost:80"})
    assert ran.code == 2 and "ANTHROPIC_BASE_URL: is no address" in ran.err and "Value error" not in ran.err


def test_a_project_is_found_by_its_title(onepen: Program) -> None:
    onepen.ok("add", "project", "蒲公英面包店", "-C", "ws")
    assert onepen("delegate", "x", "--answer", "--project", "蒲公英面包店", "-C", "ws").code == 0
