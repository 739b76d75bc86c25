"""A batch is made: its input is read and checked whole, then everything is written into its folder.

`batch.toml` is written last and makes the folder a batch; what a crash left before that is written anew.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from ...memory import files
from ...memory.guard import UnsafeFile, read_beneath
from ...memory.ids import BadTitle, id_from_title
from ...memory.text.decode import NotText, decode
from ...memory.trash import discard
from ...memory.workspace import Space
from ...staging.inputs import copy_inputs, hashed_inputs
from ..errors import OrchestratorFault
from ..premises import own
from .expansion import Ground, items
from .folder import BATCHES, TASKS, BatchFolder, TasksUnreadable, batch_folder, read_items, tasks_jsonl
from .item import Item
from .key import canonical, digest
from .reading import MOST_BYTES, STDIN, RowsRefused, Wrong, ending_of, rows_of
from .request import BatchRequest
from .spec import SPEC, BatchId, BatchSpec, SpecUnreadable, parse_spec, render_spec

_MOST_SPEC = 1 << 20
_MOST_TASKS = 1 << 30
_SLUG, _HASH = 48, 8
_MOST_NAME = 400


class RowsUnreadable(OrchestratorFault):
    """Raised when the file that holds a batch's rows can't be read."""

    exit_code = 2

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")


class NotWhatWasShown(OrchestratorFault):
    """Raised when rows, prompt or inputs are not any more what a person saw and agreed to; nothing was begun."""

    exit_code = 3

    def __init__(self, name: str) -> None:
        super().__init__(f"{name}: not what was shown any more: it, its prompt or an input has changed; look again")


@dataclass(frozen=True)
class Prepared:
    """A batch that could begin: nothing of it is written yet.

    `raw` is its input as it came; `hashes` are those of its inputs by name, `left_out` says what of them can't be used.
    """

    spec: BatchSpec
    items: tuple[Item, ...]
    raw: bytes
    inputs: tuple[Path, ...]
    hashes: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


def prepare(request: BatchRequest, ground: Ground, *, created: str, by: str) -> Prepared:
    """What a request comes to, with everything checked and nothing written.

    Raises RowsUnreadable, RowsRefused, BadTemplate, NoSuchInput or NotWhatWasShown.
    """
    raw, kind = _raw(request), STDIN if request.path is None else request.path.name
    hashes, left_out = hashed_inputs(request.inputs)
    try:
        rows = rows_of(raw, kind)
    except RowsRefused as e:
        raise RowsRefused(request.name, e.wrong) from e
    made = items(rows, request, ground, hashes)
    batch = batch_id(request, files.sha256(raw), hashes)
    if request.expected is not None and request.expected != batch:
        raise NotWhatWasShown(request.name)
    spec = BatchSpec(
        batch=batch,
        name=request.name[-_MOST_NAME:],
        created=created,
        by=by,
        input=f"input{ending_of(raw, kind)}",
        input_sha256=files.sha256(raw),
        tasks_sha256=files.sha256(tasks_jsonl(made)),
        tasks=len(made),
        prompt=request.prompt,
        target=request.target,
        agent=request.agent,
        client=request.client,
        project=request.project,
        inputs=tuple(hashes),
        answer=request.answer,
        model=request.model,
        review=request.review,
        via=request.via,
        review_via=request.review_via,
        concurrency=request.concurrency,
        budget_usd=request.budget_usd,
        max_failures=request.max_failures,
        max_turns=request.max_turns,
        time_limit=request.time_limit,
    )
    return Prepared(spec, made, raw, request.inputs, hashes, left_out)


def batch_id(request: BatchRequest, input_sha256: str, hashes: Mapping[str, str]) -> BatchId:
    """The id by which the same request finds the same batch: `<name of the input>-<hash of what it is>`.

    How it runs (budget, concurrency, review, by which way) is no part of what it is.
    """
    what = [
        input_sha256,
        request.prompt,
        request.target,
        request.agent,
        request.client,
        request.project,
        request.model,
        dict(hashes),
        request.answer,
    ]
    try:
        slug = id_from_title("stdin" if request.path is None else PurePath(request.name).stem)
    except BadTitle:
        slug = "batch"
    return BatchId(f"{slug[:_SLUG].strip('-')}-{digest(canonical(what))[:_HASH]}")


def store(root: Path, prepared: Prepared) -> BatchFolder:
    """Writes a batch, synced when this returns; one that is there already stays as it is.

    Raises NoSuchInput, NotWhatWasShown (an input was changed at this moment), LinkLeadsOut or an OSError.
    """
    spec = prepared.spec
    folder = batch_folder(root, spec.batch)
    for name in (SPEC, TASKS, spec.input, "inputs"):
        own(Space(root, None), f"{BATCHES}/{spec.batch}/{name}")
    if folder.spec_file.exists():
        return folder
    files.make_folder(folder.path, within=root)
    files.sync_folder(root)
    files.sync_folder(folder.path.parent)
    files.replace(folder.path / spec.input, prepared.raw, sync=True)
    _copied(root, folder, prepared)
    files.replace(folder.tasks_file, tasks_jsonl(prepared.items), sync=True)
    files.replace(folder.spec_file, render_spec(spec).encode(), sync=True)
    return folder


def load(folder: BatchFolder) -> tuple[BatchSpec, tuple[Item, ...]]:
    """What a batch was asked to do, and its tasks; raises SpecUnreadable or TasksUnreadable."""
    spec = load_spec(folder)
    try:
        data = _read(folder, TASKS, _MOST_TASKS)
        found = read_items(data)
        if files.sha256(data) != spec.tasks_sha256:
            raise TasksUnreadable("it was changed since the batch was made")
    except (TasksUnreadable, _Missing) as e:
        raise TasksUnreadable(e.reason, e.line, f"{BATCHES}/{folder.batch}/{TASKS}") from e
    return spec, found


def load_spec(folder: BatchFolder) -> BatchSpec:
    """What a batch was asked to do; raises SpecUnreadable."""
    try:
        spec = parse_spec(decode(_read(folder, SPEC, _MOST_SPEC)))
        if spec.batch != folder.batch:
            raise SpecUnreadable(f"it belongs to batch {spec.batch}, and lies in the folder of {folder.batch}")
    except (SpecUnreadable, _Missing) as e:
        raise SpecUnreadable(e.reason, e.line, f"{BATCHES}/{folder.batch}/{SPEC}") from e
    except NotText as e:
        raise SpecUnreadable(e.reason, place=f"{BATCHES}/{folder.batch}/{SPEC}") from e
    return spec


class _Missing(Exception):
    """Raised inside this module for a file that can't be opened as a plain one."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = 0


