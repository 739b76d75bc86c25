"""Files that a command made, on their way to a draft: what is taken, what is refused and why."""

import os
from pathlib import Path

import pytest

from onepen.memory.guard import read_beneath
from onepen.staging.draft import Draft, parse_draft
from onepen.subagents.messages import ToolResult
from onepen.subagents.toolbox.drafting import drafted_in
from onepen.subagents.toolbox.workfolder import WorkFolder, short_sha
from onepen.testing.bench import Bench, Tried

CSV = "cone,degrees\n6,1222\n"


@pytest.fixture
def tools(bench: Bench) -> Tried:
    tools = bench.toolbox(commands=True)
    (bench.work / "out").mkdir(parents=True)
    (bench.work / "out/cones.csv").write_text(CSV)
    return tools


def draft(bench: Bench, name: str) -> Draft:
    def beside(file: str) -> bytes:
        return read_beneath(bench.drafts, file, max_bytes=1 << 20)

    made = parse_draft(name, beside(name), beside)
    assert isinstance(made, Draft), made
    return made


def test_a_file_is_drafted_byte_for_byte_with_a_note_to_who_reviews_it(bench: Bench, tools: Tried) -> None:
    entry = [{"section_id": "x", "summary": "Cones and degrees.", "keywords": ["cones"]}]
    where = {"file": "out/cones.csv", "target": "projects/kiln/data/cones.csv", "text": "Made by cones.py."}
    said = tools.ok("write_draft", **where, index=entry)
    sha = short_sha(CSV.encode())
    assert said == f"cones.csv.md: written (create projects/kiln/data/cones.csv) (file 'out/cones.csv', {sha})"
    assert drafted_in(said) == sha
    made = draft(bench, "cones.csv.md")
    assert (made.file, made.file_data) == ("cones.csv", CSV.encode())
    assert made.body == "The file lies beside this draft: cones.csv\n\nMade by cones.py.\n"
    assert made.index[0].section_id == "data/cones.csv"
    again = tools.ok("write_draft", **where, index=entry)
    assert again.startswith("cones.csv.md: already done")


@pytest.mark.parametrize(("unconfined", "inputs", "provenance"), [
    (False, (), "agent"), (True, (), "external"), (False, ("cones.md",), "external"),
])  # fmt: skip
def test_what_a_command_made_is_as_what_it_could_read(
    bench: Bench, unconfined: bool, inputs: tuple[str, ...], provenance: str
) -> None:
    tools = bench.toolbox(commands=True)
    tools.toolbox._reading._inputs = inputs
    tools.toolbox._running.unconfined = unconfined  # type: ignore[union-attr]
    tools.ok("run_command", command="echo 6,1222 > a.csv")
    tools.ok("write_draft", file="a.csv", target="projects/kiln/a.csv", text="x")
    assert draft(bench, "a.csv.md").provenance == provenance


def test_the_file_can_be_drafted_anew_and_edited(bench: Bench, tools: Tried) -> None:
    where = {"file": "out/cones.csv", "target": "projects/kiln/cones.csv", "text": "Cones."}
    tools.ok("write_draft", **where)
    tools.ok("edit_draft", name="cones.csv", old_text="1222", new_text="1223")
    assert draft(bench, "cones.csv.md").file_data == b"cone,degrees\n6,1223\n"
    assert draft(bench, "cones.csv.md").body.endswith("\n\nCones.\n")
    (bench.work / "out/cones.csv").write_text(CSV + "7,1240\n")
    assert "written again" in tools.ok("write_draft", **where)
    assert draft(bench, "cones.csv.md").file_data == (CSV + "7,1240\n").encode()


def test_a_file_goes_to_the_tasks_project_under_its_own_name(bench: Bench, tools: Tried) -> None:
    told = tools.refused("write_draft", file="out/cones.csv", text="Cones.")
    assert told == "write_draft: file: say where it goes, as target projects/<id>/<path>"
    tools.toolbox._drafting._project = "kiln"
    tools.ok("write_draft", file="out/cones.csv", text="Cones.")
    assert str(draft(bench, "cones.csv.md").target) == "projects/kiln/cones.csv"


def test_a_text_that_a_program_wrote_can_be_a_card(bench: Bench, tools: Tried) -> None:
    (bench.work / "report.md").write_text("# Report\n\n## Cones\n\nSix.\n")
    tools.ok("write_draft", file="report.md", target="research/report.md", text="A report.")
    made = draft(bench, "report.md")
    assert (made.body, made.file) == ("# Report\n\n## Cones\n\nSix.\n", None)


