"""Values as JSON and back: what crosses the socket between a command and the orchestrator.

Requests are plain: an object per dataclass, a list per tuple; the orchestrator knows the types and checks them.
Answers name their types, since a client has to make the same values again, and may do it without importing a library:
`{"=": "CommitResult", "commit": "c4-k3x9ab", …}`. Lists become tuples. A client makes none but the types listed here.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from pathlib import PurePath

from .protocol import Garbled

TYPES: Mapping[str, str] = {
    "BatchView": "onepen.orchestrator.batch.answer",
    "Counts": "onepen.orchestrator.batch.answer",
    "Failures": "onepen.orchestrator.batch.answer",
    "Launch": "onepen.orchestrator.batch.happening",
    "Over": "onepen.orchestrator.batch.happening",
    "Standing": "onepen.orchestrator.batch.happening",
    "Waits": "onepen.orchestrator.batch.answer",
    "Word": "onepen.orchestrator.batch.happening",
    "Beside": "onepen.orchestrator.results",
    "CancelResult": "onepen.orchestrator.cancelled",
    "CommitResult": "onepen.orchestrator.results",
    "Decision": "onepen.orchestrator.decision",
    "DecisionResult": "onepen.orchestrator.decision",
    "DelegateResult": "onepen.orchestrator.results",
    "DraftView": "onepen.orchestrator.results",
    "Missed": "onepen.orchestrator.meter.measured",
    "PruneResult": "onepen.orchestrator.pruned",
    "PrunedKind": "onepen.orchestrator.pruned",
    "RenewalResult": "onepen.orchestrator.chat.answer",
    "RenameResult": "onepen.orchestrator.kept",
    "RemovalResult": "onepen.orchestrator.pruned",
    "TaskView": "onepen.orchestrator.results",
    "TurnResult": "onepen.orchestrator.chat.answer",
    "UndoResult": "onepen.orchestrator.past",
    "LeftView": "onepen.orchestrator.watched",
    "WorkerView": "onepen.orchestrator.watched",
    "WorkersView": "onepen.orchestrator.watched",
    "UsageTotals": "onepen.orchestrator.results",
    "Finding": "onepen.staging.finding",
    "Fix": "onepen.memory.exam.remedy",
    "FixResult": "onepen.orchestrator.diagnosis",
    "Fixed": "onepen.orchestrator.diagnosis",
    "ProgressLine": "onepen.orchestrator.requests",
}
"""The types of answers and events, and where each is defined."""

_TYPE = "="


def plain(value: object) -> object:
    """`value` as JSON without the names of its types; secrets inside are written out."""
    return _written(value, typed=False)


def typed(value: object) -> object:
    """`value` as JSON in which each dataclass names its type."""
    return _written(value, typed=True)


def read(value: object) -> object:
    """The value that `typed` wrote; raises Garbled for a type that is not listed or has other fields."""
    if isinstance(value, list):
        return tuple(read(one) for one in value)
    if not isinstance(value, dict):
        return value
    name = value.get(_TYPE)
    inside = {key: read(one) for key, one in value.items() if key != _TYPE}
    if name is None:
        return inside
    if name not in TYPES:
        raise Garbled(f"a value of type {name!r}, which is not known here")
    try:
        return getattr(import_module(TYPES[name]), name)(**inside)
    except TypeError as e:
        raise Garbled(f"a value of type {name} with other fields ({e})") from e


def _written(value: object, *, typed: bool) -> object:
    match value:
        case Enum():
            return _written(value.value, typed=typed)
        case str():
            return str(value)  # an id is a kind of text
        case None | bool() | int() | float():
            return value
        case PurePath():
            return str(value)
        case Mapping():
            return {str(key): _written(one, typed=typed) for key, one in value.items()}
        case tuple() | list():
            return [_written(one, typed=typed) for one in value]
        case frozenset() | set():
            return sorted(_written(one, typed=typed) for one in value)  # type: ignore[type-var]
    if is_dataclass(value) and not isinstance(value, type):
        found = {field.name: _written(getattr(value, field.name), typed=typed) for field in fields(value)}
        return {_TYPE: type(value).__name__, **found} if typed else found
    raise TypeError(f"{type(value).__name__} can't cross the socket")
