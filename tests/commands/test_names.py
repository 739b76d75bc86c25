"""Titles that can't be file names, and names that differ only in case: refused with the rule, or made safe."""

import re
from pathlib import Path

import pytest

from onepen.testing.program import Program, Ran

STRANGE = [
    "x" * 300, "é" * 130, "🐙", "-rf", "--help", "CON", "nul.txt", "a.", " lead", "two words", "a/b", "..", "a:b",
    "x\ty", "a\nb", "", "焼成の温度", "\x1b[2J", "\u202eevil", "rules", "_index", "\udcff",
]  # fmt: skip


@pytest.fixture
def onepen(tmp_path: Path) -> Program:
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    return onepen


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".onepen" not in path.parts
    }


def refused(ran: Ran) -> bool:
    """Refused as it should be: code 2, one line, nothing on stdout, no traceback."""
    if ran.code == 0:
        return False
    assert (ran.code, ran.out) == (2, "")
    assert re.fullmatch(r"onepen: [^\n\x1b]+\n", ran.err), ran.err
    return True


def safe(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    return len(name.encode()) <= 255 and not name.startswith("-") and name.split(".")[0].upper() not in {"CON", "NUL"}


@pytest.mark.parametrize("title", STRANGE, ids=lambda title: ascii(title[:12]))
def test_a_project_with_a_strange_title(title: str, onepen: Program, tmp_path: Path) -> None:
    before = files(tmp_path)
    ran = onepen("add", "project", "-C", "ws", "--json", "--", title)
    after = files(tmp_path)
    if ran.code != 0:
        assert (ran.code, "Traceback" in ran.err, ran.err.count("\n")) == (2, False, 1)
        assert after == before
        return
    (card,) = [path for path in ran.json["paths"] if re.fullmatch(r"projects/[a-z0-9][a-z0-9-]*\.md", path)]
    assert all(path.startswith("ws/") and safe(path) for path in after.keys() - before.keys())
    assert title.strip() in (tmp_path / "ws" / card).read_text(encoding="utf-8")
    again = onepen("add", "project", "-C", "ws", "--", title)
    assert refused(again), "the same title names the same card"


@pytest.mark.parametrize("kind", ["client", "agent", "research"])
@pytest.mark.parametrize("title", ["..", "a/../../b", "", "CON"], ids=repr)
def test_the_same_holds_for_the_other_kinds(kind: str, title: str, onepen: Program, tmp_path: Path) -> None:
    before = files(tmp_path)
    if not refused(onepen("add", kind, "-C", "ws", "--", title)):
        new = files(tmp_path).keys() - before.keys()
        assert new and all(path.startswith("ws/") and safe(path) for path in new)
    else:
        assert files(tmp_path) == before


@pytest.mark.parametrize("bad", ["A", "a_b", "../x", "-a", "con", "a" * 65, "é"])
def test_an_id_that_is_none_is_refused_with_the_rule(bad: str, onepen: Program, tmp_path: Path) -> None:
    before = files(tmp_path)
    ran = onepen("add", "project", "Kiln", f"--id={bad}", "-C", "ws")
    assert refused(ran) and "id" in ran.err
    assert files(tmp_path) == before


def test_an_option_is_never_a_title(onepen: Program, tmp_path: Path) -> None:
    before = files(tmp_path)
    assert refused(onepen("add", "project", "-rf", "-C", "ws"))
    assert "Usage:" in onepen.ok("add", "project", "--help", "-C", "ws").out
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("first", "second"), [("kiln", "Kiln"), ("kiln", "KILN"), ("straße", "STRASSE"), ("istanbul", "İstanbul")]
)
@pytest.mark.parametrize("kind", ["project", "client"])
def test_titles_that_differ_only_in_case_are_one_card(
    kind: str, first: str, second: str, onepen: Program, tmp_path: Path
) -> None:
    onepen.ok("add", kind, first, "-C", "ws")
    before = files(tmp_path)
    ran = onepen("add", kind, second, "-C", "ws")
    assert refused(ran)
    assert files(tmp_path) == before
    onepen.ok("doctor", "-C", "ws")


def test_one_id_names_one_card_on_both_shelves(onepen: Program) -> None:
    onepen.ok("add", "project", "kiln", "-C", "ws")
    assert refused(onepen("add", "research", "Kiln", "-C", "ws"))
    onepen.ok("add", "client", "acme", "-C", "ws")
    onepen.ok("add", "research", "Kiln", "-C", "ws", "--client", "acme")


def test_names_that_differ_only_in_case_are_reported(onepen: Program, tmp_path: Path) -> None:
    onepen.ok("add", "project", "kiln", "-C", "ws")
    (tmp_path / "ws/projects/Kiln.md").write_text("# Kiln\n")
    ran = onepen("doctor", "-C", "ws", "--json")
    assert ran.code == 1
    assert "projects/Kiln.md" in {problem["path"] for problem in ran.json["problems"]}


def test_a_client_that_is_not_there_is_named_with_those_that_are(onepen: Program) -> None:
    onepen.ok("add", "client", "acme", "-C", "ws")
    for args in (["drafts"], ["log", "x"], ["search", "x"], ["context"], ["history"], ["add", "project", "p"]):
        ran = onepen(*args, "--client", "acmee", "-C", "ws")
        assert refused(ran) and "acme" in ran.err.replace("acmee", "")
