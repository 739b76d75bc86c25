"""Whether a workspace under git tells git what it must know: which logs are merged by union, and what never travels.

Only the lines of the files themselves are looked at; git is not asked, since its config may be a stranger's.
"""

from collections.abc import Iterator

from ..problem import Problem
from ..scaffold import shipped
from ..view import View
from .legible import legible

ATTRIBUTES, IGNORE = ".gitattributes", ".gitignore"
_WHY = {
    ATTRIBUTES: "git may lose or mix lines of two machines when it merges logs and day logs",
    IGNORE: "git may take along what belongs to this machine alone",
}


def git_problems(view: View) -> Iterator[Problem]:
    """Lines that .gitattributes and .gitignore lack; nothing where the workspace is not under git."""
    root = view.workspace.root
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        return
    for path in (ATTRIBUTES, IGNORE):
        text = legible(view, path)
        if isinstance(text, Problem):
            yield text
        elif missing := missing_lines(path, text or ""):
            listed = ", ".join(missing)
            message = f"without {listed}, {_WHY[path]}"
            yield Problem(path, 0, "git_lines_missing", "warning", message)


def missing_lines(path: str, text: str) -> tuple[str, ...]:
    """The lines of the file as it is shipped that `text` lacks, in their order."""
    there = [_said(path, line) for line in text.split("\n")]
    wanted = [line for line in shipped(path.removeprefix(".")).split("\n") if line and not line.startswith("#")]
    return tuple(line for line in wanted if _said(path, line) not in there)


def with_lines(path: str, text: str) -> str:
    """The text with the lines that it lacks at its end; what stands there stays as it is."""
    added = "".join(f"{line}\n" for line in missing_lines(path, text))
    if not added:
        return text
    gap = "" if not text or text.endswith("\n") else "\n"
    return f"{text}{gap}# onepen\n{added}"


def _said(path: str, line: str) -> tuple[str, ...]:
    """What a line says, however it is written: the pattern, and of the attributes those that count."""
    words = line.split()
    if not words or words[0].startswith("#"):
        return ()
    if path == IGNORE:
        return (words[0].strip("/"),)
    return (words[0].removeprefix("/"), *sorted(set(words[1:]) & {"merge=union"}))
