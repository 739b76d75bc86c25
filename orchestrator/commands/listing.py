"""Lists as people read them: hits, and what was committed."""

import re
from datetime import date
from typing import TYPE_CHECKING

from .ink import ink
from .terminal import Terminal
from .text import excerpt, one_line, visible, wrap

if TYPE_CHECKING:
    from ..results import CommitResult, SearchResult


def hits(result: "SearchResult", terminal: Terminal, today: date) -> str:
    """Each hit as path:line, its date and its text; first the range of days, where one was given.

    A line that would fill more than three rows of the screen is cut around what was looked for.
    """
    parts = []
    if result.since or result.until:
        parts.append(_range(result.since, result.until, today.isoformat()))
    words = re.findall(r"\w+", result.query)
    for hit in result.hits:
        dated = f"  {hit.date}" if hit.date else ""
        parts.append(ink(f"{one_line(hit.path)}:{hit.line}", "bold", terminal) + dated + "\n")
        rows = (excerpt(line, 3 * (terminal.columns - 2), words) for line in visible(hit.text).strip("\n").splitlines())
        parts.extend(wrap(f"  {row}\n", terminal.columns, "") for row in rows)
    if not result.hits:
        parts.append(f"Nothing found for {one_line(result.query)!r}.\n")
    return "".join(parts)


def _range(since: str | None, until: str | None, today: str) -> str:
    if since is not None and since > today:
        return f"From {since} on, a day that is still to come (today is {today}):\n\n"
    return f"From {since or 'the beginning'} to {until or 'today'}:\n\n"


def committed(result: "CommitResult", what: str) -> str:
    """What was done, the commit's id, and the files that it touched; of a rehearsal, what would be."""
    end = "; nothing was written" if result.commit is None else f", as {result.commit}"
    return f"{one_line(what)}{end}\n" + "".join(f"  {one_line(path)}\n" for path in result.paths)
