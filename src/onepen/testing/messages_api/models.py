"""What the double says about its models."""

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs

MODELS = (
    "claude-sonnet-5-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-sonnet-5", "claude-opus-5",
    "claude-opus-4-8", "claude-sonnet-4-6", "claude-haiku-4-5",
)  # fmt: skip
OUTPUT_LIMIT = 64_000
LINES = ("haiku", "sonnet", "opus")
LEAST = 1_024
LEAST_OF = {
    "opus-4-5": 4_096, "opus-4-6": 4_096, "haiku-4-5": 4_096, "opus-4-7": 2_048, "opus-5-5": LEAST, "opus-5": 512,
}  # fmt: skip
"""Tokens from which on a prompt is cached, by what a model's name holds; sources differ, the newest stand in none."""


def one_model(name: str) -> dict[str, Any]:
    """A model as GET /v1/models/{id} tells it; its capabilities are left out."""
    return {
        "type": "model", "id": name, "display_name": name.replace("-", " ").title(), "lifecycle": "active",
        "created_at": "2026-09-01T00:00:00Z", "deprecated_at": None, "retires_at": None, "capabilities": None,
        "line": next((line for line in LINES if line in name), None),
        "max_input_tokens": 1_000_000, "max_tokens": OUTPUT_LIMIT,
    }  # fmt: skip


def listing(names: Sequence[str], query: str) -> bytes:
    """A page of GET /v1/models; `limit`, `after_id` and `before_id` are obeyed."""
    wanted = {name: values[-1] for name, values in parse_qs(query).items()}
    limit = int(wanted.get("limit", "20"))
    known = list(names)
    if (after := wanted.get("after_id")) in known:
        known = known[known.index(after) + 1 :]
    if (before := wanted.get("before_id")) in known:
        known = known[: known.index(before)]
    page = known[:limit]
    said = {
        "data": [one_model(name) for name in page], "has_more": len(known) > len(page),
        "first_id": page[0] if page else None, "last_id": page[-1] if page else None,
    }  # fmt: skip
    return json.dumps(said).encode()
