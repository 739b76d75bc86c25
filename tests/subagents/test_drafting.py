"""What a worker writes: drafts that a reviewer can read, and nothing anywhere else."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onepen.memory.text.card import apply_edit
from onepen.staging.draft import Draft, edit_of, parse_draft
from onepen.testing.bench import Bench

ENTRY = {"section_id": "firing", "summary": "Fire at 1220.", "keywords": ["cone 6"]}
TODAY = date(2026, 11, 29)
TEXT = "# Cones\n\n## Heat\n\nThey melt.\n"


def draft(bench: Bench, name: str) -> Draft:
    beside = {path.name: path.read_bytes() for path in bench.drafts.iterdir()}
    read = parse_draft(name, beside[name], beside.get)
    assert isinstance(read, Draft), read
    return read


def everything(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_new_finding(bench: Bench) -> None:
    tools = bench.toolbox()
    said = tools.ok(
        "write_draft", title="Heat of Cones", text=TEXT, index=[{"section_id": "heat", "summary": "They melt."}],
        sources=["inputs/cones.md:2"],
    )  # fmt: skip
    assert said == "heat-of-cones.md: written (create research/heat-of-cones.md)"
    made = draft(bench, "heat-of-cones.md")
    assert (str(made.target), made.edit, made.body, made.title) == (
        "research/heat-of-cones.md", "create", TEXT, "Heat of Cones",
    )  # fmt: skip
    assert made.index[0].summary == "They melt."
    assert made.sources == ("inputs/cones.md:2",)
    assert made.provenance == "agent"


def test_the_title_may_stand_in_the_text(bench: Bench) -> None:
    assert "create research/cone-heat.md" in bench.toolbox().ok("write_draft", text="# Cone heat\n\nThey melt.\n")


@pytest.mark.parametrize("named", [None, "research/heat.md", "heat", "heat.md", "research/heat", ""])
def test_the_task_says_where_it_goes(bench: Bench, named: str | None) -> None:
    tools = bench.toolbox(target="research/heat.md")
    assert "create research/heat.md" in tools.ok("write_draft", text=TEXT, target=named)


def test_a_task_with_a_target_has_no_other(bench: Bench) -> None:
    tools = bench.toolbox(target="research/heat.md")
    told = tools.refused("write_draft", text=TEXT, target="projects/kiln.md")
    assert told == "target 'projects/kiln.md': this task's result goes to research/heat.md; leave target out"
    told = tools.refused("propose_edit", card="kiln", old_text="celadon", new_text="tenmoku", index_entry=ENTRY)
    assert "this task may change research/heat.md only" in told
    assert bench.drafted() == {}


@pytest.mark.parametrize(
    ("fields", "edit", "section", "body"),
    [
        ({"text": "more\n"}, "append", None, "more\n"),
        ({"text": "more\n", "section": "Firing"}, "append", "firing", "more\n"),
        ({"text": "- 1220\n", "section": "firing", "old_text": "- fire at 1200\n"}, "replace", "firing", "- 1220\n"),
        ({"text": "", "section": "firing", "old_str": "- soak for ten minutes\n"}, "remove", "firing", ""),
        ({"text": "x", "edit": "remove", "old_text": "- celadon\n"}, "remove", None, ""),
    ],
)  # fmt: skip
def test_changes_of_a_card(bench: Bench, fields: dict[str, Any], edit: str, section: str | None, body: str) -> None:
    assert f"({edit} projects/kiln.md)" in bench.toolbox().ok("write_draft", target="projects/kiln.md", **fields)
    made = draft(bench, "kiln.md" if edit == "append" or section is None else "kiln-firing.md")
    assert (made.edit, made.section, made.body) == (edit, section, body)


def test_an_edit_proposed(bench: Bench) -> None:
    tools = bench.toolbox()
    said = tools.ok(
        "propose_edit", card="kiln", section="firing", old_text="fire at 1200", new_text="fire at 1220",
        index_entry=ENTRY,
    )  # fmt: skip
    assert said == "kiln-firing.md: written (replace projects/kiln.md)"
    made = draft(bench, "kiln-firing.md")
    assert (made.old_text, made.body, made.section) == ("fire at 1200", "fire at 1220", "firing")
    assert [(e.section_id, e.summary, e.keywords) for e in made.index] == [("firing", "Fire at 1220.", ("cone 6",))]


@pytest.mark.parametrize(
    ("body", "old", "new", "told"),
    [
        ("- fire at 1200\n" * 3, "- fire at 1200", "x", "found 3 times"),
        ("aaaa\n", "aaa", "b", "found 2 times"),
        ("aaaa\n", "", "b", "empty, which is not allowed"),
        ("aaaa\n", "zebra", "b", "found 0 times"),
        ("aaaa\n", "aaaa", "aaaa", "nothing to change"),
        ("fire at 1200\n", "fire at 12000", "b", "closest is line 7: 'fire at 1200'"),
    ],
)
def test_an_edit_that_does_not_fit_is_told_why(bench: Bench, body: str, old: str, new: str, told: str) -> None:
    bench.write("clients/acme/projects/loom.md", f"---\ntitle: Loom\n---\n\n## Firing\n\n{body}")
    before = everything(bench.root)
    refused = bench.toolbox().refused(
        "propose_edit", card="loom", section="firing", old_text=old, new_text=new, index_entry=ENTRY
    )
    assert told in refused
    assert everything(bench.root) == before


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("old", ["last line", "last line\n"])
def test_the_final_newline(bench: Bench, end: str, old: str) -> None:
    """Whatever newlines a model sends, lines that it didn't name stay lines, and a line appended later begins anew."""
    text = f"# Loom\n\n## Warp\n\nfirst line\nlast line{end}"
    bench.write("clients/acme/projects/loom.md", text)
    tools = bench.toolbox()
    entry = {"section_id": "warp", "summary": "Two lines."}
    tools.ok("propose_edit", card="loom", old_text=old, new_text="last line\nmore", index_entry=entry)
    tools.ok("write_draft", target="projects/loom.md", text="appended")
    after = text
    for name in ("loom.md", "loom-2.md"):
        made = draft(bench, name)
        after = apply_edit(after, edit_of(made, None), TODAY)
    assert after.splitlines() == [
        *["# Loom", "", "## Warp", "", "first line", "last line", "more"],
        *after.splitlines()[7:],
    ]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"section": "ovens"}, "section 'ovens': no such section; sections: kiln, firing, glaze"),
        ({"card": "oven"}, "card 'oven': not found"),
        ({"card": "kiln/sales/launch.md"}, "use write_draft with this target"),
        ({"index_entry": {**ENTRY, "section_id": "ovens"}}, "index: section_id 'ovens': no such section"),
        ({"index_entry": {**ENTRY, "summary": "two\nlines"}}, "summary"),
        ({"index_entry": {**ENTRY, "summary": "see [x](https://e.org)"}}, "summary"),
        ({"index_entry": {**ENTRY, "summary": "x" * 300}}, "summary"),
        ({"index_entry": {**ENTRY, "keywords": list("abcdefghijkl")}}, "keywords"),
    ],
)  # fmt: skip
def test_what_an_edit_names_must_be_there(bench: Bench, fields: dict[str, Any], told: str) -> None:
    proposal = {"card": "kiln", "section": "firing", "old_text": "1200", "new_text": "1220", "index_entry": ENTRY}
    assert told in bench.toolbox().refused("propose_edit", **{**proposal, **fields})
    assert bench.drafted() == {}


