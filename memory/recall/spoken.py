"""A chat's file as it can be searched: the words of the person and of the agent, each on the line where they stand.

Prompts, tools and what tools showed are left out: they are memory already, or none of it.
"""

import json


def spoken(text: str) -> str:
    """The text of a chat's file with each line made to what was said in it; a line of another kind stays as it is."""
    return "\n".join(_said(line) for line in text.split("\n"))


def _said(line: str) -> str:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return line
    match found:
        case {"kind": "asked", "content": list(blocks)}:
            return _words(blocks[-1:])  # what stands before the person's words is the time, and news
        case {"kind": "replied", "content": list(blocks)}:
            return _words(blocks)
        case {"kind": str()}:
            return ""
    return line


def _words(blocks: list[object]) -> str:
    """The words of text blocks, on one line."""
    texts = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return " ".join(" ".join(text.split()) for text in texts if isinstance(text, str))
