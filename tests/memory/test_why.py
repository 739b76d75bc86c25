"""Where a sentence comes from: histories in, commits out."""

import pytest

from onepen.memory.history import Commit, TextChange
from onepen.memory.recall.why import (
    Stands,
    brought,
    brought_in_part,
    brought_to_index,
    stands_in,
    taken_out,
    words_of,
)


def commit(number: int, *changes: TextChange, what: str = "x") -> Commit:
    paths = tuple(dict.fromkeys(change.path for change in changes)) or ("memory/2026-11-30.md",)
    return Commit(
        1, f"c{number}-aaaaaa", None, "2026-11-30T14:05:00+01:00", "user:ana", what, *(None,) * 4, (), paths, changes
    )


def came(new: str, old: str = "", path: str = "projects/kiln.md") -> TextChange:
    return TextChange(path, "firing", old, new)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- Fire at *1220* °C,\n  says _Ana_.\n", "fire at 1220 c says ana"),
        ('> - [x] "Fire" at `1220`\n', "x fire at 1220"),
        ("12. see [the log](logs/a.md:3) now", "see the log now"),
        ("| cone 6 | snake_case |", "cone 6 snake_case"),
        ("### Größe – „Cafe\u0301“\r\n", "grösse café"),
        ("窯は1220度。", "窯は1220度"),
        ("-12 degrees and #hash", "12 degrees and hash"),
        (" \n> \n", ""),
    ],
)
def test_a_text_is_compared_by_its_words(text: str, words: str) -> None:
    assert words_of(text) == words


def ids(found: tuple[object, ...]) -> list[str]:
    return [one.commit.id for one in found]  # type: ignore[attr-defined]


def test_the_commits_that_brought_it_newest_first_however_it_is_wrapped() -> None:
    commits = [
        commit(1, came("- Fire at 1220\n  since 3 Nov, says Ana.\n")),
        commit(
            2, came("- Fire at 1220 since 3 Nov, says Ana.\n- soak\n", "- Fire at 1220\n  since 3 Nov, says Ana.\n")
        ),
        commit(3, came("", "- Fire at 1220 since 3 Nov, says Ana.\n")),
        commit(4, came("- fire at 1220 since 3 Nov\n", path="research/x.md")),
    ]
    found = brought(commits, "Fire at 1220 since 3 Nov")
    assert ids(found) == ["c4-aaaaaa", "c1-aaaaaa"], "the second only wrapped it anew, the third took it out"
    assert found[1].lines == ("- Fire at 1220", "  since 3 Nov, says Ana.")
    assert found[0].where == (("research/x.md", "firing"),)
    assert ids(brought(commits, "1220\nsince")) == ["c4-aaaaaa", "c1-aaaaaa"]
    assert brought(commits, "Fire at 1221") == () and brought(commits, " > ") == ()
    gone = taken_out(commits, "says Ana")
    assert gone is not None and gone.id == "c3-aaaaaa"


def test_who_moved_a_text_or_brought_it_again_did_not_take_it_out() -> None:
    commits = [
        commit(1, came("- Fire at 1220\n")),
        commit(2, came("", "- Fire at 1220\n")),
        commit(3, came("- Fire at 1220\n")),
    ]
    assert taken_out(commits, "Fire at 1220") is None, "the second did, and then it came back"
    moved = commit(4, came("", "- Fire at 1220\n"), came("- Fire at 1220\n", path="projects/anagama.md"))
    assert taken_out([*commits, moved], "Fire at 1220") is None
    gone = taken_out([*commits, moved, commit(5, came("", "- Fire at 1220\n", path="projects/anagama.md"))], "fire at")
    assert gone is not None and gone.id == "c5-aaaaaa"


def test_notes_and_summaries() -> None:
    index = came("- [firing](kiln.md#firing) — At 1220 since 3 Nov. (auto)\n", path="projects/_index.md")
    commits = [commit(1, came("- At 1220\n"), index), commit(2, what="[note] called Ana at 12")]
    assert ids(brought(commits, "called ana")) == ["c2-aaaaaa"]
    assert brought(commits, "1220 since 3 Nov") == (), "a summary is not what a card says"
    assert ids(brought_to_index(commits, "1220 since 3 Nov")) == ["c1-aaaaaa"]


def test_a_sentence_that_came_in_pieces_is_told_line_by_line() -> None:
    commits = [
        commit(1, came("We fire the second\nkiln at twelve hundred\n")),
        commit(2, came("kiln at 1220 degrees\n", "kiln at twelve hundred\n")),
        commit(3, came("We fire the second\n", path="research/other.md")),
    ]
    now = "# Kiln\n\nWe fire the second\nkiln at 1220 degrees\nand let it cool\n"
    sentence = "we fire the second kiln at 1220 degrees"
    assert brought(commits, sentence) == ()
    stands = tuple(stands_in("projects/kiln.md", now, words_of(sentence)))
    assert stands == (Stands("projects/kiln.md", 3, ("We fire the second", "kiln at 1220 degrees")),)
    found = brought_in_part(commits, stands)
    assert [(one.commit.id, one.lines, one.whole) for one in found] == [
        ("c2-aaaaaa", ("kiln at 1220 degrees",), False),
        ("c1-aaaaaa", ("We fire the second",), False),
    ]


def test_every_place_where_it_stands_is_found_with_its_line() -> None:
    text = "a b\n\nc a\n  b c\n- a\n- b\n"
    assert [(place.line, place.lines) for place in stands_in("x.md", text, "a b")] == [
        (1, ("a b",)), (3, ("c a", "  b c")), (5, ("- a", "- b")),
    ]  # fmt: skip
    assert list(stands_in("x.md", text, "")) == []