def test_a_section_of_the_entry_is_the_one_that_was_edited(bench: Bench) -> None:
    entry = {"summary": "Fire at 1220."}
    bench.toolbox().ok("propose_edit", card="kiln#firing", old_text="1200", new_text="1220", index_entry=entry)
    assert draft(bench, "kiln-firing.md").index[0].section_id == "firing"


@pytest.mark.parametrize(
    "name",
    [
        "../../projects/kiln.md", "/tmp/x.md", "a/../../x.md", "C:\\x.md", "..\\x.md", "..", ".", " .", "a/b", "a:b",
        "x\ty", "a\nb", "-rf", "--help", "🐙", "é" * 130, "x" * 300, "two words", ".hidden", "a\0b", "CON", "nul.txt",
        "aux.md", "\u202ex", "%2e%2e",
    ],
)  # fmt: skip
def test_names_that_are_refused(bench: Bench, name: str) -> None:
    before = everything(bench.root)
    told = bench.toolbox().refused("write_draft", text=TEXT, name=name, title="Cones two")
    assert told.startswith("name ")
    assert everything(bench.root) == before


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("a", "a.md"), ("a.", "a..md"), (" lead", "lead.md"), ("drafts/a.md", "a.md"), ("./a.md", "a.md"),
        ("A_1.b", "A_1.b.md"), ("", "cones.md"),
    ],
)  # fmt: skip
def test_names_that_are_made_safe(bench: Bench, name: str, file: str) -> None:
    bench.toolbox().ok("write_draft", text=TEXT, name=name)
    assert list(bench.drafted()) == [file]


