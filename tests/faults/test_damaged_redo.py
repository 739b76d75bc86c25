"""F5, F9, F30: a redo log that is torn, flipped, zeroed, gone, of another workspace or of another version.

What stands in the log is changed with an editor, so to speak: bytes of a file whose format the docs tell.
"""

import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onepen.testing import evidence
from onepen.testing.deeds import begin
from onepen.testing.ground import Ground
from onepen.testing.hands import Ended, Hands
from onepen.testing.program import Program
from onepen.testing.strace import Fault
from onepen.testing.tally import Tally

LOG = ".onepen/redo/log"
Damage = Callable[[bytes], bytes]


def pending(ground: Ground, count: int) -> tuple[Ended, list[bytes]]:
    """A workspace that a kill left with so many records; the last was never acknowledged, and no file of it written."""
    points = ground.hands.points(ground.again(), to=ground.to)
    records = [p for p in points if p.call == "fdatasync" and "redo/log" in p.shown]
    ended = ground.hands.order(ground.again(), to=ground.to, fault=Fault(records[count - 1]))
    assert ended.killed
    lines = (ground.root / LOG).read_bytes().splitlines(keepends=True)
    assert len(lines) == count
    return ended, lines


def everything(root: Path) -> dict[str, bytes]:
    """All bytes that matter: the files, and the redo log."""
    return {**evidence.state(root), LOG: (root / LOG).read_bytes()}


def good(data: bytes) -> list[bytes]:
    """The lines at the beginning of a log whose checksums are right."""
    lines = data.splitlines(keepends=True)
    bad = [k for k, line in enumerate(lines) if line[:8] != b"%08x" % zlib.crc32(line[9:-1]) or line[-1:] != b"\n"]
    return lines[: bad[0] if bad else None]


def damages(lines: list[bytes], many: int) -> Iterator[tuple[str, bytes]]:
    """Ways in which three records may be damaged, with what then stands in the log."""
    data, last = b"".join(lines), len(lines[0] + lines[1])
    for k in range(many):
        at = (2 * k + 1) * len(data) // (2 * many)
        yield f"bit {at % 8} of byte {at} flipped", data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]
        yield f"zeros from byte {at} on", data[:at] + b"\0" * (len(data) - at)
        yield f"16 zeros at byte {at}", data[:at] + b"\0" * 16 + data[at + 16 :]
        cut = last + (k * len(lines[2])) // many
        yield f"cut at byte {cut}", data[:cut]


