"""The texts of the repository: links lead somewhere, nothing names one machine, dependencies are pinned."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\[[^\]\n]*\]\(([^()\s]+)\)")
FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1\s*$", re.MULTILINE | re.DOTALL)
# Folders that exist on somebody's machine only. (Written in parts, so that this file doesn't accuse itself.)
MACHINE_PATH = re.compile(
    r"(?<![\w.~/-])/(?:" + "|".join(["ho" + "me", "ro" + "ot", "wo" + "rk", "Us" + "ers"]) + r")/\w"
)


def tracked(*suffixes: str) -> list[Path]:
    """The files that git holds or would take, links left out."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY, capture_output=True, check=True,
    ).stdout  # fmt: skip
    paths = [REPOSITORY / name for name in listed.decode().split("\0") if name]
    return [
        path
        for path in paths
        if path.is_file() and not path.is_symlink() and path.suffix in (suffixes or {path.suffix})
    ]


def anchors(text: str) -> set[str]:
    """The anchors that GitHub makes of a Markdown file's headings."""
    found: dict[str, int] = {}
    for title in re.findall(r"^#{1,6}\s+(.*?)\s*#*\s*$", FENCED.sub("", text), flags=re.MULTILINE):
        plain = LINK.sub(lambda link: link.group(0)[1:].split("]")[0], title).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
    return {slug if not extra else f"{slug}-{n}" for slug, extra in found.items() for n in range(extra + 1)} | set(
        found
    )


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def broken_links(path: Path, text: str) -> list[str]:
    broken = []
    for link in LINK.findall(FENCED.sub("", text)):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (path.parent / name) if name else path
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(read(target))):
            broken.append(link)
    return broken


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n", encoding="utf-8")
    good = "[a](page.md) [b](page.md#a-page) [c](#a-page) [d](https://example.org/x)"
    text = f"{good} [e](gone.md) [f](page.md#no)\n\n```\n[g](in/a/fence.md)\n```\n"
    assert broken_links(page, text) == ["gone.md", "page.md#no"]


def test_every_relative_link_in_our_texts_leads_somewhere() -> None:
    pages = [
        path
        for path in tracked(".md")
        if not str(path.relative_to(REPOSITORY)).startswith(("tests/", "memory/shipped/"))
    ]
    assert len(pages) > 10
    broken = {str(path.relative_to(REPOSITORY)): broken_links(path, read(path)) for path in pages}
    assert {page: links for page, links in broken.items() if links} == {}


def test_nothing_names_a_folder_of_one_machine() -> None:
    found = []
    for path in tracked():
        text = path.read_bytes().decode("utf-8", errors="replace")
        found += [
            f"{path.relative_to(REPOSITORY)}:{number}"
            for number, line in enumerate(text.splitlines(), 1)
            if MACHINE_PATH.search(line)
        ]
    assert found == []


def test_every_dependency_is_pinned_by_hash_and_no_registry_is_named() -> None:
    pins = read(REPOSITORY / "requirements-dev.txt")
    assert "://" not in pins and "index-url" not in pins
    blocks = re.split(r"^(?=[a-z0-9])", pins, flags=re.MULTILINE)[1:]
    assert all(re.match(r"[a-z0-9.\-]+==\S+", block) and "--hash=sha256:" in block for block in blocks)
    pinned = {block.split("==")[0] for block in blocks}
    project = tomllib.loads(read(REPOSITORY / "pyproject.toml"))
    wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    wanted += project["project"]["optional-dependencies"]["dev"]
    named = {re.split(r"[^A-Za-z0-9.\-]", one)[0].lower() for one in wanted}
    assert named <= pinned


def test_the_readme_is_short() -> None:
    assert len(read(REPOSITORY / "README.md").splitlines()) <= 150


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/index.md"])
def test_the_pages_that_a_newcomer_looks_for_exist(page: str) -> None:
    assert read(REPOSITORY / page).startswith("# ")
