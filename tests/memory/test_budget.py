from textwrap import dedent

from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.budget import first_lines, lines_of, shares, shortened
from onepen.memory.recent import recent
from onepen.memory.tokens import estimate

LOG = "memory/2026-11-29.md"
TEXTS = st.text(alphabet=st.sampled_from("ab é漢🔥\n.1"), max_size=600)


def test_a_text_within_its_budget_is_left_alone() -> None:
    assert first_lines("one\ntwo", 100, "OPS.md").text == "one\ntwo"
    assert first_lines("one\ntwo", 100, "OPS.md").left_out == 0


def test_a_note_says_where_to_read_on() -> None:
    text = dedent("""\
        first
        second
    """)
    cut = first_lines(text + "word word word\n" * 100, 60, "clients/acme/OPS.md")
    assert cut.text.startswith(text)
    shown = len(lines_of(cut.text)) - 1
    assert cut.left_out == 102 - shown
    tokens = estimate("word word word\n" * cut.left_out)
    assert lines_of(cut.text)[-1] == (
        f"(… {cut.left_out} more lines are not shown here, ≈{tokens} tokens: "
        f'read_card "clients/acme/OPS.md" from start {shown + 1})\n'
    )


def test_one_long_line_is_shown_in_part() -> None:
    cut = first_lines("word " * 500, 100, "MEMORY.md")
    assert cut.text.startswith("word word word ")
    assert "…\n(… 1 more line is not shown here" in cut.text
    assert 'read_card "MEMORY.md" from start 1)' in cut.text
    assert 80 < estimate(cut.text) <= 100


def test_the_newest_lines_of_a_log_stay_and_the_others_are_counted_by_kind() -> None:
    log = "".join(f"- 14:{k:02}+01:00 [note] line {k}\n" for k in range(60))
    cut = recent(log, 200, LOG)
    head, _, rest = cut.text.partition("\n")
    count = f"(… {cut.left_out} other lines are not shown here (note {cut.left_out})"
    assert head == f'{count}: read_card "{LOG}", or a search)'
    assert rest.endswith("line 59\n")
    assert log.endswith(rest)


def test_a_night_of_drafts_does_not_push_out_what_somebody_said() -> None:
    drafts = "- 03:00+01:00 [draft] research/c.md: created (draft t1-1 by researcher, accepted by user:ana)\n"
    log = "- 21:00+01:00 [decision] The kiln goes.\n" + drafts * 1_000 + "- 08:00+01:00 [note] Ana called.\n"
    cut = recent(log, 250, LOG)
    lines = cut.text.splitlines()
    assert lines[1] == "- 21:00+01:00 [decision] The kiln goes."
    assert lines[-1] == "- 08:00+01:00 [note] Ana called."
    assert f"(draft {cut.left_out:,})" in lines[0]
    assert len(lines) - 3 == 1_000 - cut.left_out > 0


def test_a_long_line_of_a_log_leaves_room_for_others() -> None:
    cut = recent("- 08:00+01:00 [note] Ana called.\n- 09:00+01:00 [note] " + "word " * 900, 200, LOG)
    assert "Ana called." in cut.text
    assert cut.text.startswith("(… 1 other line is not shown here (note 1)")
    assert cut.text.endswith("…\n")


@given(TEXTS, st.integers(60, 300))
def test_a_cut_text_keeps_to_its_budget_and_is_never_silent(text: str, tokens: int) -> None:
    for cut in (first_lines(text, tokens, "OPS.md"), recent(text, tokens, LOG)):
        assert estimate(cut.text) <= tokens
        assert (cut.text == text) == (cut.left_out == 0)
        assert cut.left_out == 0 or "not shown here" in cut.text


@given(st.text(max_size=200), st.integers(0, 60))
def test_a_shortened_line_is_a_beginning(line: str, tokens: int) -> None:
    cut = shortened(line, tokens)
    assert estimate(cut) <= tokens
    assert line.startswith(cut.removesuffix("…\n"))


@given(st.lists(st.integers(0, 5_000), max_size=6), st.integers(-100, 6_000))
def test_nobody_who_wants_much_starves_the_others(wanted: list[int], room: int) -> None:
    granted = shares(wanted, room)
    assert sum(granted) <= max(0, room)
    least = max(0, room) // max(1, len(wanted))
    assert all(min(want, least) <= got <= want for want, got in zip(wanted, granted, strict=True))
    if sum(wanted) <= room:
        assert granted == tuple(wanted)