def test_what_is_no_text_or_too_large_is_refused_with_the_reason(bench: Bench, tools: Tried) -> None:
    """Files of a project are reviewed by a person: what nobody can read is not drafted."""
    (bench.work / "plot.png").write_bytes(b"\x89PNG\r\n\0\0\xff")
    (bench.work / "nul.txt").write_bytes(b"a\0b")
    (bench.work / "big.csv").write_bytes(b"x" * ((1 << 20) + 1))
    (bench.work / "sparse").touch()
    os.truncate(bench.work / "sparse", 10 << 30)
    where = {"target": "projects/kiln/x", "text": "x"}
    for name in ("plot.png", "nul.txt"):
        told = tools.refused("write_draft", file=name, **where)
        assert told.startswith(f"file '{name}': it is no text (UTF-8)") and "draft the program that makes it" in told
    for name in ("big.csv", "sparse"):
        told = tools.refused("write_draft", file=name, **where)
        assert told.startswith(f"file '{name}': it has more than 1,048,576 bytes")
    (bench.work / "edge.txt").write_bytes(b"x" * (1 << 20))
    tools.ok("write_draft", file="edge.txt", **where)


@pytest.mark.parametrize(
    "name",
    ["../drafts/x", "/etc/hostname", "link", "hard", "fifo", "out", "missing.csv", "out/../out/cones.csv", "", "."],
)
def test_a_name_leads_nowhere_else(bench: Bench, tools: Tried, name: str) -> None:
    """FR-47: links, pipes and paths that climb are refused, however the command made them."""
    secret = bench.write("clients/other/projects/secret.md", "canary\n")
    (bench.work / "link").symlink_to(secret)
    os.link(secret, bench.work / "hard")
    os.mkfifo(bench.work / "fifo")
    told = tools.refused("write_draft", file=name, target="projects/kiln/x.csv", text="x")
    assert told.startswith("file ") and "canary" not in told
    assert bench.drafted() == {}


def test_names_that_models_give_are_understood(bench: Bench, tools: Tried) -> None:
    for k, name in enumerate(("work/out/cones.csv", "./out/cones.csv", f"{bench.work}/out/cones.csv")):
        tools.ok("write_draft", file=name, target=f"projects/kiln/c{k}.csv", text="x")
    told = tools.refused("write_draft", file="cones.csv", target="projects/kiln/c.csv", text="x")
    assert told == "file 'cones.csv': is not there; there are: out/cones.csv"


def test_who_may_run_nothing_has_no_files(bench: Bench) -> None:
    told = bench.toolbox().refused("write_draft", file="x.csv", target="projects/kiln/x.csv", text="x")
    assert told == "write_draft: file: there is no work folder, since this agent may run no commands"


def test_an_attempt_that_goes_on_drafts_what_was_drafted_then(bench: Bench, tools: Tried) -> None:
    """What lies in the work folder now may be of a later command than the draft."""
    where = {"file": "out/cones.csv", "target": "projects/kiln/cones.csv", "text": "Cones."}
    said = tools.ok("write_draft", **where)
    (bench.work / "out/cones.csv").write_text("later\n")
    for path in bench.drafts.iterdir():
        path.unlink()
    anew = bench.toolbox(commands=True)
    anew.toolbox.remember([ToolResult("u1", said)])
    assert anew.ok("write_draft", **where) == said
    assert draft(bench, "cones.csv.md").file_data == CSV.encode()
    (bench.work / ".drafted" / short_sha(CSV.encode())).write_text("forged\n")
    assert WorkFolder(bench.work).drafted(short_sha(CSV.encode())) is None


def test_the_state_of_a_folder_is_its_files_and_nothing_else(tmp_path: Path) -> None:
    one, other = WorkFolder(tmp_path / "one"), WorkFolder(tmp_path / "other")
    assert one.contents().state == other.contents().state
    for folder in (one, other):
        folder.make()
        (folder.path / "a.py").write_text("print(1)\n")
        (folder.path / ".tmp/scratch").write_text(str(folder.path))
    os.utime(other.path / "a.py", (0, 0))
    assert one.contents() == other.contents() and one.contents().plain
    (other.path / "a.py").chmod(0o700)
    assert one.contents().state != other.contents().state
    (one.path / "link").symlink_to("a.py")
    assert not one.contents().plain
