from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.budget import first_lines, last_lines, within_budget
from onepen.memory.tokens import estimate


def block(name: str, updated: str, status: str = "active", entries: int = 3) -> str:
    head = f"## [{name}]({name}.md)\nstatus: {status} · updated: {updated}\n\n"
    return (
        head
        + "".join(f"- [s{k}]({name}.md#s{k}) — What stands in section {k}. `word`\n" for k in range(entries))
        + "\n"
    )


def test_an_index_within_its_budget_is_left_alone() -> None:
    text = "# Projects\n\n" + block("kiln", "2026-11-03")
    assert within_budget(text, 1_000).text == text
    assert within_budget(text, 1_000).left_out == 0


def test_what_is_at_work_and_changed_last_stays_in_its_order() -> None:
    blocks = [block("old", "2026-01-01"), block("rest", "2026-11-29", "archived"), block("new", "2026-11-28")]
    whole = "# Projects\n\n" + "".join(blocks)
    budget = estimate(blocks[0] + blocks[2]) + 60
    cut = within_budget(whole, budget)
    assert (
        cut.text
        == "# Projects\n\n" + blocks[0] + blocks[2] + "\n(… 1 more cards are not shown here; search finds them)\n"
    )
    assert cut.left_out == 1


def test_a_large_block_ends_after_an_entry_and_says_how_many_follow() -> None:
    cut = within_budget(block("kiln", "2026-11-03", entries=100), 300)
    lines = cut.text.splitlines()
    shown = [line for line in lines if line.startswith("- [s")]
    assert 0 < len(shown) < 100
    assert lines[-1] == f"- … {100 - len(shown)} more sections of this card; read_card shows them"
    assert cut.left_out


@given(
    st.lists(st.tuples(st.integers(1, 28), st.sampled_from(["active", "done"]), st.integers(0, 40)), max_size=12),
    st.integers(100, 1_500),
    st.text(max_size=400),
)
def test_a_cut_text_keeps_to_its_budget_and_is_never_silent(
    cards: list[tuple[int, str, int]], budget: int, head: str
) -> None:
    whole = head + "\n" + "".join(block(f"c{k}", f"2026-11-{d:02}", s, n) for k, (d, s, n) in enumerate(cards))
    for cut in (within_budget(whole, budget), first_lines(whole, budget), last_lines(whole, budget)):
        assert estimate(cut.text) <= budget
        assert (cut.text == whole) == (cut.left_out == 0)
        if cut.left_out:
            assert "more" in cut.text or "earlier" in cut.text


@pytest.mark.parametrize("names", [["## a", "## b"], ["no block"]])
def test_an_index_of_another_form_is_cut_too(names: list[str]) -> None:
    assert within_budget("\n".join(f"{name}\n{'word ' * 300}" for name in names), 200).left_out


def test_the_newest_lines_of_a_log_stay() -> None:
    log = "".join(f"- 14:{k:02}+01:00 [note] line {k}\n" for k in range(60))
    cut = last_lines(log, 200)
    assert cut.text.startswith(f"(… {cut.left_out} earlier lines are not shown here; search finds them)\n- 14:")
    assert cut.text.endswith("line 59\n")
    assert log.endswith(cut.text.partition("\n")[2])


def test_the_first_lines_of_a_text_stay() -> None:
    text = dedent("""\
        first
        second
    """)
    assert first_lines(text + "word " * 500, 100).text.startswith(text)
