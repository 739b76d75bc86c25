import itertools
import zlib
from collections.abc import Callable, Iterable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from onepen.memory.commit.record import Addition, FileChange, Line, Record, Removal, Rewrite
from onepen.memory.commit.redo import ForeignRedo, RedoDamaged, encode, scan
from onepen.memory.commit.settle import (
    Append,
    Chains,
    Course,
    Fine,
    KeptBeside,
    Remove,
    Spared,
    Write,
    settle_file,
)
from onepen.memory.commit.splice import Splice, splices
from onepen.memory.files import sha256


def rewrite(before: bytes | None, after: bytes, path: str = "projects/kiln.md") -> Rewrite:
    return Rewrite(path, None if before is None else sha256(before), sha256(after), splices(before or b"", after))


def addition(at: int, *texts: bytes, seen: int = 0, lead: bool = False) -> Addition:
    return Addition("memory/2026-11-30.md", at, lead, tuple(Line(text, seen) for text in texts))


def record(commit: str, *changes: FileChange, workspace: str = "abcdefgh") -> Record:
    return Record(workspace, 3, (commit,), changes)


def settle(records: Iterable[Record], read: Callable[[str], bytes | None]) -> tuple[Course, ...]:
    chains = Chains()
    for each in records:
        chains.add(each)
    return tuple(settle_file(path, chain, read(path)) for path, chain in chains.by_path.items())


def course(now: bytes | None, *changes: FileChange) -> Course:
    return settle_file("p", [(f"c{k}-aaaaaa", change) for k, change in enumerate(changes, 1)], now)


ONE = record("c1-aaaaaa", rewrite(None, "# Öfen\n".encode()), addition(0, b"- x\n"))
TWO = record("c2-aaaaaa", rewrite(b"\xff\xfe", b"\xff\n", "projects/kiln/data.csv"))


def test_a_record_is_one_readable_line() -> None:
    line = encode(ONE)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert "# Öfen".encode() in line
    assert scan(line + encode(TWO)).records == (ONE, TWO)


@given(st.binary(max_size=30), st.binary(max_size=30), st.text(max_size=20), st.integers(0, 1 << 40))
def test_any_content_comes_back(before: bytes, after: bytes, text: str, at: int) -> None:
    line = Line(text.replace("\n", " ").encode("utf-8", "replace") + b"\n", 1)
    made = record("c9-bbbbbb", rewrite(before, after), Addition("memory/2026-11-30.md", at, True, (line,)))
    assert scan(encode(made)).records == (made,)


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_torn_tail_is_cut_off(cut: int) -> None:
    whole, last = encode(ONE), encode(TWO)
    found = scan(whole + last[:-cut])
    assert found.records == (ONE,)
    assert found.torn_tail == last[:-cut]


def flipped(line: bytes, at: int) -> bytes:
    return line[:at] + bytes([line[at] ^ 1]) + line[at + 1 :]


@pytest.mark.parametrize("at", [0, 3, 8, 9, 40, -2])
def test_a_flipped_bit_is_torn_at_the_end_and_damage_before_a_good_record(at: int) -> None:
    one, two = encode(ONE), encode(TWO)
    assert scan(one + flipped(two, at)).torn_tail == flipped(two, at)
    with pytest.raises(RedoDamaged, match=":1:") as caught:
        scan(flipped(one, at) + two)
    assert caught.value.exit_code == 6


@pytest.mark.parametrize(
    "tail", [b"\0" * 4096, b"\0" * 100 + b"\n" + b"\0" * 50, b"\n\n", b'{"a":1}{"a":2}', b"deadbeef {}\n"]
)
def test_zeros_and_rubbish_at_the_end_are_a_torn_tail(tail: bytes) -> None:
    found = scan(encode(ONE) + tail)
    assert (found.records, found.torn_tail) == ((ONE,), tail)
    assert scan(tail).torn_tail == tail
    with pytest.raises(RedoDamaged):
        scan(encode(ONE) + tail + b"\n" + encode(TWO))


@pytest.mark.parametrize("between", [b"", b" ", b"\0", b"X" * 40])
@pytest.mark.parametrize("end", [b"\n", b"", b"\0\0", b"\ndeadbeef {"])
def test_records_whose_newline_is_gone_are_damage(between: bytes, end: bytes) -> None:
    """The first of them had been acknowledged, or the second would not have been written."""
    one, two = encode(ONE)[:-1], encode(TWO)[:-1]
    for data in (one + between + two + end, encode(TWO) + one + between + two + end):
        with pytest.raises(RedoDamaged):
            scan(data)


