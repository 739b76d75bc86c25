"""Every error becomes one line, a next command and an exit code."""

import errno

import pytest

from onepen.memory.errors import OnepenError
from onepen.memory.ids import BadId, ClientId
from onepen.orchestrator.commands.failure import BadText, Interrupted, NeedsAnswer, sole, told
from onepen.orchestrator.settings.redact import Known


def test_an_error_of_ours_keeps_its_message_hint_and_code() -> None:
    failure = told(NeedsAnswer("approve t1-1: it changed", hint="onepen show t1-1"))
    assert failure.line() == "onepen: approve t1-1: it changed (next: onepen show t1-1)\n"
    assert failure.exit_code == 3
    assert failure.as_json() == {
        "error": {"message": "approve t1-1: it changed", "hint": "onepen show t1-1", "exit_code": 3}
    }


def test_a_message_is_one_line_without_power_over_the_screen() -> None:
    assert told(OnepenError("a\nb\x1b[2J")).line() == "onepen: a b\\x1b[2J\n"


def test_a_system_error_names_the_file_and_the_cause() -> None:
    failure = told(OSError(errno.ENOSPC, "No space left on device", "projects/kiln.md"))
    assert (failure.line(), failure.exit_code) == ("onepen: projects/kiln.md: No space left on device\n", 1)


def test_an_error_alone_in_groups_is_told_as_itself() -> None:
    with pytest.raises(BadId) as caught:
        ClientId("A B")
    group = ExceptionGroup("unhandled", [ExceptionGroup("inner", [caught.value])])
    assert sole(group) is caught.value
    assert told(group).exit_code == 2


def test_several_errors_stay_a_group() -> None:
    group = ExceptionGroup("two", [BadText("a"), BadText("b")])
    assert sole(group) is group
    assert told(group).exit_code == 1


def test_ctrl_c() -> None:
    assert told(KeyboardInterrupt()) == told(Interrupted())
    assert told(KeyboardInterrupt()).exit_code == 130


def test_what_nobody_foresaw_is_called_a_bug_and_has_no_traceback() -> None:
    failure = told(ZeroDivisionError("division by zero"))
    assert "bug" in failure.message and "ZeroDivisionError: division by zero" in failure.message
    assert failure.hint is not None and "--debug" in failure.hint
    assert failure.exit_code == 1


def test_no_line_repeats_a_secret() -> None:
    known = Known({"the value of VENDOR_TOKEN": "tok-FAKE-1"})
    error = NeedsAnswer("key AKIAFAKEFAKEFAKE0000 at tok-FAKE-1", hint="onepen log tok-FAKE-1")
    line = told(error).masked(known.mask).line()
    assert line == (
        "onepen: key [an AWS access key id] at [the value of VENDOR_TOKEN] "
        "(next: onepen log [the value of VENDOR_TOKEN])\n"
    )
