"""The history as people read it: the list, one commit with what it did, where a text comes from, what was undone."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from . import ink as colours
from .ink import ink
from .terminal import Terminal
from .text import count, cut, one_line, table, visible, wrap

if TYPE_CHECKING:
    from ...memory.history import Commit
    from ...memory.recall.why import Brought, Stands
    from ..past import HistoryResult, UndoResult, WhyResult

_SHOWN = 40  # rows of a change that are shown before a question
_PLACES = 5


def told(result: "HistoryResult", terminal: Terminal) -> str:
    """One commit a line, newest first; of one that was asked for by its id, all that the history holds of it."""
    if result.diff is not None:
        return "".join(_one(result.commits[0], result, terminal))
    if not result.commits:
        return f"No commit touched {one_line(result.path)}.\n" if result.path else "Nothing was committed.\n"
    more = f"… {count(result.cut, 'earlier commit')}; --limit shows more of them\n" if result.cut else ""
    return table([_row(c, result.undone) for c in result.commits], terminal.columns) + more


def _row(commit: "Commit", undone: Mapping[str, str]) -> tuple[str, ...]:
    mark = "(undone) " if commit.id in undone else ""
    return (commit.id, _time(commit), one_line(commit.who), mark + _what(commit))


def _what(commit: "Commit") -> str:
    return "(pruned)" if commit.pruned else one_line(commit.what)


def _one(commit: "Commit", result: "HistoryResult", terminal: Terminal) -> Iterator[str]:
    from ...memory.undoable import not_undoable

    by = result.undone.get(commit.id)
    yield from _named(
        [
            ("commit", f"{commit.id}  {commit.time}"),
            ("what", _what(commit)),
            ("who", one_line(commit.who)),
            *_origin(commit),
            ("files", one_line(", ".join(commit.paths))),
            ("undoes", commit.undoes or ""),
            ("undone by", by or ""),
        ],
        terminal,
    )
    if result.diff:
        yield "\n" + colours.diff(visible(result.diff).rstrip("\n"), terminal) + "\n"
    if by or not_undoable(commit) is None:
        yield f"\nNext: onepen undo {by or commit.id}\n"


def _origin(commit: "Commit") -> Iterator[tuple[str, str]]:
    yield "agent", one_line(commit.agent or "")
    yield "task", one_line(commit.task or "")
    yield "draft", one_line(commit.draft or "")
    yield "reviewer", one_line(commit.reviewer or "")
    yield "sources", one_line(", ".join(commit.sources))


def _named(facts: list[tuple[str, str]], terminal: Terminal, indent: str = "") -> Iterator[str]:
    for name, value in facts:
        if value:
            yield wrap(f"{indent}{ink(name + ':', 'dim', terminal)} {value}\n", terminal.columns)


def explained(result: "WhyResult", terminal: Terminal) -> str:
    """The commits that brought a text, newest first; where it stands now; plainly, where no commit brought it."""
    parts: list[str] = []
    if result.brought and not result.brought[0].whole:
        parts.append("No commit brought all of it at once; these brought lines of it:\n")
    for one in result.brought:
        parts += _brought(one, result.undone, terminal)
    standing = list(dict.fromkeys(map(_place, result.stands)))
    places = ", ".join(standing[:_PLACES])
    more = f" and {count(len(standing) - _PLACES, 'more place')}" if len(standing) > _PLACES else ""
    if result.brought and not result.stands and all(path.endswith("_index.md") for path, _ in result.brought[0].where):
        pass  # a summary stands in the index alone
    elif result.by_hand:
        parts += _lines(result.stands[0], terminal)
        parts.append(f"It stands in {places}{more}. No commit brought it: it was written by hand, not by onepen.\n")
        if result.pruned:
            parts.append(f"(Of {count(result.pruned, 'commit')} the text was pruned: one may have brought it.)\n")
    elif result.stands:
        parts.append(f"It stands in {places}{more}.\n")
    elif result.brought:
        by = "" if result.pruned else ": no commit took it out, so that was done by hand"
        if result.gone is not None:
            by = f"; {result.gone.id} took it out ({one_line(result.gone.what)})"
        parts.append(f"It stands nowhere now{by}.\n")
    else:
        parts.append("It stands nowhere in this space, and no commit brought it.\n")
    return "".join(wrap(part, terminal.columns) for part in parts)


def _brought(one: "Brought", undone: Mapping[str, str], terminal: Terminal) -> Iterator[str]:
    commit = one.commit
    by = f"  (undone by {undone[commit.id]})" if commit.id in undone else ""
    yield f"{ink(commit.id, 'bold', terminal)}  {_time(commit)}  {one_line(commit.who)}  {one_line(commit.what)}{by}\n"
    for line in one.lines[:_PLACES]:
        yield cut(f"  | {visible(line).strip()}", 3 * terminal.columns) + "\n"
    yield from _named(list(_origin(commit)), terminal, "  ")


def _lines(place: "Stands", terminal: Terminal) -> Iterator[str]:
    for line in place.lines[:_PLACES]:
        yield cut(f"  | {visible(line).strip()}", 3 * terminal.columns) + "\n"


def _place(place: "Stands") -> str:
    return f"{one_line(place.path)}:{place.line}"


def question(result: "UndoResult", terminal: Terminal) -> str:
    """What an undo would do, before it is asked about."""
    lines = visible(result.diff).rstrip("\n").splitlines()
    hidden = len(lines) - _SHOWN
    more = f"… {count(hidden, 'more line')} not shown; all of it: onepen undo {result.undone} --dry-run\n"
    change = colours.diff("\n".join(lines[:_SHOWN]), terminal) + "\n" + (more if hidden > 0 else "")
    return wrap(f"{result.undone}: {one_line(result.what)}\n", terminal.columns) + f"\n{change}\n"


def undone(result: "UndoResult", terminal: Terminal) -> str:
    """What was undone, the files that changed, and the draft that waits again; of a rehearsal, what would be done."""
    if result.dry_run:
        change = colours.diff(visible(result.diff), terminal)
        return f"Would undo {result.undone}: {one_line(result.what)}; nothing was written\n{_files(result)}\n{change}"
    said = f"Undone {result.undone}: {one_line(result.what)}, as {result.commit}\n{_files(result)}"
    waits = "".join(f"Draft {draft} waits again. Next: onepen show {draft}\n" for draft in result.drafts)
    return wrap(said + waits, terminal.columns)


def _files(result: "UndoResult") -> str:
    return "".join(f"  {one_line(path)}\n" for path in result.paths)


def _time(commit: "Commit") -> str:
    return commit.time[:16].replace("T", " ")
