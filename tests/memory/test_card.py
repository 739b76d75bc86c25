import time
from datetime import date
from textwrap import dedent

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from onepen.memory.ids import CardId
from onepen.memory.target import CardTarget, NoteTarget
from onepen.memory.text.card import (
    CardEdit,
    CardExists,
    EditKind,
    EditRefused,
    FenceOpen,
    NoSuchCard,
    NoSuchSection,
    NothingToChange,
    OldTextAmbiguous,
    OldTextEmpty,
    OldTextNotFound,
    SectionMovedOn,
    SectionsHidden,
    TextRefused,
    apply_edit,
    section_sha,
)
from onepen.memory.text.document import parse_document
from onepen.memory.text.frontmatter import parse_front_matter

KILN = CardTarget("projects", CardId("kiln"))
TODAY = date(2026, 11, 30)

CARD = dedent("""\
    ---
    title: Kiln
    updated: 2026-11-01
    ---

    # Kiln

    Lead.

    ## Firing
    - fire at 1200
    - cool slowly

    ## Glaze
    Celadon.
    """)


def change(before: str | None, kind: EditKind, **how: str | None) -> str:
    return apply_edit(before, CardEdit(KILN, kind, **how), TODAY)  # type: ignore[arg-type]


def test_a_passage_is_replaced_and_nothing_else_but_the_date() -> None:
    after = change(CARD, "replace", section="firing", old_text="- fire at 1200\n", text="- fire at 1220\n")
    assert after == CARD.replace("1200", "1220").replace("2026-11-01", "2026-11-30")


def test_a_small_edit_does_not_reformat_the_file() -> None:
    card = '---\nzeta: 1   # remark\nalpha: "q"\ntitle: Kiln 🐙\n---\nold word\n\n\n'
    for text in (card, card.replace("\n", "\r\n"), "\ufeff" + card):
        assert change(text, "replace", old_text="old", text="new") == text.replace("old", "new")


class TestOldText:
    def test_equal_lines_are_counted(self) -> None:
        with pytest.raises(OldTextAmbiguous, match=r"found 3 times.*more context") as refusal:
            change("- fire at 1200\n" * 3, "replace", old_text="- fire at 1200", text="x")
        assert refusal.value.count == 3

    def test_overlapping_places_are_counted(self) -> None:
        with pytest.raises(OldTextAmbiguous, match="found 2 times"):
            change("aaaa\n", "replace", old_text="aaa", text="x")

    def test_empty_is_not_allowed(self) -> None:
        for kind in ("replace", "remove"):
            with pytest.raises(OldTextEmpty, match="empty"):
                change(CARD, kind, old_text="", text="x")

    def test_absent_names_the_closest_line(self) -> None:
        with pytest.raises(OldTextNotFound, match=r"found 0 times.*line 11.*fire at 1200") as refusal:
            change(CARD, "replace", old_text="- fire at 1300", text="x")
        assert (refusal.value.closest, refusal.value.line) == ("- fire at 1200", 11)

    def test_equal_to_the_new_text_changes_nothing(self) -> None:
        with pytest.raises(NothingToChange):
            change(CARD, "replace", old_text="Celadon.", text="Celadon.")

    def test_it_is_searched_in_its_section_only(self) -> None:
        with pytest.raises(OldTextNotFound, match="section glaze"):
            change(CARD, "replace", section="glaze", old_text="- fire at 1200", text="x")
        twice = "# K\n## A\nsame\n## B\nsame\n"
        assert change(twice, "replace", section="b", old_text="same", text="new") == "# K\n## A\nsame\n## B\nnew\n"

    def test_it_is_never_found_in_front_matter(self) -> None:
        with pytest.raises(OldTextNotFound):
            change(CARD, "replace", old_text="title: Kiln", text="x")
        assert "title: Kiln\n" in change(CARD, "replace", old_text="# Kiln", text="# Oven")

    @pytest.mark.parametrize("old", [".*", "(", "\\d", "$", "[a"])
    def test_it_is_text_and_no_pattern(self, old: str) -> None:
        with pytest.raises(OldTextNotFound):
            change("plain 1\n", "replace", old_text=old, text="x")


