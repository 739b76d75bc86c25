"""batches/<batch>/: its tasks written and read, and how a batch is found."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onepen.memory.links import LinkLeadsOut
from onepen.orchestrator.batch.folder import (
    BatchFolder,
    NoSuchBatch,
    TasksUnreadable,
    batch_ids,
    begun_ids,
    find_batch,
    read_items,
    tasks_jsonl,
)
from onepen.orchestrator.batch.item import Item
from onepen.orchestrator.errors import AmbiguousId

KEY = "0123456789abcdef" * 2
ITEM = Item(KEY, 2, "Why?", "writer", "claude-sonnet-5-5")


def item(k: int) -> Item:
    text = f"Write on the kiln number {k}.\n" * 10
    target = f"research/kiln-{k}.md"
    return Item(f"{k:032x}", k + 2, text, "writer", "claude-sonnet-5-5", "acme", "kiln", target, f"id {k}", (k + 3,))


def test_a_task_is_one_line_of_what_there_is_to_say() -> None:
    assert tasks_jsonl((ITEM,)).decode() == (
        f'{{"v": 1, "key": "{KEY}", "line": 2, "agent": "writer", "model": "claude-sonnet-5-5", "text": "Why?"}}\n'
    )
    line = json.loads(tasks_jsonl((item(1),)))
    assert list(line) == ["v", "key", "line", "id", "client", "project", "target", "twins", "agent", "model", "text"]


IDS = st.none() | st.sampled_from(["acme", "kiln", "a-b"])
ITEMS = st.builds(
    Item,
    st.integers(0, 2**128 - 1).map("{:032x}".format),
    st.integers(1, 10**6),
    st.text(st.characters(codec="utf-8")),
    st.sampled_from(["writer", "researcher"]),
    st.text(st.characters(codec="utf-8"), min_size=1),
    IDS,
    IDS,
    st.none() | st.sampled_from(["research/x.md", "projects/kiln/a.csv", "MEMORY.md"]),
    st.text(st.characters(codec="utf-8"), max_size=9),
    st.lists(st.integers(1, 10**6), max_size=3).map(tuple),
)


@given(st.lists(ITEMS, max_size=5, unique_by=lambda one: one.key))
def test_what_is_written_is_read_again(items: list[Item]) -> None:
    assert read_items(tasks_jsonl(items)) == tuple(items)


def changed(**fields: Any) -> bytes:
    return tasks_jsonl((item(1),)) + json.dumps({**json.loads(tasks_jsonl((ITEM,))), **fields}).encode() + b"\n"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (changed(v=2), "tasks.jsonl:2: not a task of this version"),
        (changed(key="x"), "tasks.jsonl:2: key must be 32 hex digits"),
        (changed(key=f"{1:032x}"), f"tasks.jsonl:2: key {1:032x} stands twice"),
        (changed(text=None), "tasks.jsonl:2: key, model, text and id must be texts"),
        (changed(line=True), "tasks.jsonl:2: line and twins must be numbers of lines"),
        (changed(twins=["3"]), "tasks.jsonl:2: line and twins must be numbers of lines"),
        (changed(twins=3), "tasks.jsonl:2: twins must be a list"),
        (changed(client="../../home"), "tasks.jsonl:2: client id '../../home': an id is"),
        (changed(client=["acme"]), "tasks.jsonl:2: client id: must be a text"),
        (changed(agent="rules"), "tasks.jsonl:2: agent id 'rules': this name is reserved"),
        (changed(target="SOUL.md"), "tasks.jsonl:2: target 'SOUL.md'"),
        (changed(target="research/con.md"), "tasks.jsonl:2: card id 'con': this name is reserved"),
        (changed(review="auto"), "tasks.jsonl:2: 'review' is not known here"),
        (changed() + b"<<<<<<< HEAD\n", "tasks.jsonl:3: no line of JSON"),
        (changed() + b"[]\n", "tasks.jsonl:3: not a task of this version"),
        (changed() + b'{"v": 1}\n', "tasks.jsonl:3: a task has key, line, agent, model and text"),
        (changed()[:-9], "tasks.jsonl:2: this line was cut short"),
        (changed() + b"\xff\n", "tasks.jsonl:3: not UTF-8 text"),
    ],
)
def test_a_file_that_somebody_changed(data: bytes, told: str) -> None:
    with pytest.raises(TasksUnreadable) as caught:
        read_items(data)
    assert caught.value.message.startswith(told)


def test_ten_thousand_tasks_are_read_in_a_moment() -> None:
    """150 ms are promised; a busy machine is given more here."""
    data = tasks_jsonl(map(item, range(10_000)))
    began = time.process_time()
    assert len(read_items(data)) == 10_000
    assert time.process_time() - began < 0.6


def test_a_batch_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    assert batch_ids(root) == ()
    for name in ("500-aaaa", "500-aabb", "night-1", "unfinished", "Not an id"):
        (root / "batches" / name).mkdir(parents=True)
        if name != "unfinished":
            (root / "batches" / name / "batch.toml").write_text("")
    (root / "batches" / "note").write_text("")
    assert batch_ids(root) == ("500-aaaa", "500-aabb", "night-1")
    assert begun_ids(root) == ("500-aaaa", "500-aabb", "night-1", "unfinished")
    found = find_batch(root, "n")
    assert (found.path, found.batch) == (root / "batches" / "night-1", "night-1")
    assert found.context("acme") == found.path / "context" / "acme"
    assert found.context(None) == found.path / "context" / "_house"
    assert find_batch(root, "500-aabb").batch == "500-aabb"
    with pytest.raises(AmbiguousId, match="fits 2 ids: 500-aaaa, 500-aabb"):
        find_batch(root, "500")
    for prefix in ("", "unfinished", "../x", "x"):
        with pytest.raises(NoSuchBatch):
            find_batch(root, prefix)


def test_a_batch_that_is_a_link_is_not_opened(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "ws"
    (root / "batches").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "batch.toml").write_text("")
    (root / "batches" / "night-1").symlink_to(tmp_path / "elsewhere")
    assert batch_ids(root) == ("night-1",)
    with pytest.raises(LinkLeadsOut):
        find_batch(root, "night-1")


def test_each_thing_has_its_place() -> None:
    folder = BatchFolder(Path("/ws/batches/b"))
    places = (folder.spec_file, folder.tasks_file, folder.run_journal, folder.inputs, folder.report_file)
    more = (folder.picture_file, folder.sent_file, folder.replies)
    assert [path.name for path in (*places, *more)] == [
        "batch.toml",
        "tasks.jsonl",
        "run.jsonl",
        "inputs",
        "report.md",
        "progress.svg",
        "message-batches.jsonl",
        "replies",
    ]