@pytest.mark.parametrize(
    "target",
    [
        "../x.md", "projects/../x.md", "/tmp/x.md", "C:\\x.md", "clients/other/projects/secret.md", "SOUL.md", "OPS.md",
        "agents/researcher.md", "projects/_index.md", "memory/2026-11-29.md", "projects/con.md", "research/a/b.md",
        "projects/kiln/../loom.md", "projects/kiln/.git/config", "projects/Kiln.md", "x" * 300, "nowhere",
    ],
)  # fmt: skip
def test_targets_that_are_refused(bench: Bench, target: str) -> None:
    before = everything(bench.root)
    bench.toolbox().refused("write_draft", text=TEXT, target=target)
    assert everything(bench.root) == before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.text(st.sampled_from("./\\~:-ak\0\n%é") | st.characters(), max_size=30), st.booleans())
def test_no_name_or_target_writes_elsewhere(bench: Bench, text: str, as_name: bool) -> None:
    before = everything(bench.root)
    bench.toolbox()("write_draft", text=TEXT, title="Cones two", **{"name" if as_name else "target": text})
    added = {path for path, data in everything(bench.root).items() if before.get(path) != data}
    assert all(path.startswith(f"clients/acme/staging/{bench.task}/1/drafts/") for path in added)


def test_a_title_that_can_not_be_a_title(bench: Bench) -> None:
    tools = bench.toolbox()
    for title in ("x" * 300, "a\nb", "\x07"):
        tools.refused("write_draft", text=TEXT, title=title)
    assert bench.drafted() == {}
    for title, card in (("CON", "card-con"), ("nul", "card-nul"), ("-rf", "rf"), ("a/b", "a-b"), ("..", "card-")):
        assert f"create research/{card}" in tools.ok("write_draft", text=TEXT, title=title)


def test_the_same_again_is_already_done(bench: Bench) -> None:
    tools = bench.toolbox()
    fields = {"text": TEXT, "title": "Cones two", "index": [{"section_id": "heat", "summary": "They melt."}]}
    tools.ok("write_draft", **fields)
    before = bench.drafted()
    assert tools.ok("write_draft", **fields) == "cones-two.md: already done; the same draft is there"
    entry = {"card": "kiln", "section": "glaze", "old_text": "celadon", "new_text": "tenmoku",
             "index_entry": {"section_id": "glaze", "summary": "Tenmoku."}}  # fmt: skip
    tools.ok("propose_edit", **entry)
    assert "already done" in tools.ok("propose_edit", **entry)
    assert list(bench.drafted()) == [*before, "kiln-glaze.md"]


def test_a_draft_written_anew_replaces_the_first(bench: Bench) -> None:
    tools = bench.toolbox()
    tools.ok("write_draft", text=TEXT, title="Cones two")
    assert tools.ok("write_draft", text=TEXT + "More.\n", title="Cones two").startswith("cones-two.md: written again")
    assert draft(bench, "cones-two.md").body == TEXT + "More.\n"
    assert len(bench.drafted()) == 1


def test_two_changes_are_two_drafts(bench: Bench) -> None:
    tools = bench.toolbox()
    for text in ("one\n", "two\n"):
        tools.ok("write_draft", target="projects/kiln.md", text=text)
    for section in ("firing", "glaze"):
        tools.ok("write_draft", target="kiln", section=section, text="three\n")
    assert list(bench.drafted()) == ["kiln-2.md", "kiln-3.md", "kiln-4.md", "kiln.md"]


def test_a_name_that_is_taken(bench: Bench) -> None:
    tools = bench.toolbox()
    tools.ok("write_draft", text=TEXT, title="Cones two", name="note")
    for name in ("note", "NOTE.md"):
        told = tools.refused("write_draft", target="projects/kiln.md", text="x", name=name)
        assert told == "name note.md: another draft of this task has it; leave name out, or change it"


def test_drafts_are_counted(bench: Bench) -> None:
    tools = bench.toolbox()
    for k in range(64):
        tools.ok("write_draft", text=TEXT, title=f"Cones {k}")
    assert "at most 64 drafts" in tools.refused("write_draft", text=TEXT, title="One more")
    assert len(bench.drafted()) == 64