def test_hostile_text_costs_no_time() -> None:
    begun = time.process_time()
    with pytest.raises(OldTextAmbiguous):
        change("a" * 1_000_000, "replace", old_text="a" * 8_000, text="x")
    with pytest.raises(OldTextNotFound):
        change("# " + "_a " * 300_000 + "\n" + "<!--" * 1000, "replace", old_text="b" * 100_000, text="x")
    for text in ("# " + "[" * 500_000, "```\n" * 100_000, "- " * 300_000 + "```", "<" * 300_000, "# a\n" * 20_000):
        assert change(text, "append", text="x").startswith(text)
    with pytest.raises(FenceOpen):
        change("```\n" * 100_001, "append", text="x")
    assert time.process_time() - begun < 10


class TestLineEnds:
    CRLF = "title line\r\nstep one\r\nstep two\r\nend\r\n"

    def test_a_windows_card_stays_one(self) -> None:
        after = change(self.CRLF, "replace", old_text="step one\nstep two", text="a\nb\nc")
        assert after == "title line\r\na\r\nb\r\nc\r\nend\r\n"

    def test_old_text_with_windows_ends_fits_a_unix_card(self) -> None:
        assert change("a\nb\nc\n", "replace", old_text="a\r\nb", text="x\r\ny") == "x\ny\nc\n"

    def test_half_a_line_end_is_no_place_to_cut(self) -> None:
        with pytest.raises(OldTextNotFound):
            change(self.CRLF, "replace", old_text="step one\r", text="x")
        assert change(self.CRLF, "remove", old_text="\nend\n") == self.CRLF.replace("end\r\n", "")

    def test_append_and_create(self) -> None:
        assert change(self.CRLF, "append", text="more\nlines").endswith("end\r\n\r\nmore\r\nlines\r\n")
        created = change(None, "create", text="# K\r\nx\r\n")
        assert "\n" not in created.replace("\r\n", "")

    def test_lines_of_a_mixed_file_that_nobody_touched_stay(self) -> None:
        mixed = "a\r\nb\nc\r\nd\r\n"
        assert change(mixed, "replace", old_text="b\nc", text="x\ny") == "a\r\nx\r\ny\r\nd\r\n"


class TestTheFinalNewline:
    WITH, WITHOUT = "first\nlast line\n", "first\nlast line"

    @pytest.mark.parametrize("card", [WITH, WITHOUT])
    def test_both_cards_obey_one_rule(self, card: str) -> None:
        end = card[len(self.WITHOUT) :]
        assert change(card, "replace", old_text="last line\n", text="x\n") == "first\nx\n"
        assert change(card, "replace", old_text="last line", text="last line\nmore") == f"first\nlast line\nmore{end}"
        assert change(card, "append", text="more") == "first\nlast line\n\nmore\n"

    def test_a_newline_that_was_there_stays(self) -> None:
        assert change(self.WITH, "replace", old_text="last line\n", text="x") == "first\nx\n"
        assert change(self.WITH, "remove", old_text="\nlast line\n") == "first\n"
        assert change(self.WITH, "remove", old_text="last line\n") == "first\n"
        assert change(self.WITHOUT, "remove", old_text="\nlast line") == "first"

    def test_the_next_line_is_never_glued_on(self) -> None:
        assert change("a\nb\nc\n", "replace", old_text="b\n", text="x") == "a\nx\nc\n"
        assert change("a\nb\nc\n", "replace", old_text="\nb", text="x") == "a\nx\nc\n"
        assert change("a\nb\nc\n", "remove", old_text="\nb\n") == "a\nc\n"
        assert (
            change("## A\nx\n\n## B\ny\n", "replace", section="a", old_text="x\n\n", text="z") == "## A\nz\n## B\ny\n"
        )

    def test_only_the_last_line_may_lack_its_newline(self) -> None:
        with pytest.raises(OldTextNotFound):
            change("ab\nab x", "replace", old_text="b x y\n", text="q")
        assert change("ab\nab", "replace", old_text="ab\nab\n", text="q") == "q"