def test_a_whole_record_with_more_than_zeros_behind_it_is_damage() -> None:
    one, two = encode(ONE)[:-1], encode(TWO)
    for tail in (b"", b"\0" * 500):
        assert scan(two + one + tail).torn_tail == one + tail
    for tail in (two[:40], b"\x0b", b"\0\0X"):
        with pytest.raises(RedoDamaged, match=":2:"):
            scan(two + one + tail)


def test_text_that_looks_like_a_record_in_a_torn_one_is_no_damage() -> None:
    inner = encode(TWO) + b"%08x {}\n" % zlib.crc32(b"{}")
    torn = encode(record("c3-aaaaaa", rewrite(b"", inner)))[:-30]
    assert scan(encode(ONE) + torn).torn_tail == torn


def test_a_record_of_another_version_is_refused() -> None:
    body = b'{"v":3,"workspace":"abcdefgh"}'
    with pytest.raises(ForeignRedo, match="version 3"):
        scan(b"%08x %s\n" % (zlib.crc32(body), body))


@pytest.mark.parametrize("path", [".git/config", "../outside.md", "Makefile", ".onepen/machine", "projects/../x.md"])
@pytest.mark.parametrize("make", [lambda path: rewrite(None, b"x", path), lambda path: Addition(path, 0, False, ())])
def test_a_record_for_what_is_no_file_of_memory_is_refused(path: str, make: Callable[[str], FileChange]) -> None:
    with pytest.raises(ForeignRedo, match="no commit writes") as caught:
        scan(encode(ONE) + encode(record("c2-aaaaaa", make(path))))
    assert caught.value.exit_code == 6


@pytest.mark.parametrize(
    "body",
    [b"[]", b"1", b'{"v":1}', b'{"v":1,"workspace":"a","epoch":"x","commit":"c1-aaaaaa","files":[]}',
     b'{"v":1,"workspace":"a","epoch":1,"commit":"../../x","files":[]}', b'{"v":1' + b',"a":[' * 5000,
     b'{"v":1,"workspace":"a","epoch":1,"commit":"c1-aaaaaa","files":[{"path":1,"append":[]}]}',
     b'{"v":2,"workspace":"a","epoch":1,"commits":[],"files":[]}', b'{"v":2,"workspace":"a","epoch":1,"files":[]}',
     b'{"v":2,"workspace":"a","epoch":1,"commits":["c1-aaaaaa",2],"files":[]}',
     b'{"v":2,"workspace":"a","epoch":1,"commits":["c1-aaaaaa"],"files":[{"path":"projects/a.md","remove":true}]}',
     b'{"v":2,"workspace":"a","epoch":1,"commits":["c1-aaaaaa"],"files":[{"path":"projects/a.md","before":"x","remove":1}]}',
     b'{"v":1,"workspace":"a","epoch":1,"commit":"c1-aaaaaa","files":[{"path":"MEMORY.md","at":-1,"lead":0,"append":[]}]}'],
)  # fmt: skip
def test_a_record_that_makes_no_sense_is_refused(body: bytes) -> None:
    with pytest.raises(ForeignRedo):
        scan(b"%08x %s\n" % (zlib.crc32(body), body))


def test_records_of_the_version_before_are_read_as_what_they_mean_today() -> None:
    """F30: a redo log that an older onepen left is migrated, any other version is refused."""
    body = (
        b'{"v":1,"workspace":"abcdefgh","folder":"f","epoch":3,"commit":"c7-aaaaaa","files":[{"path":"MEMORY.md",'
        b'"before":null,"after":"x","splices":[[0,"","a\\n"]]},{"path":"memory/2026-11-30.md","at":0,"lead":false,'
        b'"append":[["- x\\n",0]]}]}'
    )
    line = b"%08x %s\n" % (zlib.crc32(body), body)
    made = Rewrite("MEMORY.md", None, "x", (Splice(0, b"", b"a\n"),))
    one = Record("abcdefgh", 3, ("c7-aaaaaa",), (made, addition(0, b"- x\n")), "f")
    assert scan(line + encode(TWO)).records == (one, TWO)
    for version in (b"0", b"3", b"true", b"1.0", b'"1"', b"null", b"[]"):
        other = body.replace(b'"v":1', b'"v":' + version)
        with pytest.raises(ForeignRedo, match="written by another version of onepen") as caught:
            scan(b"%08x %s\n" % (zlib.crc32(other), other))
        assert caught.value.exit_code == 6