@pytest.mark.parametrize("size", [(1 << 20) - 50, 3 << 20])
def test_a_draft_has_a_limit(bench: Bench, size: int) -> None:
    told = bench.toolbox().refused("write_draft", text="x" * size, title="Long")
    assert "1,048,576" in told or "characters, far more than a draft may have" in told
    assert bench.drafted() == {}


def test_a_file_of_a_project_that_is_markdown(bench: Bench) -> None:
    tools = bench.toolbox()
    entry = [{"summary": "The letter for May."}]
    tools.ok("write_draft", target="projects/kiln/letters/may.md", text="Dear Ana\n", index=entry)
    made = draft(bench, "may.md")
    assert (str(made.target), made.edit, made.body, made.file) == (
        "projects/kiln/letters/may.md", "create", "Dear Ana\n", None,
    )  # fmt: skip
    assert made.index[0].section_id == "letters/may.md"
    assert "(replace projects/kiln/sales/launch.md)" in tools.ok(
        "write_draft", target="projects/kiln/sales/launch.md", text="# Launch\n\nNow.\n"
    )


def test_a_file_of_a_project_that_is_none(bench: Bench) -> None:
    tools = bench.toolbox()
    tools.ok("write_draft", target="projects/kiln/cones.csv", text="cone,heat\n6,1222\n")
    made = draft(bench, "cones.csv.md")
    assert (made.file, made.file_data, made.edit) == ("cones.csv", b"cone,heat\n6,1222\n", "create")
    assert "already done" in tools.ok("write_draft", target="projects/kiln/cones.csv", text="cone,heat\n6,1222\n")
    assert tools.ok("edit_draft", name="cones.csv", old_text="1222", new_text="1220") == "cones.csv.md: changed"
    assert draft(bench, "cones.csv.md").file_data == b"cone,heat\n6,1220\n"


def test_a_draft_is_corrected(bench: Bench) -> None:
    tools = bench.toolbox()
    tools.ok("write_draft", text=TEXT, title="Cones two", index=[{"section_id": "heat", "summary": "They melt."}])
    assert (
        tools.ok("edit_draft", name="cones-two", old_text="They melt.", new_str="They bend.") == "cones-two.md: changed"
    )
    made = draft(bench, "cones-two.md")
    assert made.body == TEXT.replace("melt", "bend")
    assert made.index[0].summary == "They melt." and made.title == "Cones two"
    again = tools.ok("edit_draft", name="cones-two.md", old_text="They melt.", new_text="They bend.")
    assert "already done" in again


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": "other"}, "draft 'other': not a draft of this task; drafts: cones-two.md"),
        ({"name": "../cones-two"}, "without a folder"),
        ({"old_text": ""}, "must not be empty"),
        ({"old_text": "e"}, "times in the text of cones-two.md"),
        ({"old_text": "absent"}, "found 0 times"),
        ({"old_text": "melt", "new_text": "melt"}, "must differ"),
    ],
)
def test_a_correction_that_is_refused(bench: Bench, fields: dict[str, str], told: str) -> None:
    tools = bench.toolbox()
    tools.ok("write_draft", text=TEXT, title="Cones two")
    before = bench.drafted()
    given = {"name": "cones-two", "old_text": "melt", "new_text": "bend", **fields}
    assert told in tools.refused("edit_draft", **given)
    assert bench.drafted() == before


def test_provenance_is_what_was_read(bench: Bench) -> None:
    tools = bench.toolbox()
    tools.ok("write_draft", text=TEXT, title="Before")
    tools.ok("read_card", card="kiln")
    tools.ok("write_draft", text=TEXT, title="From a card")
    tools.ok("read_input", name="cones.md")
    tools.ok("write_draft", text=TEXT, title="After")
    made = [draft(bench, name).provenance for name in ("before.md", "from-a-card.md", "after.md")]
    assert made == ["agent", "agent", "external"]


def test_a_search_that_shows_an_input_counts_as_reading(bench: Bench) -> None:
    tools = bench.toolbox()
    tools.ok("search", query="cone")
    tools.ok("write_draft", text=TEXT, title="After")
    assert draft(bench, "after.md").provenance == "external"


@pytest.mark.parametrize("kind", ["link", "hard link", "folder"])
def test_what_stands_in_the_way_is_not_written_through(bench: Bench, kind: str) -> None:
    tools = bench.toolbox()
    card = bench.space / "projects" / "kiln.md"
    before = card.read_bytes()
    match kind:
        case "link":
            (bench.drafts / "a.md").symlink_to(card)
        case "hard link":
            (bench.drafts / "a.md").hardlink_to(card)
        case "folder":
            (bench.drafts / "a.md").mkdir()
    assert "choose another name" in tools.refused("write_draft", text=TEXT, title="Cones two", name="a")
    assert card.read_bytes() == before


