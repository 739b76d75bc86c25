"""The history as people ask for it: of a space, of a file, one commit with what it did, and where a text comes from."""

from collections.abc import Iterable, Iterator
from datetime import date

from ..memory.errors import MemoryFault
from ..memory.history import AmbiguousCommit, Commit, NoSuchCommit, find_commit, read_history
from ..memory.recall.why import Stands, brought, brought_in_part, brought_to_index, stands_in, taken_out, words_of
from ..memory.renamed import renamed_in
from ..memory.undone import undone_of
from ..memory.view import View
from ..memory.workspace import NOTES, SHELVES, Space
from .errors import BadRequest
from .past import HistoryResult, WhyResult
from .tasks.dossier import Scope
from .views import written

_FEWEST = 3  # words that a sentence needs so that its lines are looked for one by one


class NeverCommitted(MemoryFault):
    """Raised when neither a file nor a commit of a space has the path that was asked about."""

    exit_code = 2

    def __init__(self, about: str) -> None:
        super().__init__(f"{about}: neither a file here nor one that a commit has touched", hint="onepen history")


def history(
    view: View, space: Space, about: str | None, since: date | None, until: date | None, limit: int
) -> HistoryResult:
    """The latest commits of a space, or of a file, a folder or a card of it; raises NeverCommitted."""
    commits, unread = read_history(view, space)
    lost = tuple(str(problem) for problem in unread if problem.level == "error")
    found = [c for c in reversed(commits) if _within(c, since, until)]
    if about is not None:
        places = tuple(_places(space, about))
        if not any(_touched(c, places) for c in commits) and not any((space.root / place).exists() for place in places):
            raise NeverCommitted(about)
        touched = {c.id for c in _followed(space, commits, places)}
        found = [c for c in found if c.id in touched]
    shown = found[: max(0, limit)]
    return HistoryResult(tuple(shown), lost, undone_of(commits), path=about, cut=len(found) - len(shown))


def one_commit(view: View, scope: Scope, prefix: str) -> HistoryResult:
    """One commit with what it did; raises NoSuchCommit or AmbiguousCommit."""
    _, commit, commits = find(view, scope, prefix)
    return HistoryResult((commit,), (), undone_of(commits), diff=written(commit))


def find(view: View, scope: Scope, prefix: str) -> tuple[Space, Commit, tuple[Commit, ...]]:
    """The commit that an id means, its space, and all commits of that space.

    Looked up as ids of drafts are: in one client's space, or in all of them with one before the others. Raises
    NoSuchCommit, AmbiguousCommit, BadId or NoSuchClient.
    """
    workspace = view.workspace
    spaces = workspace.spaces() if scope.only is None else (workspace.space(scope.only),)
    first = [space for space in spaces if space.client == scope.first]
    for group in (first, [space for space in spaces if space not in first]):
        found: list[tuple[Space, Commit, tuple[Commit, ...]]] = []
        for space in group:
            commits = read_history(view, space)[0]
            try:
                found.append((space, find_commit(commits, prefix), commits))
            except NoSuchCommit:
                continue
        if len(found) > 1:
            raise AmbiguousCommit(prefix, [commit for _, commit, _ in found])
        if found:
            return found[0]
    raise NoSuchCommit(prefix)


def why(view: View, space: Space, text: str) -> WhyResult:
    """Which commits brought a text; raises BadRequest for one without a word."""
    wanted = words_of(text)
    if not wanted:
        raise BadRequest("TEXT: give some words of the sentence")
    commits, unread = read_history(view, space)
    lost = [str(problem) for problem in unread if problem.level == "error"]
    stands = tuple(_standing(view, space, wanted))
    found = brought(commits, text)
    if not found and len(wanted.split()) >= _FEWEST:
        found = brought_in_part(commits, stands)
    if not found and not stands:
        found = brought_to_index(commits, text)
    gone = taken_out(commits, text) if found and not stands else None
    pruned = sum(commit.pruned for commit in commits)
    return WhyResult(text, found, stands, undone_of(commits), gone, tuple(lost), pruned)


def _within(commit: Commit, since: date | None, until: date | None) -> bool:
    day = commit.time[:10]
    return (since is None or day >= since.isoformat()) and (until is None or day <= until.isoformat())


def _places(space: Space, about: str) -> Iterator[str]:
    """The workspace paths that a person may mean: as given, in the space, or a card by its id alone."""
    name = about.removeprefix("./").rstrip("/")
    yield name
    yield space.path(name)
    if "/" not in name and not name.endswith(".md"):
        for shelf in SHELVES:
            yield space.path(f"{shelf}/{name}.md")
            yield space.path(f"{shelf}/{name}")


def _followed(space: Space, commits: Iterable[Commit], places: Iterable[str]) -> Iterator[Commit]:
    """The commits that touched these places, the newest first; of a card also under the names that it had before."""
    names = dict.fromkeys(places)
    for commit in reversed(tuple(commits)):
        if not _touched(commit, names):
            continue
        yield commit
        renamed = renamed_in(commit)
        if renamed is not None and space.path(renamed.new) in names:
            old = space.path(renamed.old)
            names |= dict.fromkeys((old, old.removesuffix(".md")))


def _touched(commit: Commit, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for path in commit.paths for place in places)


def _standing(view: View, space: Space, wanted: str) -> Iterator[Stands]:
    """Where a text stands now: in cards, files of projects, notes and day logs; what can't be read is passed over."""
    for path in _texts(view, space):
        try:
            text = view.text(path)
        except (MemoryFault, OSError):
            continue
        if text is not None:
            yield from stands_in(path, text, wanted)


def _texts(view: View, space: Space) -> Iterator[str]:
    for shelf in SHELVES:
        for card in view.cards(space, shelf):
            yield space.card_path(shelf, card)
    folder = space.folder / "projects"
    for path in sorted(folder.glob("*/**/*")) if folder.is_dir() else ():
        if path.is_file() and not path.is_symlink() and path.suffix in (".md", ".txt", ".csv"):
            yield path.relative_to(space.root).as_posix()
    yield from map(space.path, NOTES)
    if space.client is None:
        yield from (f"agents/{name}" for name in sorted(view.names("agents")) if name.endswith(".md"))
    for day in view.days(space):
        yield space.path(f"memory/{day.isoformat()}.md")
