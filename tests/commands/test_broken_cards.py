"""Cards whose front matter is broken or odd: named with file and line, never rewritten, and in nobody's way."""

from pathlib import Path

import pytest

from onepen.testing.program import Program

BROKEN = {
    "colon": "---\ntitle: Kiln: phase two\nowner: acme\n---\n\n# Kiln\n\n## Firing\n\nCone 6.\n",
    "tab": "---\ntitle: Loom\ntags:\n\t- wool\n---\n\n# Loom\n\nCone 6.\n",
    "open": "---\ntitle: Dyes\n\n# Dyes\n\nCone 6.\n",
    "double": "---\ntitle: A\ntitle: B\n---\n\n# A\n\nCone 6.\n",
    "anchor": "---\ntitle: &a A\nalso: *a\n---\n\n# A\n\nCone 6.\n",
    "tag": "---\ntitle: !!python/object/apply:os.system [echo]\n---\n\n# A\n\nCone 6.\n",
}
ODD = {
    "date": "---\nupdated: 2026-11-30\n---\n\n# Date\n\nCone 6.\n",
    "no": "---\ncode: no\n---\n\n# No\n\nCone 6.\n",
    "octal": "---\nid: 0123\n---\n\n# Octal\n\nCone 6.\n",
    "time": "---\nat: 12:30\n---\n\n# Time\n\nCone 6.\n",
    "empty": "---\ntags:\n---\n\n# Empty\n\nCone 6.\n",
    "word": "---\ntags: glaze\n---\n\n# Word\n\nCone 6.\n",
    "bom": "\ufeff---\ntitle: Bom\n---\n\n# Bom\n\nCone 6.\n",
    "none": "A\n\n---\nowner: me\n---\n\nB: cone 6.\n",
    "rules": "---\ntitle: Rules\n---\n\n# Rules\n\n---\n\n```yaml\n---\na: b\n---\n```\n\n---\n\nCone 6.\n",
}


@pytest.fixture
def onepen(tmp_path: Path) -> Program:
    onepen = Program(tmp_path)
    onepen.ok("init", "ws")
    return onepen


def put(onepen: Program, cards: dict[str, str]) -> dict[Path, bytes]:
    written = {}
    for name, text in cards.items():
        path = onepen.home / f"ws/projects/{name}.md"
        path.write_bytes(text.encode())
        written[path] = text.encode()
    return written


def test_broken_front_matter_is_one_line_of_doctor_each_with_file_line_and_cause(onepen: Program) -> None:
    cards = put(onepen, BROKEN)
    onepen.ok("delegate", "--answer", "cone 6", "-C", "ws")  # work indexes what was edited by hand
    ran = onepen("doctor", "-C", "ws", "--json")
    assert ran.code == 1
    found = {path.name: [p for p in ran.json["problems"] if p["path"] == f"projects/{path.name}"] for path in cards}
    for name, problems in found.items():
        errors = [problem for problem in problems if problem["level"] == "error"]
        assert len(errors) == 1 and errors[0]["line"] >= 1 and "\n" not in errors[0]["message"], (name, problems)
    people = onepen("doctor", "-C", "ws")
    assert people.code == 1 and "projects/colon.md:2: error: " in people.out
    assert {path: path.read_bytes() for path in cards} == cards


def test_odd_values_are_no_errors_and_stay_as_typed(onepen: Program) -> None:
    cards = put(onepen, ODD)
    onepen.ok("delegate", "--answer", "cone 6", "-C", "ws")  # work indexes what was edited by hand
    ran = onepen.ok("doctor", "-C", "ws", "--json")
    assert [problem for problem in ran.json["problems"] if problem["level"] == "error"] == []
    assert {path: path.read_bytes() for path in cards} == cards
    hits = {hit["path"] for hit in onepen.json("search", "cone 6", "--limit", "100", "-C", "ws")["hits"]}
    assert hits == {f"projects/{name}.md" for name in ODD}


def test_broken_cards_are_in_nobodys_way(onepen: Program) -> None:
    put(onepen, BROKEN)
    (onepen.home / "cones.md").write_text("Cone 6 was reached at 1222 degrees.\n")
    onepen.ok("add", "project", "Kiln: phase two", "--id", "kiln", "-C", "ws")
    assert (onepen.home / "ws/projects/kiln.md").read_text().startswith('---\ntitle: "Kiln: phase two"\n')
    for command in ("status", "drafts", "context", "history", "search cone"):
        assert "Traceback" not in onepen.ok(*command.split(), "-C", "ws").err
    result = onepen.json("delegate", "At what was cone 6 reached?", "--input", "cones.md", "-C", "ws")
    (draft,) = result["tasks"][0]["drafts"]
    onepen.ok("show", draft["id"], "-C", "ws")
    onepen.ok("approve", draft["id"], "-C", "ws")


@pytest.mark.parametrize("name", ["colon", "tab", "open", "double"])
def test_a_draft_for_a_broken_card_never_makes_a_second_block(name: str, onepen: Program) -> None:
    ((card, before),) = put(onepen, {name: BROKEN[name]}).items()
    (onepen.home / "cones.md").write_text("Cone 6 was reached at 1222 degrees.\n")
    ran = onepen(
        "delegate", "At what was cone 6 reached?", "--input", "cones.md", "--target", f"projects/{name}.md", "-C", "ws",
        "--json",
    )  # fmt: skip
    assert ran.code in (0, 1), ran
    for task in ran.json["tasks"]:
        for draft in task["drafts"]:
            onepen("show", draft["id"], "-C", "ws")
            onepen("approve", draft["id"], "-C", "ws")
    after = card.read_bytes()
    assert after.startswith(before.rstrip(b"\n")), "what stood there stands there"
    assert after.count(b"\n---\n") == before.count(b"\n---\n")
