from hypothesis import given
from hypothesis import strategies as st

from onepen.subagents.workerlog import WorkerLog


def logged(limit: int = 10_000) -> tuple[WorkerLog, bytearray]:
    kept = bytearray()
    return WorkerLog(kept.extend, limit), kept


def test_how_it_looks() -> None:
    log, kept = logged()
    log.stderr(b"warming up")
    log.noise(b"Loading\n", "not JSON")
    log.noise(b"\xff\xfe", "not UTF-8")
    log.note("its time was up")
    log.close()
    assert bytes(kept) == (
        b"warming up\n[onepen] on stdout (not JSON):\nLoading\n"
        b"[onepen] on stdout (not UTF-8):\n\xff\xfe\n[onepen] its time was up\n"
    )


def test_nothing_printed_is_nothing_written() -> None:
    log, kept = logged()
    log.close()
    assert not kept


@given(st.lists(st.binary(max_size=300)), st.integers(0, 1000))
def test_what_is_kept_and_what_is_counted_add_up(pieces: list[bytes], limit: int) -> None:
    log, kept = logged(limit)
    for piece in pieces:
        log.stderr(piece)
    log.close()
    whole = b"".join(pieces)
    assert kept.startswith(whole[:limit])
    dropped = len(whole) - len(whole[:limit])
    assert (f"[onepen] {dropped} bytes more were printed and not kept\n".encode() in kept) == (dropped > 0)


def test_notes_are_kept_beyond_the_limit() -> None:
    log, kept = logged(3)
    log.stderr(b"abcdef")
    log.note("ended")
    log.close()
    assert bytes(kept) == b"abc\n[onepen] ended\n[onepen] 3 bytes more were printed and not kept\n"


def test_the_last_line_of_stderr() -> None:
    log, _ = logged()
    log.stderr(b"Traceback\n  x\nImportError: no module\n\n")
    assert log.last_line == "ImportError: no module"
    log.stderr(b"\n")
    assert log.last_line == "ImportError: no module"