def test_a_record_holds_the_commits_that_were_made_together() -> None:
    group = Record("abcdefgh", 3, ("c1-aaaaaa", "c2-aaaaaa"), (*ONE.files, Removal("research/clay.md", "0" * 64)))
    assert b'{"path":"research/clay.md","before":"' + b"0" * 64 + b'","remove":true}' in encode(group)
    assert scan(encode(group)).records == (group,)
    assert group.tag == "c2-aaaaaa"
    assert settle([group], lambda path: b"by hand\n")[0] == KeptBeside(
        "projects/kiln.md", "# Öfen\n".encode(), "c2-aaaaaa"
    )


@pytest.mark.parametrize(
    "path", ["MEMORY.md", "SOUL.md", "memory/2026-11-30.md", "logs/commits-2026-11.jsonl", "projects/_index.md",
             "agents/_index.md", "agents/RULES.md", "clients/acme/BRIEF.md", "clients/acme/memory/2026-11-30.md"],
)  # fmt: skip
def test_a_record_that_removes_what_no_commit_removes_is_refused(path: str) -> None:
    with pytest.raises(ForeignRedo, match="no commit removes"):
        scan(encode(record("c2-aaaaaa", Removal(path, "0" * 64))))


def test_what_was_removed_goes_and_a_persons_version_of_it_stays() -> None:
    removal = Removal("p", sha256(b"a\n"))
    assert course(b"a\n", removal) == Remove("p", sha256(b"a\n"))
    assert course(None, removal) == Fine("p")
    assert course(b"by hand\n", removal) == Spared("p", "c1-aaaaaa")
    assert course(b"0\n", rewrite(b"0\n", b"a\n"), removal) == Remove("p", sha256(b"0\n"))
    assert course(None, rewrite(None, b"a\n"), removal) == Fine("p")


def test_what_was_removed_and_made_again_is_there() -> None:
    chain: list[FileChange] = [
        rewrite(b"0\n", b"a\n"),
        Removal("p", sha256(b"a\n")),
        rewrite(None, b"b\n"),
    ]
    for now in (b"0\n", b"a\n", None):
        assert course(now, *chain) == Write("p", b"b\n", None if now is None else sha256(now))
    assert course(b"b\n", *chain) == Fine("p")
    assert course(b"by hand\n", *chain) == KeptBeside("p", b"b\n", "c3-aaaaaa")


def test_what_came_before_an_edit_that_a_power_cut_took_is_due_too() -> None:
    """Behind the first commit a person edited the file, the second built on that, and the disk lost all of it."""
    chain = [rewrite(b"a\n", b"b\n"), rewrite(b"b\nby hand\n", b"b\nby hand\nc\n")]
    assert course(b"a\n", *chain) == KeptBeside("p", b"b\nc\n", "c2-aaaaaa")


def test_before_is_written_after_is_left() -> None:
    change = rewrite(b"a\nb\n", b"a\nc\n")
    assert course(b"a\nb\n", change) == Write("p", b"a\nc\n", sha256(b"a\nb\n"))
    assert course(b"a\nc\n", change) == Fine("p")
    assert course(None, rewrite(None, b"new")) == Write("p", b"new", None)
    assert course(b"new", rewrite(None, b"new")) == Fine("p")


def test_a_chain_goes_on_from_where_the_file_is() -> None:
    versions = [b"v0\n", b"v1\n", b"v2\n", b"v3\n"]
    chain = [rewrite(a, b) for a, b in itertools.pairwise(versions)]
    for version in versions[:-1]:
        assert course(version, *chain) == Write("p", b"v3\n", sha256(version))
    assert course(b"v3\n", *chain) == Fine("p")


def test_a_file_that_came_back_to_an_earlier_version_is_taken_as_the_latest() -> None:
    there_and_back = [rewrite(b"a\n", b"b\n"), rewrite(b"b\n", b"a\n")]
    assert course(b"a\n", *there_and_back) == Fine("p")
    assert course(b"b\n", *there_and_back) == Write("p", b"a\n", sha256(b"b\n"))


def test_a_persons_version_stays_and_what_was_due_is_kept_beside() -> None:
    change = rewrite(b"a\nb\nc\n", b"a\nfire at 1220\nc\n")
    assert course(b"a\nB by hand\nc\n", change) == KeptBeside("p", b"fire at 1220\n", "c1-aaaaaa")
    assert course(b"edited\nfire at 1220\n", change) == Fine("p")
    assert course(None, change) == KeptBeside("p", b"fire at 1220\n", "c1-aaaaaa")
    assert course(b"by hand", rewrite(None, b"made\n")) == KeptBeside("p", b"made\n", "c1-aaaaaa")


