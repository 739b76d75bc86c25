"""A chat's file as it can be searched."""

import json

from onepen.memory.recall.spoken import spoken


def test_only_what_was_said_stands_there_each_on_its_line() -> None:
    def words(text: str) -> dict[str, str]:
        return {"type": "text", "text": text}

    lines: list[dict[str, object]] = [
        {"kind": "begun", "system": ["rules about clay"]},
        {"kind": "asked", "content": [words("(It is Sunday.)"), words("dry\nclay?")]},
        {"kind": "replied", "content": [words("Yes,"), {"type": "tool_use", "name": "x"}, words("dry.")]},
        {"kind": "result", "content": "clay clay"},
    ]
    text = "\n".join(map(json.dumps, lines)) + "\ntorn {\n" + '{"role": "user", "content": "of another kind"}'
    assert spoken(text).split("\n") == [
        "",
        "dry clay?",
        "Yes, dry.",
        "",
        "torn {",
        '{"role": "user", "content": "of another kind"}',
    ]
