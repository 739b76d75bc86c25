"""What comes of one request in a Message Batch: the lines that its results get, good ones and strange ones."""

from collections.abc import Mapping
from datetime import UTC, datetime

from .batches import Result, line
from .faults import Refused, error_event, refused
from .rules import Fault, Rule

_BROKEN = Fault(status=500)


def strange_result(rule: Rule, custom_id: str) -> Result | None:
    """The result of a rule by which no model answers; None: one does."""
    fault = rule.fault
    if fault is None:
        return None
    match fault.kind:
        case "expired" | "canceled":
            return Result(fault.kind, (line(custom_id, {"type": fault.kind}),))
        case "status" | "spend_cap":
            return errored(custom_id, refused(fault, datetime.now(UTC)))
        case "error_event":
            return Result("errored", (line(custom_id, {"type": "errored", "error": error_event(fault)}),))
        case "missing" | "twice" | "unknown_id" | "unknown_result":
            return None
    return errored(custom_id, refused(_BROKEN, datetime.now(UTC)))


def succeeded(rule: Rule, custom_id: str, message: Mapping[str, object]) -> Result:
    """The result of a request that a model has answered, whatever becomes of its line."""
    whole = line(custom_id, {"type": "succeeded", "message": message})
    lines = {
        "missing": (),
        "twice": (whole, whole),
        "unknown_id": (whole, line(f"other-{custom_id}"[:64], {"type": "succeeded", "message": message})),
        "unknown_result": (whole, line(custom_id, {"type": "postponed", "until": "tomorrow"})),
    }.get(rule.fault.kind if rule.fault else "", (whole,))
    return Result("succeeded", lines, paid=True)


def errored(custom_id: str, no: Refused) -> Result:
    """The result of a request that failed; its cause is nested two levels deep, as the API has it."""
    error = {"type": no.type, "message": no.message, "details": no.code and {"error_code": no.code}}
    told = {"type": "errored", "error": {"type": "error", "error": error, "request_id": None}}
    return Result("errored", (line(custom_id, told),))