def _read(folder: BatchFolder, name: str, most: int) -> bytes:
    try:
        return read_beneath(folder.path, name, max_bytes=most)
    except UnsafeFile as e:
        raise _Missing(e.message.partition(": ")[2]) from e
    except OSError as e:
        raise _Missing(f"can't be read: {e.strerror}") from e


def _raw(request: BatchRequest) -> bytes:
    """The input as it came; raises RowsUnreadable or RowsRefused."""
    if request.path is None:
        try:
            return (request.data or "").encode()
        except UnicodeEncodeError as e:
            line = (request.data or "").count("\n", 0, e.start) + 1
            raise RowsRefused(request.name, [Wrong(line, "not UTF-8 text; save it as UTF-8")]) from e
    try:
        fd = os.open(request.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as e:
        raise RowsUnreadable(request.name, _reason(e)) from e
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            what = "a folder" if stat.S_ISDIR(found.st_mode) else "no regular file; give '-' and let it come from stdin"
            raise RowsUnreadable(request.name, what)
        if found.st_size > MOST_BYTES:
            size = f"has {found.st_size >> 20:,} MiB, at most {MOST_BYTES >> 20} MiB are read"
            raise RowsUnreadable(request.name, f"{size}; split it into several")
        return files.read_all(fd, found.st_size)
    except OSError as e:
        raise RowsUnreadable(request.name, _reason(e)) from e
    finally:
        os.close(fd)


def _reason(error: OSError) -> str:
    return "no such file" if isinstance(error, FileNotFoundError) else f"can't be read: {error.strerror}"


def _copied(root: Path, folder: BatchFolder, prepared: Prepared) -> None:
    """Copies the inputs, instead of what an earlier try left; they must be what was hashed."""
    if os.path.lexists(folder.inputs):
        discard(root, folder.inputs)
    names, _ = copy_inputs(folder.inputs, prepared.inputs)
    found = {name: files.sha256((folder.inputs / name).read_bytes()) for name in names}
    if found != dict(prepared.hashes):
        raise NotWhatWasShown(prepared.spec.name)
    for name in names:
        files.sync_file(folder.inputs / name)
    folders = {folder.inputs / name for name in names}
    for path in sorted({parent for place in folders for parent in place.parents if parent.is_relative_to(folder.path)}):
        files.sync_folder(path)
