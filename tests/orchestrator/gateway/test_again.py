"""A call that broke is made again by one layer only, with growing waits; what can't be helped is told at once."""

import pytest

from onepen.orchestrator.gateway.failure import CallFailed
from onepen.subagents.messages import Text

from .conftest import MakeCalls

OVERLOADED = {"kind": "error_event", "type": "overloaded_error"}


def test_an_overload_in_the_middle_of_a_stream(calls: MakeCalls) -> None:
    """Field case 52: an error after status 200, then one after a whole tool block, then a whole reply."""
    call = calls(
        [
            {"nth": 1, "reply": "half a word", "fault": {**OVERLOADED, "at": "middle"}},
            {
                "nth": 2,
                "reply": [{"tool": "write_draft", "input": {"text": "x"}}],
                "fault": {**OVERLOADED, "at": "block"},
            },
            {"reply": "whole", "usage": {"input": 10, "output": 2}},
        ]
    )
    [reply] = call()
    assert reply.content == (Text("whole"),)
    assert len(call.api.asked) == 3
    assert [seconds for _, seconds in call.waits] == sorted(seconds for _, seconds in call.waits)
    assert [lost.usage.input > 0 for lost in call.lost] == [True, True]
    assert call.told.lines[-1] == "whole"
    assert sum(line.startswith("[broke off") for line in call.told.lines) == 1  # no words were heard of the second


def test_overloaded_all_the_time_ends_after_six_tries(calls: MakeCalls) -> None:
    call = calls([{"fault": 529}])
    with pytest.raises(CallFailed, match="529 overloaded_error: Overloaded; tried 6 times"):
        call()
    assert len(call.api.asked) == 6
    waits = [seconds for _, seconds in call.waits]
    assert len(waits) == 5 and waits == sorted(set(waits))