@pytest.mark.parametrize("many", [4, pytest.param(40, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_a_damaged_redo_log(many: int, ground: Ground, tally: Callable[[str, int], Tally]) -> None:
    """F5: the torn end of the last write is cut and kept aside; with good records behind it, nothing is touched."""
    _, lines = pending(ground, 3)
    acknowledged = ground.first + 2
    cut = refused = 0
    with tally("damaged redo logs", 4 * many) as logs:
        for what, data in damages(lines, many):
            with logs.point(what):
                ended, _ = pending(ground, 3)
                assert ended.reached == acknowledged
                (ground.root / LOG).write_bytes(data)
                before = everything(ground.root)
                opened = ground.hands.order(ground.root, "open")
                if opened.done:
                    cut += 1
                    copies = [path.read_bytes() for path in (ground.root / ".onepen/redo").glob("torn-*")]
                    assert data == b"".join(good(data)) + b"".join(copies), "what was cut is kept aside"
                    assert ground.judge(ended) == acknowledged
                else:
                    refused += 1
                    assert {"RedoDamaged", "ForeignRedo"} & {*opened.kinds}, opened
                    assert everything(ground.root) == before
    assert cut and refused


@pytest.fixture
def onepen(tmp_path: Path) -> Program:
    return Program(tmp_path)


def crashed(hands: Hands, root: Path) -> None:
    """A workspace with a commit that stands in the redo log and in no file."""
    begin(root)
    points = hands.points(root, to=1)
    swap = next(p for p in points if p.call == "renameat2")
    begin_again(root)
    assert hands.order(root, to=1, fault=Fault(swap)).killed
    assert (root / LOG).read_bytes()


def begin_again(root: Path) -> None:
    import shutil

    shutil.rmtree(root)
    begin(root)


def test_exit_code_6_and_nothing_is_changed(hands: Hands, onepen: Program, tmp_path: Path) -> None:
    """F5: by the program, with a message that names the line and what to do."""
    root = tmp_path / "ws"
    crashed(hands, root)
    line = (root / LOG).read_bytes()
    (root / LOG).write_bytes(b"#" + line[1:] + line)
    before = everything(root)
    for words in (("log", "x"), ("search", "number"), ("add", "project", "Cups")):
        ran = onepen(*words, cwd=root)
        assert (ran.code, f"{LOG}:1" in ran.err, "Traceback" in ran.err) == (6, True, False), ran
        assert everything(root) == before
    assert onepen("doctor", cwd=root).code == 6


def test_a_redo_log_that_was_deleted(hands: Hands, onepen: Program, tmp_path: Path) -> None:
    """F9: a new one is made and that is said; the history stays whole, since it stands in logs/."""
    root = tmp_path / "ws"
    begin(root)
    assert hands.order(root, to=5).done
    history = onepen.json("history", cwd=root)["commits"]
    (root / LOG).unlink()
    ran = onepen.ok("log", "goes on", cwd=root)
    assert f"{LOG}: was missing" in ran.err
    assert onepen.json("history", cwd=root)["commits"][1:] == history
    assert hands.order(root, to=5).done
    assert evidence.told(root, {}) == []


def test_a_redo_log_of_another_workspace(hands: Hands, onepen: Program, tmp_path: Path) -> None:
    """F9: it is refused with an explanation, and nothing of it is shown or written."""
    root, other = tmp_path / "ws", tmp_path / "other"
    crashed(hands, root)
    crashed(hands, other)
    toml = (other / "onepen.toml").read_text().replace("abcdefgh12345678", "zyxwvuts98765432")
    (other / "onepen.toml").write_text(toml)
    (other / LOG).write_bytes((root / LOG).read_bytes())
    before = everything(other)
    ran = onepen("log", "x", cwd=other)
    assert (ran.code, "another workspace" in ran.err) == (6, True), ran
    assert everything(other) == before
    assert "number 1" not in onepen("search", "number", cwd=other).out


def record(line: bytes, **changed: object) -> bytes:
    """A line of the redo log with other values, and a checksum that is right; None leaves a value out."""
    values = {**json.loads(line[9:]), **changed}
    body = json.dumps({k: v for k, v in values.items() if v is not None}, ensure_ascii=False, separators=(",", ":"))
    return b"%08x %s\n" % (zlib.crc32(body.encode()), body.encode())


def test_a_record_of_a_later_version_is_refused(hands: Hands, onepen: Program, tmp_path: Path) -> None:
    """F30: never guessed, also where it looks like one of ours."""
    root = tmp_path / "ws"
    crashed(hands, root)
    for version in (0, 3, 99, "2", None):
        (root / LOG).write_bytes(record((root / LOG).read_bytes(), v=version))
        before = everything(root)
        ran = onepen("log", "x", cwd=root)
        assert (ran.code, "version" in ran.err) == (6, True), ran
        assert everything(root) == before


def test_a_record_of_the_first_version_is_finished(hands: Hands, tmp_path: Path) -> None:
    """F30: it held one commit, and no file was taken away; what came of it is the same to the byte."""
    root = tmp_path / "ws"
    begin(root)
    assert hands.order(root, to=1).done
    wanted = evidence.state(root)
    begin_again(root)
    crashed_again = next(p for p in hands.points(root, to=1) if p.call == "renameat2")
    begin_again(root)
    assert hands.order(root, to=1, fault=Fault(crashed_again)).killed
    line = (root / LOG).read_bytes()
    (commit,) = json.loads(line[9:])["commits"]
    (root / LOG).write_bytes(record(line, v=1, commits=None, commit=commit))
    assert hands.order(root, "open").done
    assert evidence.state(root) == wanted
