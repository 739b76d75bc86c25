from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.exam.names import alike, is_left, name_problems
from onepen.memory.ids import id_from_title, same_but_case


def kinds(*names: str, ending: str = ".md") -> list[tuple[str, str]]:
    return [(p.path, p.kind) for p in name_problems("projects/", names, ending=ending)]


def test_names_that_differ_only_in_case_or_form_are_twins() -> None:
    assert kinds("kiln.md", "Kiln.md", "loom.md") == [("projects/Kiln.md", "name_twins")]
    assert kinds("strasse.md", "straße.md") == [("projects/strasse.md", "name_twins")]
    assert kinds("i.md", "İ.md") == [("projects/i.md", "name_twins")]
    assert kinds("e\u0301.md", "é.md") == [("projects/e\u0301.md", "name_twins")]
    assert kinds("acme", "Acme", ending="") == [("projects/Acme", "name_twins")]


def test_a_name_that_is_no_id_says_which_rule_it_breaks() -> None:
    [problem] = name_problems("projects/", ["two words.md"])
    assert str(problem) == (
        "projects/two words.md: not read: id 'two words': "
        "an id is 1 to 64 of a-z, 0-9 and '-', and begins with a letter or digit"
    )
    assert kinds("con.md", "-rf.md", "Kiln.md", "a.b.md") == [
        (f"projects/{name}", "name_no_id") for name in ("-rf.md", "Kiln.md", "a.b.md", "con.md")
    ]


def test_copies_that_sync_services_leave_are_told_apart_from_cards() -> None:
    copies = [
        "kiln (Ana's conflicted copy 2026-11-29).md",
        "kiln (conflicted copy 2026-11-29 101010).md",
        "kiln.sync-conflict-20261129-101010-ABCDEFG.md",
        "kiln (Ana in Konflikt stehende Kopie 2026-11-29).md",
        "kiln (1).md",
        "kiln 2.md",
        "kiln - Copy.md",
    ]
    assert kinds("kiln.md", *copies) == [(f"projects/{name}", "conflict_copy") for name in sorted(copies)]
    assert kinds("sync-conflict.md", "kiln-conflict.md") == []
    assert kinds("kiln 2.md") == [("projects/kiln 2.md", "name_no_id")]


def test_remnants_of_a_crash_are_named_with_their_commit() -> None:
    assert kinds(".kiln.md.c4-abcdef.tmp") == [("projects/.kiln.md.c4-abcdef.tmp", "leftover")]
    [problem] = name_problems("projects/", ["kiln.md", "kiln.md.due-c4-abcdef"])
    assert problem.kind == "kept_beside"
    assert "commit c4-abcdef was to write into kiln.md" in problem.message


@given(st.text(min_size=1, max_size=80))
def test_a_name_that_onepen_makes_is_never_a_problem(title: str) -> None:
    if title.strip() and title.isprintable():
        name = id_from_title(title) + ".md"
        assert kinds(name) == []
        assert not is_left(name, frozenset({"kiln.md"}))


@given(st.text())
def test_a_name_is_like_itself_in_any_case(name: str) -> None:
    assert alike(alike(name)) == alike(name)
    assert alike(name.upper().lower()) == alike(name.upper().lower().upper().lower())


NAMES = st.text(st.sampled_from("aAkKsß.ıİΣσς\u212a"), max_size=3)


@given(NAMES, st.lists(NAMES, max_size=6))
def test_names_that_differ_in_case_only_are_found_at_one_look(name: str, names: list[str]) -> None:
    assert same_but_case(name, names) == [one for one in names if one.casefold() == name.casefold()]
