from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.guard import UnsafeFile
from onepen.memory.snapshot import SNAPSHOT_FILES, load
from onepen.subagents.messages import Text, user
from onepen.subagents.prompt import (
    TaskWords,
    first_message,
    prefix_sha,
    read_snapshot,
    system_blocks,
    task_words,
    tools,
)
from onepen.testing.bench import Bench, agent

FILES = tuple((name, f"text of {name}\n") for name in SNAPSHOT_FILES)
POET = "---\nname: poet\n---\nYou write verse.\n"


def test_what_is_shared_comes_first() -> None:
    shared, indexes, own = system_blocks(FILES, agent())
    assert [line for line in shared.splitlines() if line.startswith("text")] == [
        "text of RULES.md", "text of OPS.md", "text of BRIEF.md", "text of agents.md",
    ]  # fmt: skip
    assert indexes == (
        '<file path="projects/_index.md">\ntext of projects.md\n</file>\n'
        '<file path="research/_index.md">\ntext of research.md\n</file>\n'
    )
    assert own == '<agent id="researcher">\nYou find out what the sources say.\n</agent>\n'
    assert system_blocks(FILES, agent(POET))[:2] == (shared, indexes)


@given(st.lists(st.tuples(st.sampled_from(SNAPSHOT_FILES), st.text(st.characters(exclude_categories=["Cs"])))))
def test_each_block_ends_with_a_newline(files: list[tuple[str, str]]) -> None:
    assert all(block.endswith("\n") for block in system_blocks(files, agent("")))


def test_empty_files_are_left_out() -> None:
    assert system_blocks((("OPS.md", "a"), ("BRIEF.md", " \n")), agent())[0] == '<file path="OPS.md">\na\n</file>\n'


def test_a_worker_reads_what_was_stored(bench: Bench) -> None:
    assert read_snapshot(bench.root / "snapshot") == load(bench.root / "snapshot").files
    (bench.root / "snapshot" / "OPS.md").unlink()
    (bench.root / "snapshot" / "OPS.md").symlink_to(Path("/etc/hostname"))
    with pytest.raises(UnsafeFile):
        read_snapshot(bench.root / "snapshot")


def test_the_prefix_has_one_hash() -> None:
    one = prefix_sha("m", system_blocks(FILES, agent()), tools())
    assert one == prefix_sha("m", list(system_blocks(FILES, agent())), list(tools()))
    assert one != prefix_sha("n", system_blocks(FILES, agent()), tools())
    assert one != prefix_sha("m", system_blocks(FILES, agent(POET)), tools())
    assert one != prefix_sha("m", system_blocks(FILES, agent()), tools()[1:])


words = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("#\n- "), max_size=60)
names = st.lists(st.from_regex(r"[a-z][a-z0-9/. -]{0,20}[a-z]", fullmatch=True), max_size=4, unique=True).map(tuple)


@given(
    words, names, st.none() | st.just("projects/kiln.md"), st.none() | words, st.booleans(), st.none() | st.just("kiln")
)
def test_a_task_reads_back_as_it_was(
    text: str, inputs: tuple[str, ...], target: str | None, feedback: str | None, answer: bool, project: str | None
) -> None:
    said = feedback and feedback.rstrip("\n")  # a text ends with one line end there, however many it had
    task = TaskWords(text.rstrip("\n"), inputs, target, said, answer, project)
    assert task_words(first_message(task)) == task


def test_how_a_task_looks() -> None:
    task = TaskWords("When?", ("a.md", "b/c.md"), "research/cones.md", "too long", True)
    assert [block.text for block in first_message(task).content if isinstance(block, Text)] == [
        "# Task\n\nWhen?\n",
        "# Target\n\nThe result goes to research/cones.md\n",
        "# Inputs\n\nDocuments for read_input:\n- a.md\n- b/c.md\n",
        "# Feedback\n\nAn earlier draft was sent back:\ntoo long\n",
        "# Answer\n\nA person is waiting for words: put the answer into report, write no draft.\n",
    ]


def test_many_inputs_are_not_all_named() -> None:
    task = TaskWords("When?", tuple(f"{k}.md" for k in range(500)))
    message = first_message(task)
    assert "(300 more: search finds lines in all of them)" in message.text
    read = task_words(message)
    assert read is not None and read.inputs == task.inputs[:200]


def test_another_message_is_no_task() -> None:
    assert task_words(user(Text("hello"))) is None


def test_half_characters_do_not_reach_the_model() -> None:
    assert first_message(TaskWords("a \ud83d b")).text == "# Task\n\na \ufffd b\n"
