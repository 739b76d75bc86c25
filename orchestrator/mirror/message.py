"""What a commit of git says of commits of onepen: a subject, and trailers by which each is found. Pure."""

from collections.abc import Sequence

from ...memory.history import Commit

_LISTED = 50
_SUBJECT = 200


def message(commits: Sequence[Commit]) -> str:
    """The message for commits that git takes as one."""
    if len(commits) == 1:
        return f"{_subject(commits[0].what)}\n\n{_trailers(commits)}"
    lines = [f"{commit.id} {_subject(commit.what)}" for commit in commits[:_LISTED]]
    if len(commits) > _LISTED:
        lines.append(f"and {len(commits) - _LISTED:,} more: logs/ has them all")
    listed = "".join(f"{line}\n" for line in lines)
    return f"{len(commits):,} commits of onepen\n\n{listed}\n{_trailers(commits)}"


def _trailers(commits: Sequence[Commit]) -> str:
    named = [("Onepen-Commit", commit.id) for commit in commits]
    for word in ("task", "agent", "reviewer"):
        values = dict.fromkeys(value for commit in commits if (value := getattr(commit, word)))
        named += [(word.capitalize(), value) for value in values]
    return "".join(f"{name}: {_line(value)}\n" for name, value in named)


def _subject(what: str) -> str:
    line = _line(what) or "a commit of onepen"
    return line if len(line) <= _SUBJECT else f"{line[: _SUBJECT - 1]}…"


def _line(text: str) -> str:
    """The text on one line, without characters that mean something to a terminal."""
    return "".join(c for c in " ".join(text.split()) if c.isprintable())
