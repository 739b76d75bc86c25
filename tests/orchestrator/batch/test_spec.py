"""batch.toml: a value in, a text that a person can read out, and back."""

import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.ids import AgentId, ClientId
from onepen.orchestrator.batch.spec import BatchId, BatchSpec, SpecUnreadable, parse_spec, render_spec

SPEC = BatchSpec(
    batch=BatchId("500-0123abcd"),
    name="in/500.csv",
    created="2026-11-29T09:30:00+01:00",
    by="user:ana",
    input="input.csv",
    input_sha256="0" * 64,
    tasks_sha256="1" * 64,
    tasks=500,
    prompt="Write on {name}.\n\nKeep it short; don't guess.\n",
    target="research/{name}.md",
    agent=AgentId("writer"),
    client=ClientId("acme"),
    inputs=("notes.md", "tone/voice.md"),
    review="auto",
    concurrency=20,
    budget_usd=5.0,
    max_failures=0,
)


def test_it_reads_as_a_person_would_write_it() -> None:
    assert (
        render_spec(SPEC)
        == """\
# What this batch was asked to do. Its tasks are in tasks.jsonl, what became of them in run.jsonl.
# It is begun: a change here starts nothing anew, and takes back what was allowed for it.
version = 1
batch = "500-0123abcd"
name = "in/500.csv"
created = "2026-11-29T09:30:00+01:00"
by = "user:ana"

# The rows as they came, and the tasks that were made of them.
input = "input.csv"
input_sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
tasks = 500
tasks_sha256 = "1111111111111111111111111111111111111111111111111111111111111111"

# What each task is told, and where its result goes: {field} is a row's field. Without a prompt a row's
# text is the task; a row's own client, project, agent or target comes before what stands here.
prompt = '''
Write on {name}.

Keep it short; don't guess.
'''
target = "research/{name}.md"
agent = "writer"
client = "acme"
inputs = ["notes.md", "tone/voice.md"]

# How it runs. Review and budget count where a person gave them on this machine, and only then.
review = "auto"
via = "messages"
concurrency = 20
budget_usd = 5.0
max_failures = 0
"""
    )
    assert parse_spec(render_spec(SPEC)) == SPEC


@pytest.mark.parametrize(
    "prompt",
    ["", "x", "x\n", "\n\n", "a\nb'", "a\n'''\nb", 'a\n"""\\n\\', "a\r\nb\r\n", "a\n\x00\x1f\x7f\tb", "a\nb''"],
)
def test_a_prompt_is_kept_to_the_character(prompt: str) -> None:
    assert parse_spec(render_spec(replace(SPEC, prompt=prompt))).prompt == prompt


TEXT = st.text(st.characters(codec="utf-8"))
LINE = st.text(st.characters(codec="utf-8"), min_size=1, max_size=400)


@given(
    st.builds(
        replace,
        st.just(SPEC),
        prompt=st.none() | TEXT | st.lists(st.sampled_from(["'", '"', "\\", "\n", "n", "\r", "a"])).map("".join),
        name=LINE,
        target=st.none() | TEXT,
        inputs=st.lists(LINE, max_size=3).map(tuple),
        answer=st.booleans(),
        review=st.none() | st.sampled_from(["person", "auto"]),
        via=st.sampled_from(["messages", "message-batches"]),
        review_via=st.none() | st.sampled_from(["messages", "message-batches"]),
        budget_usd=st.none() | st.floats(0, 1_000_000),
        max_turns=st.none() | st.integers(1, 1_000),
        time_limit=st.none() | st.integers(1, 86_400),
    )
)
def test_what_is_written_is_read_again(spec: BatchSpec) -> None:
    text = render_spec(spec)
    tomllib.loads(text)
    assert parse_spec(text) == spec


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("tasks = 500", "tasks = '500'", "batch.toml:12: tasks must be a whole number"),
        ("tasks = 500", "tasks = 0", "batch.toml:12: tasks must be at least 1"),
        ("tasks = 500\n", "", "batch.toml: tasks is missing: add it"),
        ('review = "auto"', 'review = "none"', "review must be person or auto"),
        ("budget_usd = 5.0", "budget_usd = inf", "budget_usd"),
        ("budget_usd = 5.0", "budget = 5.0", "budget is not known here"),
        ('client = "acme"', 'client = "../acme"', "batch.toml: client id '../acme': an id is"),
        ('batch = "500-0123abcd"', 'batch = "A"', "batch.toml: batch id 'A': an id is"),
        (
            'input = "input.csv"',
            'input = "../../x"',
            "batch.toml:10: input is '../../x', which can't be one",
        ),
        ("version = 1", "version = 2", "version must be 1"),
        ("version = 1", "version", "batch.toml: this is not TOML"),
        ("version = 1", "<<<<<<< HEAD", "batch.toml: this is not TOML"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(old: str, new: str, told: str) -> None:
    text = render_spec(SPEC)
    assert old in text
    with pytest.raises(SpecUnreadable) as caught:
        parse_spec(text.replace(old, new))
    assert told in caught.value.message


def test_a_whole_number_of_dollars_is_a_budget() -> None:
    assert parse_spec(render_spec(SPEC).replace("budget_usd = 5.0", "budget_usd = 5")).budget_usd == 5