def test_a_card_that_is_a_link_is_not_changed_by_a_worker(bench: Bench) -> None:
    (bench.space / "projects" / "led.md").symlink_to(bench.root / "clients/other/projects/secret.md")
    told = bench.toolbox().refused("write_draft", target="projects/led.md", text="x")
    assert "plain files of their own space only" in told


def test_creating_what_is_there(bench: Bench) -> None:
    told = bench.toolbox().refused("write_draft", target="projects/kiln.md", text=TEXT, edit="create")
    assert "it exists already; append to it or replace a passage of it" in told


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"text": "Now.\n"}, "Now.\n"),
        ({"text": "Now.\n", "edit": "append"}, "# Launch\n\nSoon.\nNow.\n"),
        ({"text": "Now.", "edit": "replace", "old_text": "Soon."}, "# Launch\n\nNow.\n"),
        ({"text": "", "edit": "remove", "old_text": "Soon."}, "# Launch\n\n\n"),
    ],
)
def test_a_file_is_drafted_as_a_whole(bench: Bench, fields: dict[str, Any], text: str) -> None:
    bench.toolbox().ok("write_draft", target="projects/kiln/sales/launch.md", **fields)
    made = draft(bench, "launch.md")
    assert (made.edit, made.body) == ("replace", text)


def test_a_file_that_is_there_is_not_created(bench: Bench) -> None:
    tools = bench.toolbox()
    told = tools.refused("write_draft", target="projects/kiln/sales/launch.md", text="x", edit="create")
    assert "there is such a file already" in told


def test_a_note_is_changed_without_being_read(bench: Bench) -> None:
    """What stands in MEMORY.md is not for sub-agents, not even in the words of a refusal."""
    tools = bench.toolbox(target="MEMORY.md")
    tools.ok("write_draft", text="- Ana fires on Mondays\n")
    assert (draft(bench, "MEMORY.md").edit, draft(bench, "MEMORY.md").section) == ("append", None)
    said = tools.ok("write_draft", text="- x\n", old_text="- Ana prefers evenings\n", name="other")
    assert "mornings" not in said and draft(bench, "other.md").edit == "replace"


KEY = "AKIAFAKEFAKEFAKE0000"


@pytest.mark.parametrize(
    "given",
    [
        {"text": f"# Cones\n\nThe key is {KEY}.\n"},
        {"text": TEXT, "index": [{"section_id": "heat", "summary": f"Key {KEY}"}]},
        {"text": TEXT, "index": [{"section_id": "heat", "summary": "They melt.", "keywords": [KEY]}]},
        {"text": TEXT, "sources": [KEY]},
        {"text": KEY, "target": "projects/kiln/a.csv"},
    ],
)
def test_a_secret_is_not_even_drafted(bench: Bench, given: dict[str, Any]) -> None:
    told = bench.toolbox().refused("write_draft", **given)
    assert "it holds an AWS access key id, so it was not written" in told
    assert KEY not in told and not any(KEY.encode() in data for data in everything(bench.root).values())


def test_a_secret_is_not_edited_into_a_draft(bench: Bench) -> None:
    tools = bench.toolbox()
    tools.ok("write_draft", text=TEXT, name="cones")
    told = tools.refused("edit_draft", name="cones.md", old_text="They melt.", new_text=f"They melt. {KEY}")
    assert KEY not in told and draft(bench, "cones.md").body == TEXT


def test_a_file_has_one_entry_and_so_has_a_section(bench: Bench) -> None:
    """A small model gave a letter one entry for each sentence; told at once, it can put that right."""
    tools = bench.toolbox()
    two = [{"section_id": "a", "summary": "One."}, {"section_id": "b", "summary": "Two."}]
    told = tools.refused("write_draft", target="projects/kiln/letters/may.md", text="Dear Ana", index=two)
    assert "a file of a project has one entry, not 2" in told
    same = [{"section_id": "heat", "summary": "One."}, {"section_id": "heat", "summary": "Two."}]
    told = tools.refused("write_draft", target="research/new.md", text="# New\n\n## Heat\nHot.\n", index=same)
    assert "two entries for 'heat'" in told
    assert bench.drafted() == {}
