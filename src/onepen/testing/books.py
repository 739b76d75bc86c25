"""What stands in the usage logs of a space, summed up for each attempt, review and turn."""

import json
from pathlib import Path
from typing import Any

KEY = ("task", "attempt", "role", "k", "chat", "turn")
SUMMED = ("input", "cache_write", "cache_read", "output", "seconds", "lost")


def books(logs: Path) -> list[dict[str, Any]]:
    """One dictionary each, in the order of the first lines; `responses` says how many lines it was made of."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for log in sorted(logs.glob("usage-*.jsonl")):
        for text in log.read_text().splitlines():
            line = json.loads(text)
            key = tuple(line.get(name) for name in KEY)
            if key not in found:
                found[key] = {**line, "responses": 1}
                continue
            one = found[key]
            one["responses"] += 1
            one |= {name: one.get(name, 0) + line.get(name, 0) for name in SUMMED if name in one or name in line}
            costs = one["cost_usd"], line["cost_usd"]
            one["cost_usd"] = None if None in costs else sum(costs)
    return list(found.values())
