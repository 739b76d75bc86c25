"""A second machine and edits by hand: a workspace under git, cloned, changed in an editor, and merged."""

from pathlib import Path

import pytest

from onepen.testing.program import Program

GIT = {
    "GIT_AUTHOR_NAME": "Ana", "GIT_AUTHOR_EMAIL": "ana@example.org", "GIT_COMMITTER_NAME": "Ana",
    "GIT_COMMITTER_EMAIL": "ana@example.org", "GIT_CONFIG_NOSYSTEM": "1",
}  # fmt: skip


@pytest.fixture
def shell(tmp_path: Path) -> Program:
    shell = Program(tmp_path)
    shell.env.update(GIT)
    ran = shell.shell(
        """
        set -e
        mkdir notes; printf 'Cone 6 was reached at 1222 degrees.\\n' > notes/cones.md
        onepen init ws; cd ws
        printf '# Kiln\\n\\nOurs.\\n\\n## Firing\\n\\n- fire at 1220\\n' | onepen add project Kiln --from -
        onepen delegate "At which temperature was cone 6 reached?" --input ../notes --target projects/kiln.md --json
        git init -q -b main; git add -A; git commit -qm begin
        cd ..; git clone -q ws ws2
        """
    )
    assert ran.code == 0, ran
    return shell


def test_a_clone_works_and_nothing_of_the_machine_travelled(shell: Program, tmp_path: Path) -> None:
    ran = shell.ok("status", "--json", cwd=tmp_path / "ws2")
    assert ran.json["drafts_waiting"] == 1
    travelled = {path.relative_to(tmp_path / "ws2").as_posix() for path in (tmp_path / "ws2").rglob("*")}
    travelled = {path for path in travelled if not path.startswith(".git/")}
    assert not {path for path in travelled if path.startswith(".onepen/") and path != ".onepen/.gitignore"}
    assert not {path for path in travelled if path.endswith("worker.log")}


def test_the_draft_of_the_first_machine_is_approved_on_the_second(shell: Program, tmp_path: Path) -> None:
    second = tmp_path / "ws2"
    (draft,) = shell.json("drafts", cwd=second)["drafts"]
    shell.ok("show", draft["id"], cwd=second)
    shell.ok("approve", draft["id"], cwd=second)
    assert "Cone 6 was reached at 1222 degrees." in (second / "projects/kiln.md").read_text()
    shell.ok("doctor", cwd=second)


def test_a_section_added_by_hand_is_indexed_by_the_next_command_that_writes(shell: Program, tmp_path: Path) -> None:
    second = tmp_path / "ws2"
    ran = shell.shell(
        "printf '\\n## Glaze\\nCeladon since May.\\n' >> projects/kiln.md; onepen log 'called Ana' && onepen doctor",
        cwd=second,
    )
    assert ran.code == 0, ran
    index = (second / "projects/_index.md").read_text()
    (line,) = [line for line in index.splitlines() if "kiln.md#glaze" in line]
    assert "Celadon since May." in line and "(auto)" in line
    (hit,) = [h for h in shell.json("search", "celadon", cwd=second)["hits"] if h["path"] == "projects/kiln.md"]
    card = (second / "projects/kiln.md").read_text().splitlines()
    assert "Celadon since May." in "\n".join(card[hit["line"] - 1 :][:2])


def test_lines_of_both_machines_are_kept_by_a_merge(shell: Program, tmp_path: Path) -> None:
    ran = shell.shell(
        """
        set -e
        (cd ws2; onepen log "called Ana"; git add -A; git commit -qm second)
        (cd ws; onepen log "called Ben"; git add -A; git commit -qm first)
        cd ws2; git pull -q --no-rebase --no-edit; onepen doctor --json
        """
    )
    assert ran.code == 0, ran
    second = tmp_path / "ws2"
    days = "".join(path.read_text() for path in (second / "memory").glob("2*.md"))
    assert "called Ana" in days and "called Ben" in days
    said = [commit["what"] for commit in shell.json("history", cwd=second)["commits"]]
    assert len(said) == len(set(said)) and len([what for what in said if "called" in what]) == 2
