"""What a worker may read, by the names that models give things."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onepen.testing.bench import Bench


@pytest.mark.parametrize("name", ["kiln", "kiln.md", "projects/kiln.md", "projects/kiln", "./kiln", "Kiln", " kiln "])
def test_a_card_by_any_of_its_names(bench: Bench, name: str) -> None:
    assert bench.toolbox().ok("read_card", card=name).startswith("projects/kiln.md, lines 1-15 of 15\n")


@pytest.mark.parametrize("name", ["cones", "research/cones.md", "cones.md"])
def test_a_finding(bench: Bench, name: str) -> None:
    assert bench.toolbox().ok("read_card", card=name).startswith("research/cones.md, lines 1-")


@pytest.mark.parametrize("name", ["kiln/sales/launch.md", "projects/kiln/sales/launch.md", "kiln/sales/launch"])
def test_a_file_of_a_project(bench: Bench, name: str) -> None:
    assert "     3\tSoon." in bench.toolbox().ok("read_card", card=name)


@pytest.mark.parametrize(
    ("card", "section"),
    [("kiln", "firing"), ("kiln", "Firing"), ("kiln", "#firing"), ("kiln", "## Firing"), ("kiln#firing", None)],
)
def test_a_section_by_any_of_its_names(bench: Bench, card: str, section: str | None) -> None:
    assert bench.toolbox().ok("read_card", card=card, section=section) == (
        "projects/kiln.md, lines 9-12 of 15\n"
        "     9\t## Firing\n    10\t- fire at 1200\n    11\t- soak for ten minutes\n    12\t"
    )


def test_the_last_section_ends_with_the_file(bench: Bench) -> None:
    bench.write("clients/acme/projects/loom.md", "# Loom\n\n## Warp\nno newline")
    assert bench.toolbox().ok("read_card", card="loom", section="warp").endswith("     3\t## Warp\n     4\tno newline")


def test_a_card_says_which_sections_it_has(bench: Bench) -> None:
    assert bench.toolbox().ok("read_card", card="kiln").endswith("\n(sections: firing, glaze)")


def test_a_long_card_comes_in_pages(bench: Bench) -> None:
    bench.write("clients/acme/projects/long.md", "# Long\n" + "line\n" * 1000)
    tools = bench.toolbox()
    assert "(more: read on with start=401)" in tools.ok("read_card", card="long")
    assert tools.ok("read_card", card="long", start=401).startswith("projects/long.md, lines 401-800 of 1001")


@pytest.mark.parametrize(
    ("card", "told"),
    [
        ("kilm", "card 'kilm': not found; there are: kiln"),
        ("oven", "card 'oven': not found; there are: kiln, cones"),
        ("", "card '': not found"),
        ("two words", "not found"),
        ("../other/projects/secret.md", "not a card's name; give the id alone"),
        ("projects/../../other/projects/secret.md", "not a card's name"),
        ("/etc/passwd", "not a card's name"),
        ("~/notes.md", "not a card's name"),
        ("C:\\x.md", "not a card's name"),
        ("..\\x.md", "not a card's name"),
        ("clients/other/projects/secret.md", "own client's space only"),
        ("secret", "not found"),
        ("MEMORY.md", "cards and files of projects only"),
        ("USER", "not found"),
        ("staging/t1abc/task.md", "not found"),
        ("a\nb", "not found"),
        ("x" * 300, "not found"),
        ("kiln\0", "not found"),
    ],
)
def test_what_is_not_read_is_named(bench: Bench, card: str, told: str) -> None:
    assert told in bench.toolbox().refused("read_card", card=card)


def test_a_missing_section_is_told_which_there_are(bench: Bench) -> None:
    told = bench.toolbox().refused("read_card", card="kiln", section="fire")
    assert "'fire': not found" in told and "firing" in told


@pytest.mark.parametrize("kind", ["link to a file", "link to a folder", "hard link", "fifo", "dangling link"])
def test_nothing_is_followed(bench: Bench, kind: str) -> None:
    projects = bench.space / "projects"
    secret = bench.root / "clients/other/projects/secret.md"
    match kind:
        case "link to a file":
            (projects / "led.md").symlink_to(secret)
        case "dangling link":
            (projects / "led.md").symlink_to(bench.root / "nowhere.md")
        case "hard link":
            (projects / "led.md").hardlink_to(secret)
        case "fifo":
            os.mkfifo(projects / "led.md")
        case "link to a folder":
            (projects / "led").symlink_to(secret.parent)
    name = "led/secret.md" if kind == "link to a folder" else "led"
    told = bench.toolbox().refused("read_card", card=name)
    assert "plain files of their own space only" in told
    assert "Of another client" not in told


def test_a_card_that_is_no_text(bench: Bench) -> None:
    (bench.space / "projects" / "odd.md").write_bytes(b"\xff\xfe")
    assert "projects/odd.md" in bench.toolbox().refused("read_card", card="odd")


@pytest.mark.parametrize("name", ["cones.md", "inputs/cones.md", "./cones.md", "cones", "CONES.md", "cones.md#2"])
def test_an_input_by_any_of_its_names(bench: Bench, name: str) -> None:
    text = bench.toolbox().ok("read_input", name=name)
    assert text.startswith(
        "inputs/cones.md, lines 1-3 of 3\n     1\tCones\n     2\tcone 6 was reached at 1222 degrees\n"
    )


def test_an_input_in_pages(bench: Bench) -> None:
    text = bench.toolbox().ok("read_input", name="cones.md", start=2, lines=1)
    assert text == (
        "inputs/cones.md, lines 2-2 of 3\n     2\tcone 6 was reached at 1222 degrees\n(more: read on with start=3)"
    )


@pytest.mark.parametrize(
    "name", ["", "cone.txt", "../task.md", "/etc/passwd", "inputs/../task.md", "a\\b", "projects/kiln.md", "x" * 300]
)
def test_only_inputs_of_the_task_are_read(bench: Bench, name: str) -> None:
    assert "not among this task's inputs; there are: cones.md" in bench.toolbox().refused("read_input", name=name)


def test_an_input_exchanged_for_a_link(bench: Bench) -> None:
    path = bench.folder / "inputs" / "cones.md"
    path.unlink()
    path.symlink_to(bench.space / "MEMORY.md")
    told = bench.toolbox().refused("read_input", name="cones.md")
    assert "link" in told and "mornings" not in told


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.sampled_from("./\\~:#ak\0\n%é") | st.characters(), max_size=30))
def test_no_name_leads_out(bench: Bench, name: str) -> None:
    tools = bench.toolbox()
    for result in (
        tools("read_card", card=f"../{name}"),
        tools("read_card", card=name),
        tools("read_input", name=name),
    ):
        assert "Of another client" not in result.content and "mornings" not in result.content
        assert "root:" not in result.content


INDEX = "# Projects\n\n" + "".join(
    f"## [Card {k}](c{k}.md)\nstatus: {'done' if k % 2 else 'active'} · updated: 2026-{1 + k % 3:02}-01\n\n"
    f"- [a](c{k}.md#a) — Said.\n\n"
    for k in range(400)
)


def test_an_index_is_listed_by_the_groups_that_a_prompt_counts(bench: Bench) -> None:
    bench.write("clients/acme/projects/_index.md", INDEX)
    tools = bench.toolbox()
    told = tools.ok("read_card", card="projects/_index.md", section="2026-03")
    assert told.startswith("projects/_index.md, lines 13-")
    assert "    13\t## [Card 2](c2.md)\n" in told and "[Card 3]" not in told
    assert told.count("\t## [") == 133
    assert tools.ok("read_card", card="projects/_index", section="done").count("\t## [") == 150
    assert "    13\t## [Card 2](c2.md)\n    14\tstatus: active" in tools.ok("read_card", card="projects/_index#c2")


def test_a_long_listing_goes_on(bench: Bench) -> None:
    bench.write("clients/acme/projects/_index.md", INDEX)
    tools = bench.toolbox()
    first = tools.ok("read_card", card="projects/_index.md")
    start = int(first.rpartition("more: read on with start=")[2].partition(")")[0])
    assert f"{start:>6}\t## [Card 150](c150.md)" in tools.ok("read_card", card="projects/_index.md", start=start)


def test_a_group_that_is_none_is_told_which_there_are(bench: Bench) -> None:
    bench.write("clients/acme/projects/_index.md", INDEX)
    told = bench.toolbox().refused("read_card", card="projects/_index.md", section="2027-01")
    assert "there are: done, active" in told or "there are: active, done" in told
    assert "2026-01" in told


def test_what_a_prompt_shows_in_part_is_read_on(bench: Bench) -> None:
    bench.write("snapshot/whole/OPS.md", "".join(f"Rule {k}.\n" for k in range(1, 900)))
    tools = bench.toolbox()
    assert "   801\tRule 801.\n" in tools.ok("read_card", card="OPS.md", start=800)
    assert "not found" in tools.refused("read_card", card="BRIEF.md")
    assert "not a card's name" in tools.refused("read_card", card="../OPS.md")


def test_an_index_behind_a_link_is_not_read(bench: Bench) -> None:
    bench.write("clients/other/projects/_index.md", "## [Secret](secret.md)\n")
    (bench.space / "projects/_index.md").symlink_to(bench.root / "clients/other/projects/_index.md")
    assert "Secret" not in bench.toolbox().refused("read_card", card="projects/_index.md")