class TestAppend:
    def test_to_a_section_it_stands_before_the_blank_line(self) -> None:
        after = change(CARD, "append", section="firing", text="- open at 90")
        assert "- cool slowly\n- open at 90\n\n## Glaze" in after

    @pytest.mark.parametrize(
        ("end", "new", "between"),
        [
            ("- a\n", "- b", ""),
            ("1. a\n", "2. b", ""),
            ("- a\n  > quote\n", "- b", ""),
            ("| a |\n", "| b |", ""),
            ("> a\n", "> b", ""),
            ("text\n", "- b", "\n"),
            ("- a\n", "text", "\n"),
            ("text\n", "text", "\n"),
            ("text\n\n", "text", ""),
            ("text\n", "\ntext", ""),
            ("text\n", "## New", "\n"),
            ("# Barn\n", "## New", "\n"),
            ("# Barn\n", "text", ""),
            ("text", "text", "\n\n"),
        ],
    )
    def test_paragraphs_are_kept_apart_and_lists_go_on(self, end: str, new: str, between: str) -> None:
        assert change(end, "append", text=new) == f"{end}{between}{new}\n"

    def test_an_empty_card_takes_it_as_it_is(self) -> None:
        assert change("", "append", text="x") == "x\n"

    def test_nothing_to_append(self) -> None:
        with pytest.raises(NothingToChange):
            change(CARD, "append", text=" \n")

    def test_to_a_section_that_is_not_there(self) -> None:
        with pytest.raises(NoSuchSection, match="firing"):
            change(CARD, "append", section="fring", text="x")

    def test_again_and_again(self) -> None:
        text = CARD.rstrip("\n")
        for i in range(3):
            text = change(text, "append", section="glaze", text=f"- {i}")
        assert text.endswith("Celadon.\n\n- 0\n- 1\n- 2\n")


class TestCreate:
    def test_front_matter_and_a_title(self) -> None:
        assert change(None, "create", title="Kiln: two", text="Body.") == dedent("""\
            ---
            title: "Kiln: two"
            status: active
            created: 2026-11-30
            updated: 2026-11-30
            ---

            # Kiln: two

            Body.
            """)

    def test_the_title_is_the_first_heading_else_the_id(self) -> None:
        assert change(None, "create", text="# Oven\n\nx\n").endswith("---\n\n# Oven\n\nx\n")
        assert parse_document(change(None, "create", text="x")).title == "kiln"

    def test_a_section_keeps_its_id(self) -> None:
        document = parse_document(change(None, "create", text="## Firing\nx\n## Glaze\ny\n"))
        assert (document.title, [s.id for s in document.entry_sections()]) == ("Firing", ["firing", "glaze"])

    def test_front_matter_that_a_person_brings_is_kept(self) -> None:
        after = change(None, "create", text="---\nowner: Ana  # hers\nstatus: paused\n---\n# K\nx\n")
        assert after == (
            "---\nowner: Ana  # hers\nstatus: paused\ntitle: K\ncreated: 2026-11-30\nupdated: 2026-11-30\n---\n# K\nx\n"
        )

    def test_never_two_blocks(self) -> None:
        with pytest.raises(TextRefused, match="line 2"):
            change(None, "create", text="---\ntitle: Kiln: two\nowner: a\n---\nx\n")

    def test_what_exists_is_not_written_over(self) -> None:
        with pytest.raises(CardExists):
            change("", "create", text="x")

    def test_a_note_has_no_front_matter(self) -> None:
        edit = CardEdit(NoteTarget("MEMORY.md"), "create", text="# Learned\n- a")
        assert apply_edit(None, edit, TODAY) == "# Learned\n- a\n"

    @given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80), st.text(max_size=20))
    def test_the_body_is_kept_whole(self, text: str, title: str) -> None:
        assume(max(title + " ") < "\ud800" or not any("\ud800" <= c <= "\udfff" for c in title))
        try:
            after = change(None, "create", text=text, title=title)
        except TextRefused:
            assume(False)
        body = text[parse_document(text).body_start :]
        assert body in after
        assert parse_front_matter(after).problem is None


class TestFrontMatterThatCannotBeRead:
    BROKEN = "---\ntitle: Kiln: phase two\nupdated: 2026-11-01\n---\nbody\n"

    def test_an_edit_of_the_body_leaves_the_block_as_it_is(self) -> None:
        assert change(self.BROKEN, "replace", old_text="body", text="text") == self.BROKEN.replace("body", "text")
        assert change(self.BROKEN, "append", text="more") == self.BROKEN + "\nmore\n"

    def test_the_block_itself_is_not_edited(self) -> None:
        with pytest.raises(OldTextNotFound):
            change(self.BROKEN, "replace", old_text="Kiln: phase two", text="x")

    def test_a_date_over_several_lines_is_left_alone(self) -> None:
        card = "---\nupdated: |\n  2026\n---\nbody\n"
        assert change(card, "append", text="x") == card + "\nx\n"

    @pytest.mark.parametrize("text", ["---\ntitle: K\nnever closed\n", "---\nprose\n---\nmore\n"])
    def test_text_that_only_begins_like_a_block_is_text(self, text: str) -> None:
        assert change(text, "append", text="x") == text + "\nx\n"


