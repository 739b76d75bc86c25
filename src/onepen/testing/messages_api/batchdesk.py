"""What is answered where Message Batches are made, looked at, fetched, cancelled and deleted."""

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from .answer import Answer, in_lines, instead, say_no
from .batches import Batch, Batches
from .faults import Refused
from .http import Request
from .rules import Rule


class BatchDesk:
    """Answers for the batches of a server; `address` tells where it is by now."""

    def __init__(self, batches: Batches, address: Callable[[], str]) -> None:
        self._batches = batches
        self._address = address

    def answer(
        self, request: Request, to: str, body: Mapping[str, Any], rule: Rule, request_id: str, now: float, at: datetime
    ) -> Answer:
        """Does what is asked, unless the rule says something in its place; `at` is the time of day."""
        answer = instead(rule, request_id, at)
        if answer is not None:
            return answer
        done = self._done(request, to, body, rule, now)
        if isinstance(done, Refused):
            return say_no(done, request_id)
        if isinstance(done, Batch):
            return in_lines(done.jsonl(), rule, request_id, at, "application/x-jsonl")
        return in_lines((json.dumps(done).encode(),), rule, request_id, at)

    def _done(
        self, request: Request, to: str, body: Mapping[str, Any], rule: Rule, now: float
    ) -> Refused | Batch | Mapping[str, object]:
        """What came of it: an error, the batch whose results are wanted, or what is told."""
        batches, address = self._batches, self._address()
        if to == "batch_list":
            return batches.page(request.query, address)
        if to == "batches":
            made = batches.create(body, len(request.body), rule, now)
            return made if isinstance(made, Refused) else batches.told(made, address)
        name = request.path.strip("/").split("/")[3]
        batch = batches.find(name)
        if batch is None:
            return Refused(404, "not_found_error", f"Message Batch {name} not found")
        match to:
            case "batch_cancel":
                return batches.cancel(batch, rule, now) or batches.told(batch, address)
            case "batch_delete":
                return batches.delete(batch) or {"id": name, "type": "message_batch_deleted"}
            case "batch_results" if batch.ended is None:
                return Refused(404, "not_found_error", f"Message Batch {name} has no results yet")
            case "batch_results":
                return batch
        return batches.told(batch, address, rule)
