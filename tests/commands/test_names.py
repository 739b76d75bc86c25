"""Titles that can't be file names, and names that differ only in case: refused with the rule, or made safe."""

import re
from pathlib import Path

import pytest

from onepen.testing.program import Program, Ran

STRANGE = [
    "x" * 300, "é" * 130, "🐙", "-rf", "--help", "CON", "nul.txt", "a.", " lead", "two words", "a/b", "..", "a:b",
    "x\ty", "a\nb", "", "焼成の温度", "\x1b[2J", "\u202eevil", "rules", "_index", "\udcff",
]  # fmt: skip


@pytest.fixture(scope="module")
def onepen(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """One workspace for all tests: each looks at what it changes itself."""
    onepen = Program(tmp_path_factory.mktemp("names"))
    onepen.ok("init", "ws")
    return onepen


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".onepen" not in path.parts
    }


def refused(ran: Ran) -> bool:
    """Whether it was refused; if so, as it should be: one line, nothing on stdout, no traceback."""
    if ran.code == 0:
        return False
    assert ran.code in (1, 2) and ran.out == ""
    assert re.fullmatch(r"onepen: [^\n\x1b]+\n", ran.err), ran.err
    return True


def safe(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    return len(name.encode()) <= 255 and not name.startswith("-") and name.split(".")[0].upper() not in {"CON", "NUL"}


@pytest.mark.parametrize("title", STRANGE, ids=lambda title: ascii(title[:12]))
def test_a_project_with_a_strange_title(title: str, onepen: Program) -> None:
    before = files(onepen.home)
    ran = onepen("add", "project", "-C", "ws", "--json", "--", title)
    after = files(onepen.home)
    if ran.code != 0:
        assert ran.code in (1, 2) and re.fullmatch(r"onepen: [^\n\x1b]+\n", ran.err), ran
        assert after == before
        return
    (card,) = [path for path in ran.json["paths"] if re.fullmatch(r"projects/[a-z0-9][a-z0-9-]*\.md", path)]
    assert all(path.startswith("ws/") and safe(path) for path in after.keys() - before.keys())
    assert title.strip() in (onepen.home / "ws" / card).read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["client", "agent", "research"])
@pytest.mark.parametrize("title", ["..", "a/../../b", "", "CON"], ids=repr)
def test_the_same_holds_for_the_other_kinds(kind: str, title: str, onepen: Program) -> None:
    before = files(onepen.home)
    if not refused(onepen("add", kind, "-C", "ws", "--", title)):
        new = files(onepen.home).keys() - before.keys()
        assert new and all(path.startswith("ws/") and safe(path) for path in new)
    else:
        assert files(onepen.home) == before


@pytest.mark.parametrize("bad", ["A", "a_b", "../x", "-a", "con", "a" * 65, "é"])
def test_an_id_that_is_none_is_refused_with_the_rule(bad: str, onepen: Program) -> None:
    before = files(onepen.home)
    ran = onepen("add", "project", "Kiln", f"--id={bad}", "-C", "ws")
    assert refused(ran) and "id" in ran.err
    assert files(onepen.home) == before


def test_an_option_is_never_a_title(onepen: Program) -> None:
    before = files(onepen.home)
    assert refused(onepen("add", "project", "-rf", "-C", "ws"))
    assert "Usage:" in onepen.ok("add", "project", "--help", "-C", "ws").out
    assert files(onepen.home) == before


@pytest.mark.parametrize(
    ("first", "second"), [("loom", "Loom"), ("dye", "DYE"), ("straße", "STRASSE"), ("istanbul", "İstanbul")]
)
def test_titles_that_differ_only_in_case_are_one_card(first: str, second: str, onepen: Program) -> None:
    for kind in ("project", "client"):
        onepen.ok("add", kind, first, "-C", "ws")
        before = files(onepen.home)
        ran = onepen("add", kind, second, "-C", "ws")
        assert refused(ran)
        assert files(onepen.home) == before


def test_one_id_names_one_card_on_both_shelves(onepen: Program) -> None:
    onepen.ok("add", "project", "wheel", "-C", "ws")
    assert refused(onepen("add", "research", "Wheel", "-C", "ws"))
    onepen.ok("add", "client", "acme", "-C", "ws")
    onepen.ok("add", "research", "Wheel", "-C", "ws", "--client", "acme")


def test_names_that_differ_only_in_case_are_reported(tmp_path: Path) -> None:
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    for name in ("kiln", "Kiln"):
        (tmp_path / f"ws/projects/{name}.md").write_text("# Kiln\n")
    ran = onepen("doctor", "-C", "ws", "--json")
    assert ran.code == 1
    assert "projects/Kiln.md" in {problem["path"] for problem in ran.json["problems"]}


def test_a_client_that_is_not_there_is_named_with_those_that_are(onepen: Program) -> None:
    onepen.ok("add", "client", "bolt", "-C", "ws")
    for args in (["drafts"], ["log", "x"], ["search", "x"], ["context"], ["history"], ["add", "project", "p"]):
        ran = onepen(*args, "--client", "bolts", "-C", "ws")
        assert refused(ran) and ran.code == 2 and "bolt" in ran.err.replace("bolts", "")