def test_a_section_that_moved_on_is_refused_and_edits_elsewhere_are_not() -> None:
    shown = section_sha(CARD, "firing")
    elsewhere = CARD.replace("Celadon", "Tenmoku").replace("2026-11-01", "2026-11-29")
    how = {"section": "firing", "old_text": "1200", "text": "1220", "shown": shown}
    assert "1220" in change(elsewhere, "replace", **how)
    with pytest.raises(SectionMovedOn, match="section firing"):
        change(CARD.replace("cool slowly", "cool fast"), "replace", **how)
    assert section_sha("", "firing") == section_sha(CARD, "gone") == section_sha("", None)


def test_a_card_that_is_not_there() -> None:
    for kind in ("append", "replace", "remove"):
        with pytest.raises(NoSuchCard, match="kiln"):
            change(None, kind, old_text="x", text="y")


@pytest.mark.parametrize("text", ["```\ncode", "<!-- note", "~~~~"])
def test_new_text_may_not_swallow_the_headings_behind_it(text: str) -> None:
    with pytest.raises(SectionsHidden, match="Glaze"):
        change(CARD, "append", section="firing", text=text)
    assert change(CARD, "append", section="glaze", text=text).endswith(f"{text}\n")


lines = st.lists(st.sampled_from(["a", "b", "- a", "## A", "", "aa", "x y", "```", "---"]), max_size=8)


@given(lines, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.data())
def test_an_edit_touches_its_own_lines_only(parts: list[str], newline: str, ended: bool, data: st.DataObject) -> None:
    text = newline.join(parts) + (newline if ended and parts else "")
    start = data.draw(st.integers(0, len(text)))
    old = text[start : data.draw(st.integers(start, len(text)))]
    new = data.draw(st.sampled_from(["", "n", "n\n", "\nn", "n\nm"]))
    kind: EditKind = "replace" if new else "remove"
    try:
        after = change(text, kind, old_text=old, text=new)
    except EditRefused:
        return
    at = text.find(old, parse_document(text).body_start)
    if at < 0:  # the last line, which lacks the newline that the old text has
        old = old.removesuffix("\n").removesuffix("\r")
        at = text.rfind(old)
    head, tail = text[:at].removesuffix("\r"), text[at + len(old) :].removeprefix("\n")
    assert after.startswith(head)
    assert after.endswith(tail)
    if "\r\n" in text:
        assert "\n" not in after.replace("\r\n", "")
    # Lines that the old text touches with no more than their newline are still lines of their own.
    mid_line = bool(head) and not head.endswith("\n")
    kept = head.split("\n") if mid_line and old.startswith(("\n", "\r\n")) else head.split("\n")[:-1]
    left = after.replace("\r", "").split("\n")
    assert left[: len(kept)] == [line.removesuffix("\r") for line in kept]
    if old.endswith("\n") and tail:
        assert after[: len(after) - len(tail)].endswith("\n") or after == tail
    if text.endswith("\n") and after:
        assert after.endswith("\n")


@given(lines, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.sampled_from(["x", "- x", "x\n\n", "## N"]))
def test_appending_keeps_what_was_there(parts: list[str], newline: str, ended: bool, new: str) -> None:
    text = newline.join(parts) + (newline if ended and parts else "")
    assume(parts.count("```") % 2 == 0)
    after = change(text, "append", text=new)
    assert after.startswith(text)
    end = newline if "\n" in text else "\n"
    assert after.endswith(new.rstrip("\n") + end * max(1, new.count("\n")))
    assert not text or after[len(text) :].startswith(end) or text.endswith("\n")


OPEN = "# Kiln\n```\ncode\n"


@pytest.mark.parametrize(
    ("card", "what"), [(OPEN, "line 2 opens a code fence"), ("# Kiln\n\n<!-- todo\n", "line 3 opens a comment")]
)
@pytest.mark.parametrize("text", ["## Glaze\nCeladon.\n", "Just words.\n", "## Glaze\n```python\nx\n```\n"])
def test_text_is_not_appended_inside_a_fence_that_nothing_closes(card: str, what: str, text: str) -> None:
    with pytest.raises(FenceOpen, match=f"{what} that nothing closes; close it first"):
        change(card, "append", text=text)


def test_text_that_closes_the_fence_first_can_be_appended() -> None:
    after = change(OPEN, "append", text="```\n\n## Glaze\nCeladon.\n")
    assert [section.id for section in parse_document(after).sections] == ["kiln", "glaze"]
    assert change(OPEN, "replace", old_text="code\n", text="code\n```\n") == "# Kiln\n```\ncode\n```\n"
