from datetime import date
from pathlib import Path

import pytest

from onepen.memory.recall.search import Query, ScanSearch
from onepen.memory.view import View
from onepen.memory.workspace import open_workspace

FILES = {
    "projects/kiln.md": "---\ntitle: Kiln\nupdated: 2026-11-03\n---\n"
    "# Kiln\n\n## Firing\n- at 1220\n\n## Glaze\nCeladon.\n",
    "projects/_index.md": "# Projects\n\n## [Kiln](kiln.md)\n\n- [glaze](kiln.md#glaze) — Surface. `enamel`\n",
    "projects/kiln/post.txt": "Launch of the new kiln\n",
    "research/clay.md": "---\nupdated: 2026-10-01\n---\n# Clay\n\nStoneware shrinks by 12 percent.\n",
    "memory/2026-11-28.md": "- 09:00+01:00 [note] clay delivered\n",
    "memory/2026-11-29.md": "- 14:05+01:00 [note] called Ana about the celadon\n",
    "MEMORY.md": "# What was learned\n\nAna prefers mornings.\n",
    "chats/s1.jsonl": '{"role": "user", "content": "the clay is too dry"}\n',
    "clients/acme/projects/secret.md": "# Secret\n\nAcme buys celadon.\n",
}


@pytest.fixture
def view(tmp_path: Path) -> View:
    for path, text in {"onepen.toml": 'id = "abcdefgh"\n', **FILES}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return View(open_workspace(tmp_path))


def found(view: View, query: Query, client: str | None = None) -> list[tuple[str, int, str]]:
    hits = ScanSearch(view, view.workspace.space(client)).find(query)
    return [(hit.path, hit.line, hit.text) for hit in hits]


def test_a_card_is_found_by_its_heading_and_cited_by_its_line(view: View) -> None:
    assert found(view, Query("Which glaze?"))[0] == ("projects/kiln.md", 11, "Celadon.")


def test_a_card_is_found_by_what_only_the_index_says(view: View) -> None:
    assert found(view, Query("enamel")) == [("projects/_index.md", 5, "- [glaze](kiln.md#glaze) — Surface. `enamel`")]


def test_every_hit_has_a_word_of_the_question_itself(view: View) -> None:
    text = (
        "# Clay\n\nNot found in what I read:\n\n- the price of kaolin\n- anything else\n\n## Kaolin\nWhite.\n\nFine.\n"
    )
    front = "---\ntitle: What does clay cost?\nstatus: active\nowner: kaolin works\n---\n"
    (view.workspace.root / "research/clay.md").write_text(front + text)
    hits = found(view, Query("kaolin", limit=50))
    assert sorted(hit[1:] for hit in hits) == [(10, "- the price of kaolin"), (14, "White.")]


def test_of_front_matter_only_the_title_is_found(view: View) -> None:
    (view.workspace.root / "research/clay.md").write_text("---\ntitle: Porcelain\ntags: [bone]\n---\nWhite.\n")
    assert found(view, Query("porcelain")) == [("research/clay.md", 2, "title: Porcelain")]
    assert found(view, Query("bone tags")) == []
    (view.workspace.root / "research/clay.md").write_text("---\nBone china is a porcelain\n---\nWhite.\n")
    assert found(view, Query("bone")) == [("research/clay.md", 2, "Bone china is a porcelain")]


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("cards", "research/clay.md"),
        ("research", "research/clay.md"),
        ("log", "memory/2026-11-28.md"),
        ("chat", "chats/s1.jsonl"),
    ],
)
def test_each_place_is_searched_by_itself(view: View, place: str, path: str) -> None:
    hits = found(view, Query("clay launch stoneware", where=frozenset({place})))
    assert hits[0][0] == path
    assert found(view, Query("clay launch stoneware", where=frozenset())) == []


def test_findings_are_cards_and_can_be_searched_alone(view: View) -> None:
    def paths(where: str) -> set[str]:
        return {path for path, _, _ in found(view, Query("celadon stoneware", where=frozenset({where})))}

    assert paths("cards") == {"projects/kiln.md", "research/clay.md"}
    assert paths("research") == {"research/clay.md"}


def test_a_sum_is_found_without_its_cents(view: View) -> None:
    (view.workspace.root / "projects/rent.md").write_text("# Rent\n\nIt is 1.850,00 euros.\n\nOr 1.900.\n")
    assert found(view, Query("1.850"))[0] == ("projects/rent.md", 3, "It is 1.850,00 euros.")


def test_what_was_learned_belongs_to_the_log(view: View) -> None:
    assert found(view, Query("When does Ana like to meet, mornings?"))[0][0] == "MEMORY.md"
    assert found(view, Query("Ana", where=frozenset({"cards", "research"}))) == []


def test_a_range_of_dates_includes_its_ends(view: View) -> None:
    def days(since: date | None, until: date | None) -> set[str | None]:
        query = Query("clay celadon kiln", since, until)
        return {hit.date for hit in ScanSearch(view, view.workspace.house).find(query)}

    assert days(date(2026, 11, 29), None) == {"2026-11-29"}
    assert days(None, date(2026, 10, 1)) == {"2026-10-01"}
    assert days(date(2026, 11, 3), date(2026, 11, 28)) == {"2026-11-03", "2026-11-28"}
    assert None in days(None, None)


def test_a_search_stays_in_its_space(view: View) -> None:
    paths = {hit[0] for hit in found(view, Query("celadon"))}
    assert paths == {"memory/2026-11-29.md", "projects/kiln.md"}
    assert [hit[0] for hit in found(view, Query("celadon"), "acme")] == ["clients/acme/projects/secret.md"]


def test_a_hit_is_its_line_exactly(view: View) -> None:
    for hit in ScanSearch(view, view.workspace.house).find(Query("clay celadon kiln Ana", limit=50)):
        lines = (view.workspace.root / hit.path).read_text().split("\n")
        assert lines[hit.line - 1] == hit.text


def test_what_cannot_be_read_is_passed_over(view: View) -> None:
    (view.workspace.root / "projects/broken.md").write_bytes(b"\xff\xfe kiln")
    (view.workspace.root / "projects/away.md").symlink_to("/etc/hostname")
    assert found(view, Query("Which glaze?"))[0][0] == "projects/kiln.md"


def test_the_limit_holds(view: View) -> None:
    assert len(found(view, Query("clay celadon kiln Ana", limit=2))) == 2
    assert found(view, Query("clay", limit=0)) == []
