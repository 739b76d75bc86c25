#!/usr/bin/env python3
"""A sub-agent without onepen: it shows a model the inputs, asks until it answers in words, and leaves a draft."""

import json
import os
import sys
from pathlib import Path
from typing import Any


def send(kind: str, **fields: Any) -> None:
    message = {"v": 1, "task": hello["task"], "attempt": hello["attempt"], "type": kind, **fields}
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def model(turn: int, content: list[Any]) -> Any:
    send("model_request", id=turn, delta=[{"role": "user", "content": content}])
    reply = json.loads(sys.stdin.readline() or '{"type": "cancel"}')  # the end of stdin is an end, too
    return reply["content"] if reply["type"] == "model_reply" and not reply["error"] else sys.exit("it is over")


hello = json.loads(sys.stdin.readline())
send("hello", version="1", pid=os.getpid())
folders, said = hello["folders"], ""
texts = [Path(folders["inputs"], name).read_text(errors="replace") for name in hello["inputs"]]
content: list[Any] = [{"type": "text", "text": "\n\n".join([hello["text"], *texts, hello["feedback"] or ""])}]
for turn in range(hello["limits"]["turns"]):
    reply = model(turn, content)
    said = "\n\n".join(block["text"] for block in reply if block["type"] == "text").strip() or said
    refused = {"type": "tool_result", "content": "not here: answer in words", "is_error": True}
    content = [{**refused, "tool_use_id": block["id"]} for block in reply if block["type"] == "tool_use"]
    if not content:
        break
if said and not hello["answer"]:
    target = hello["target"] or f"research/{hello['task']}.md"
    there = Path(folders["space"], target).exists()
    head = f"---\ntarget: {target}\nedit: {'append' if there else 'create'}\nprovenance: external\n---\n"
    title = "" if there else f"# {hello['text'][:80]}\n\n"
    Path(folders["drafts"], "answer.md").write_text(f"{head}{title}## Answer\n\n{said}\n", encoding="utf-8")
send("report", summary="Answered." if said else "The model said nothing.", answer=said or None, complete=bool(said))
