import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.ids import AgentId, CardId, ClientId, TaskId
from onepen.staging.sheet import SheetUnreadable, TaskSheet, parse_sheet, render_sheet

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=200)
NAME = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30)


@given(
    client=st.none() | st.just(ClientId("acme")),
    project=st.none() | st.just(CardId("kiln")),
    target=st.none() | st.just("research/cones.md"),
    text=TEXT | st.just("a\n\n<!-- inputs -->\n- b\n"),
    review=st.sampled_from(["person", "auto"]),
    answer=st.booleans(),
    model=st.sampled_from(["offline", "no", "0123", "scripted:a b: c # d.json"]),
    seconds=st.integers(1, 86_400),
    inputs=st.lists(NAME, max_size=4),
)
def test_a_sheet_reads_back_as_it_was(
    client: ClientId | None,
    project: CardId | None,
    target: str | None,
    text: str,
    review: str,
    answer: bool,
    model: str,
    seconds: int,
    inputs: list[str],
) -> None:
    sheet = TaskSheet(
        task=TaskId("k3x9ab"),
        agent=AgentId("researcher"),
        client=client,
        project=project,
        target=target,
        text=text,
        created="2026-11-29T14:05:00+01:00",
        review="auto" if review == "auto" else "person",
        answer=answer,
        model=model,
        seconds=seconds,
        inputs=tuple(inputs),
    )
    assert parse_sheet(render_sheet(sheet)) == sheet


def test_five_hundred_inputs_fit() -> None:
    names = tuple(f"docs/a-rather-long-folder-name/file-number-{n}.md" for n in range(500))
    sheet = TaskSheet(TaskId("a"), AgentId("b"), None, None, None, "text", "2026-11-29T14:05+01:00", inputs=names)
    assert parse_sheet(render_sheet(sheet)).inputs == names


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no front matter"),
        ("---\ntask: a\n", "closes"),
        ("---\ntask: a\nagent: b\n---\ntext", "created"),
        ("---\ntask: A B\nagent: b\ncreated: now\n---\ntext", "task id"),
        ("---\ntask: a\nagent: b\ncreated: now\nseconds: 0\n---\ntext", "seconds"),
        ("---\ntask: a\nagent: b\ncreated: now\nreview: never\n---\ntext", "review"),
    ],
)
def test_what_is_no_sheet_is_said_in_one_line(text: str, says: str) -> None:
    with pytest.raises(SheetUnreadable) as caught:
        parse_sheet(text)
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_a_sheet_written_by_hand_needs_no_list_of_inputs() -> None:
    sheet = parse_sheet("---\ntask: a\nagent: b\ncreated: now\n---\nWhich cone?\n")
    assert (sheet.text, sheet.inputs, sheet.review, sheet.model) == ("Which cone?\n", (), "person", "offline")
