"""Requests are checked where they come in, and told without the values that they came with."""

import inspect
import json
import traceback
from pathlib import Path

import pytest

from onepen.orchestrator.process.asked import ONCE, SHORT, WORK, asked
from onepen.orchestrator.process.codec import plain
from onepen.orchestrator.process.protocol import Garbled, Line
from onepen.orchestrator.requests import DelegateRequest
from onepen.orchestrator.service import Service
from onepen.orchestrator.settings.setup import NOTHING, Profile, Secret, Setup

# What a process adds by itself, or what makes no sense over a socket.
OURS = {"self", "setup", "on_made", "on_progress", "on_event", "on_happening", "stop", "dry_run", "confirm", "request"}
SETUP = Setup(model="sonnet", profiles={"p": Profile("p", key=Secret("made-up-value"))}, trusted=frozenset({"a"}))


def line(**changed: object) -> Line:
    made = {"op": "log", "id": "5f0c5f0c", "args": {"text": "called Ana"}, **changed}
    return json.loads(json.dumps(made))  # type: ignore[no-any-return]


@pytest.mark.parametrize("op", [*SHORT, *WORK])
def test_an_operation_takes_what_its_method_takes(op: str) -> None:
    parameters = inspect.signature(getattr(Service, op)).parameters
    fields = {**SHORT, **WORK}[op].model_fields
    own = OURS if op in SHORT else OURS - {"request"}
    assert set(fields) == set(parameters) - own
    assert (op in ONCE) == ("request" in parameters and op in SHORT)
    required = {name for name, field in fields.items() if field.is_required()}
    assert required == {n for n, p in parameters.items() if n != "self" and p.default is inspect.Parameter.empty}


def test_a_request_comes_in_as_it_was_sent() -> None:
    request = DelegateRequest(("Find it",), client="acme", inputs=(Path("/in/a\udc80"),), review="auto")
    found = asked(line(op="delegate", args=plain({"request": request}), setup=plain(SETUP)))
    assert (found.args, found.setup, found.works) == ({"request": request}, SETUP, True)
    assert asked(line()).setup == NOTHING


@pytest.mark.parametrize(
    "changed",
    [
        {"op": "seen_from"}, {"op": "doctor"}, {"op": "__init__"}, {"op": None}, {"id": "x"}, {"id": "z" * 16},
        {"args": {"text": "x", "more": 1}}, {"args": {}}, {"args": []}, {"more": 1}, {"scope": {"of": "acme"}},
        {"setup": {"trusted": 7}}, {"setup": {"more": 1}},
        {"op": "delegate", "args": {"request": {"texts": ["x"], "more": 1}}},
        {"op": "delegate", "args": {"request": {"texts": ["x"], "review": "never"}}},
    ],
)  # fmt: skip
def test_what_is_not_known_is_an_error(changed: dict[str, object]) -> None:
    with pytest.raises(Garbled):
        asked(line(**changed))


def test_no_error_holds_a_value() -> None:
    setup = plain(SETUP)
    assert isinstance(setup, dict)
    setup["profiles"]["p"]["key"]["more"] = "made-up-other"
    with pytest.raises(Garbled) as caught:
        asked(line(setup=setup))
    shown = "".join(traceback.format_exception(caught.value))
    assert "made-up" not in shown
    assert "made-up-value" not in repr(asked(line(setup=plain(SETUP))).setup)