def test_what_a_later_commit_replaced_is_not_due() -> None:
    chain = [rewrite(b"a\n", b"x\n"), rewrite(b"x\n", b"y\n")]
    assert course(b"y\nand more by hand\n", *chain) == Fine("p")


def test_an_edit_between_two_commits_is_part_of_the_chain() -> None:
    chain = [rewrite(b"a\n", b"b\n"), rewrite(b"b\nby hand\n", b"c\nby hand\n")]
    assert course(b"b\nby hand\n", *chain) == Write("p", b"c\nby hand\n", sha256(b"b\nby hand\n"))
    assert course(b"c\nby hand\n", *chain) == Fine("p")


def test_a_line_is_added_once() -> None:
    change = addition(4, b"- y\n", b"- z\n")
    assert course(b"- x\n", change) == Append("p", b"- y\n- z\n", 4)
    assert course(b"- x\n- y\n- z\n", change) == Fine("p")
    assert course(b"- x\n- y\n- z\n- later\n", change) == Fine("p")


@pytest.mark.parametrize("torn", range(1, 8))
def test_a_torn_line_is_completed(torn: int) -> None:
    due = b"- y\n- z\n"
    assert course(b"- x\n" + due[:torn], addition(4, b"- y\n", b"- z\n")) == Append("p", due[torn:], 4 + torn)


def test_zeros_where_the_line_should_be_are_replaced() -> None:
    now = b"- x\n" + b"\0" * 4
    assert course(now, addition(4, b"- y\n")) == Write("p", b"- x\n- y\n", sha256(now))


def test_a_line_moved_by_a_merge_is_found_and_one_that_is_gone_comes_back() -> None:
    change = addition(4, b"- y\n")
    assert course(b"- merged\n- y\n- x\n", change) == Fine("p")
    assert course(b"- merged\r\n- y\r\n", change) == Fine("p")
    assert course(b"- merged\n- x\n", change) == Append("p", b"- y\n", 13)
    assert course(b"no newline", change) == Append("p", b"\n- y\n", 10)
    assert course(None, change) == Append("p", b"- y\n", 0)


def test_an_equal_line_counts_if_it_stood_there_before() -> None:
    first, second = addition(0, b"- x\n"), addition(4, b"- x\n", seen=1)
    assert course(b"- x\n", first, second) == Append("p", b"- x\n", 4)
    assert course(b"- x\n- x\n", first, second) == Fine("p")
    assert course(b"- merged\n- x\n", first, second) == Append("p", b"- x\n", 13)


def test_each_path_is_settled_by_itself() -> None:
    files = {"projects/kiln.md": "# Öfen\n".encode()}
    assert settle([ONE, TWO], files.get) == (
        Fine("projects/kiln.md"),
        Append("memory/2026-11-30.md", b"- x\n", 0),
        KeptBeside("projects/kiln/data.csv", b"\xff\n", "c2-aaaaaa"),
    )


def test_readers_see_pending_changes() -> None:
    chains = Chains()
    chains.add(ONE)
    assert chains.overlay("projects/kiln.md", None) == "# Öfen\n".encode()
    assert chains.overlay("projects/kiln.md", b"by hand") == b"by hand"
    assert chains.overlay("memory/2026-11-30.md", None) == b"- x\n"
    assert chains.overlay("elsewhere.md", b"same") == b"same"
    assert chains.overlay("elsewhere.md", None) is None


def turn(before: bytes | None, after: bytes | None) -> Rewrite | Removal:
    if after is None:
        assert before is not None
        return Removal("projects/kiln.md", sha256(before))
    return rewrite(before, after)


@given(st.lists(st.none() | st.binary(max_size=6), min_size=2, max_size=5), st.integers(0, 4))
def test_rolling_forward_from_any_version_ends_at_the_last(versions: list[bytes | None], start: int) -> None:
    assume(all(a != b for a, b in itertools.pairwise(versions)))
    chain = [(f"c{k}-aaaaaa", turn(a, b)) for k, (a, b) in enumerate(itertools.pairwise(versions), 1)]
    now = versions[min(start, len(versions) - 1)]
    settled = settle_file("p", chain, now)
    match settled:
        case Write(data=data):
            assert data == versions[-1]
        case Fine():
            assert now == versions[-1]
        case Remove():
            assert versions[-1] is None
        case _:
            raise AssertionError(settled)
