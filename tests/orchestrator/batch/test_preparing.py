"""A batch made of a request: read, checked, written, found again."""

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from onepen.memory.links import LinkLeadsOut
from onepen.orchestrator.batch.folder import BatchFolder, TasksUnreadable, batch_ids, tasks_jsonl
from onepen.orchestrator.batch.preparing import NotWhatWasShown, Prepared, RowsUnreadable, load, prepare, store
from onepen.orchestrator.batch.reading import RowsRefused
from onepen.orchestrator.batch.request import BatchRequest
from onepen.orchestrator.batch.spec import SpecUnreadable
from onepen.staging.inputs import NoSuchInput
from tests.orchestrator.batch.toy import Toy

ROWS = "name,client\nAna,acme\nBo,\n"


@pytest.fixture
def asked(tmp_path: Path) -> BatchRequest:
    (tmp_path / "500.csv").write_text(ROWS)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("a\n")
    (tmp_path / "voice.md").write_text("v\n")
    return BatchRequest(
        "in/500.csv",
        path=tmp_path / "500.csv",
        prompt="On {name}",
        agent="writer",
        inputs=(tmp_path / "voice.md", tmp_path / "notes"),
        budget_usd=5.0,
    )


def prepared(request: BatchRequest) -> Prepared:
    return prepare(request, Toy(), created="2026-11-29T09:30:00+01:00", by="user:ana")


def test_what_is_stored_is_loaded_again(asked: BatchRequest, root: Path) -> None:
    ready = prepared(asked)
    assert not (root / "batches").exists()
    folder = store(root, ready)
    assert load(folder) == (ready.spec, ready.items)
    assert batch_ids(root) == (ready.spec.batch,)
    assert (folder.path / "input.csv").read_text() == ROWS
    assert (folder.inputs / "notes" / "a.md").read_text() == "a\n"
    assert ready.spec.inputs == ("voice.md", "notes/a.md")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.path.rglob("*") if path.is_file()}
    assert modes == {0o600}


def test_the_same_request_is_the_same_batch_however_it_runs(asked: BatchRequest, tmp_path: Path) -> None:
    batch = prepared(asked).spec.batch
    assert batch.startswith("500-")
    runs = replace(asked, budget_usd=1.0, concurrency=7, review="auto", via="message-batches", max_failures=3, sample=5)
    assert prepared(runs).spec.batch == batch
    others = [
        replace(asked, prompt="About {name}"),
        replace(asked, target="research/{name}.md"),
        replace(asked, agent="researcher"),
        replace(asked, model="offline"),
        replace(asked, client="acme"),
        replace(asked, inputs=asked.inputs[:1]),
        replace(asked, answer=True),
        replace(asked, path=None, data=ROWS + "Cy,\n"),
    ]
    assert len({batch, *(prepared(other).spec.batch for other in others)}) == len(others) + 1
    (tmp_path / "voice.md").write_text("w\n")
    assert prepared(asked).spec.batch != batch


def test_rows_from_stdin(root: Path) -> None:
    ready = prepared(BatchRequest("-", data='{"text": "Why?"}\n', agent="writer"))
    assert (ready.spec.input, ready.spec.batch[:6]) == ("input.jsonl", "stdin-")
    assert load(store(root, ready)) == (ready.spec, ready.items)
    with pytest.raises(RowsRefused, match="stdin: holds no rows"):
        prepared(BatchRequest("-", data=""))
    with pytest.raises(RowsRefused, match="stdin:2: not UTF-8 text"):
        prepared(BatchRequest("-", data="text\n\udcff\n"))


def test_rows_that_are_wrong_are_told_by_the_name_that_people_use(asked: BatchRequest) -> None:
    asked.path.write_text('name\n"\n') if asked.path else None
    with pytest.raises(RowsRefused, match=r"^in/500\.csv:2: a quote opens"):
        prepared(asked)


def test_what_is_no_file_of_rows(asked: BatchRequest, tmp_path: Path) -> None:
    for path, told in (
        (tmp_path / "gone.csv", "in/500.csv: no such file"),
        (tmp_path, "in/500.csv: a folder"),
        (Path("/dev/null"), "in/500.csv: no regular file; give '-' and let it come from stdin"),
    ):
        with pytest.raises(RowsUnreadable) as caught:
            prepared(replace(asked, path=path))
        assert (caught.value.message, caught.value.exit_code) == (told, 2)
    with pytest.raises(NoSuchInput):
        prepared(replace(asked, inputs=(tmp_path / "gone.md",)))


