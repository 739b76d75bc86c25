from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from onepen.subagents.workerlog import WorkerLog

KEYS = ["sk-ant-api03-" + "FAKE" * 20, "AKIAFAKEFAKEFAKE0000", "ghp_" + "F" * 36, "https://u:p4ss@host"]
PEM = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIFAKE/SECRETBODY\n" * 40 + "-----END RSA PRIVATE KEY-----"


def logged(limit: int = 100_000) -> tuple[WorkerLog, bytearray]:
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


def test_a_private_key_whose_last_line_is_not_whole_yet_is_waited_for() -> None:
    for cut in range(len(PEM) - 40, len(PEM) + 1):
        log, kept = logged()
        for part in (PEM[:cut], PEM[cut:] + "\n"):
            log.stderr(part.encode())
            log.flush()
        log.close()
        assert b"SECRETBODY" not in kept, cut


@given(st.sampled_from([*KEYS, PEM]), st.lists(st.integers(0, 900), max_size=5), st.binary(max_size=20))
def test_a_secret_is_masked_wherever_its_bytes_are_parted(value: str, cuts: list[int], noise: bytes) -> None:
    log, kept = logged()
    data = noise + b"\nfound " + value.encode() + b" there\n" + noise
    for start, end in pairwise((0, *sorted(cuts), len(data))):
        log.stderr(data[start:end])
        log.flush()
    log.close()
    assert value.encode() not in kept and b"SECRETBODY" not in kept
    assert kept.startswith(noise + b"\nfound [") and kept.endswith(b" there\n" + noise)


def test_a_value_that_somebody_knows_is_masked_by_its_name() -> None:
    kept = bytearray()
    log = WorkerLog(kept.extend, 1_000, lambda text: text.replace("FAKE-2", "[the key]"))
    log.stderr(b"AWS=FAKE-2\n")
    log.noise(b"FAKE-2", "not JSON")
    log.close()
    assert bytes(kept) == b"AWS=[the key]\n[onepen] on stdout (not JSON):\n[the key]\n"


def test_last_words_name_no_secret() -> None:
    log, _ = logged()
    log.stderr(f"KeyError: {KEYS[1]}\n".encode())
    assert log.last_line == "KeyError: [an AWS access key id]"


def test_what_has_no_end_is_still_written() -> None:
    log, kept = logged(1 << 20)
    log.stderr(b"x" * 200_000)
    log.flush()
    assert 190_000 < len(kept) < 200_000
    log.stderr(b"\n-----BEGIN PRIVATE KEY-----\n" + b"y\n" * 20_000)
    log.flush()
    assert kept.endswith(b"y\n")