def test_a_person_agrees_to_what_they_saw(asked: BatchRequest) -> None:
    seen = prepared(asked).spec.batch
    assert prepared(replace(asked, expected=seen)).spec.batch == seen
    with pytest.raises(NotWhatWasShown):
        prepared(replace(asked, prompt="else {name}", expected=seen))


def test_an_input_that_changes_while_the_batch_is_made(asked: BatchRequest, root: Path, tmp_path: Path) -> None:
    ready = prepared(asked)
    (tmp_path / "voice.md").write_text("changed\n")
    with pytest.raises(NotWhatWasShown):
        store(root, ready)
    assert batch_ids(root) == ()
    (tmp_path / "voice.md").write_text("v\n")
    assert load(store(root, ready))[0] == ready.spec


def test_what_a_crash_left_is_written_anew_and_what_is_there_stays(asked: BatchRequest, root: Path) -> None:
    ready = prepared(asked)
    folder = store(root, ready)
    folder.spec_file.unlink()
    folder.tasks_file.write_text("half")
    (folder.inputs / "old.md").write_text("old")
    (folder.inputs / "voice.md").write_text("half")
    store(root, ready)
    assert load(folder) == (ready.spec, ready.items)
    assert sorted(path.name for path in folder.inputs.iterdir()) == ["notes", "voice.md"]
    before = folder.spec_file.read_bytes()
    store(root, replace(ready, spec=replace(ready.spec, created="later", budget_usd=1.0)))
    assert folder.spec_file.read_bytes() == before


@pytest.mark.parametrize("name", ["", "/tasks.jsonl", "/input.csv", "/batch.toml", "/inputs"])
def test_a_link_that_lies_in_wait_is_not_followed(asked: BatchRequest, root: Path, tmp_path: Path, name: str) -> None:
    ready = prepared(asked)
    place = root / "batches" / f"{ready.spec.batch}{name}"
    place.parent.mkdir(parents=True)
    (tmp_path / "away").mkdir()
    place.symlink_to(tmp_path / "away")
    with pytest.raises(LinkLeadsOut):
        store(root, ready)
    assert list((tmp_path / "away").iterdir()) == []


def test_links_among_the_inputs_that_lie_in_wait_are_put_away(asked: BatchRequest, root: Path, tmp_path: Path) -> None:
    ready = prepared(asked)
    inputs = root / "batches" / ready.spec.batch / "inputs"
    inputs.mkdir(parents=True)
    (tmp_path / "away").mkdir()
    (inputs / "notes").symlink_to(tmp_path / "away")
    assert load(store(root, ready))[0] == ready.spec
    assert list((tmp_path / "away").iterdir()) == []


def test_a_batch_that_somebody_changed(asked: BatchRequest, root: Path) -> None:
    ready = prepared(asked)
    folder = store(root, ready)
    folder.tasks_file.write_bytes(tasks_jsonl(reversed(ready.items)))
    with pytest.raises(TasksUnreadable, match="it was changed since the batch was made"):
        load(folder)
    folder.tasks_file.write_text("<<<<<<< HEAD\n")
    with pytest.raises(TasksUnreadable, match=r"^batches/500-\w+/tasks\.jsonl:1: no line of JSON; put it back"):
        load(folder)
    folder.tasks_file.unlink()
    with pytest.raises(TasksUnreadable, match=r"tasks\.jsonl: is not there"):
        load(folder)
    moved = folder.path.rename(root / "batches" / "other")
    with pytest.raises(SpecUnreadable, match=r"^batches/other/batch\.toml: it belongs to batch 500-"):
        load(BatchFolder(moved))
    (moved / "batch.toml").write_bytes(b"\xff")
    with pytest.raises(SpecUnreadable, match=r"^batches/other/batch\.toml: not UTF-8"):
        load(BatchFolder(moved))
    (moved / "batch.toml").unlink()
    with pytest.raises(SpecUnreadable, match=r"^batches/other/batch\.toml: is not there"):
        load(BatchFolder(moved))
