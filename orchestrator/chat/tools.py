"""The main agent's toolbox: runs what the model asks for, and turns every refusal into a result that it reads."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from ...memory.errors import OnepenError
from ...memory.fence import fences_of
from ...memory.recall.search import PLACES, Hit, Query, ScanSearch
from ...memory.target import CardTarget, Target
from ...memory.text.clip import clip
from ...memory.view import View
from ...staging.policy import Provenance
from ...subagents.messages import ToolUse, well_formed
from ...subagents.toolbox.listing import listing
from ...subagents.toolbox.page import page as page_of
from ...subagents.toolbox.reading import Reading
from ...subagents.toolbox.toolinput import ToolRefused, parse_input
from ..commit import Broken, Written
from ..door import SecretRefused
from ..origin import Origins
from .beginning import GONE, print_of
from .drafts import decided, drafts_text, look
from .edit import NOTES, draft_of, place_of
from .gate import Gate, HoldsSecret, Waits
from .hands import handed_over
from .house import House, OnMade
from .notes import REGISTRY, note_path
from .toolinput import (
    DecideDraft,
    Delegate,
    ListDrafts,
    LogEvent,
    ReadCard,
    ReadDraft,
    SearchHistory,
    SetProjectStatus,
    WriteMemoryCard,
)

_HITS = 12
_SNIPPET = 400
_MOST_SOURCES = 8


@dataclass(frozen=True)
class Outcome:
    """What came of a call: words for the model, places that it showed, and what was made of it.

    `secret`: it was refused because it holds one. `seen` are hashes of the files whose text is known by it.
    """

    content: str
    is_error: bool = False
    shown: tuple[str, ...] = ()
    external: bool = False
    commit: str | None = None
    drafts: tuple[str, ...] = ()
    secret: bool = False
    seen: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Sight:
    """What a chat has been shown so far: whether any of it came from outside, the places, and the files' hashes."""

    external: bool = False
    shown: tuple[str, ...] = ()
    seen: Mapping[str, str] = field(default_factory=dict)

    @property
    def provenance(self) -> Provenance:
        return "external" if self.external else "agent"


class Toolbox:
    """The tools of one chat; `sight` tells what the chat has read when a call is run."""

    def __init__(self, house: House, session: str, sight: Callable[[], Sight], model: str | None) -> None:
        self._house = house
        self._session = session
        self._sight = sight
        self._model = model
        self._gate = Gate(house, session)
        self._fences = fences_of(house.space.root)
        nowhere = house.space.folder / "staging"
        self._reading = Reading(house.space.folder, nowhere, (), who="you and your tools")
        self._known: Mapping[str, Callable[[ToolUse, OnMade], Awaitable[Outcome]]] = {
            "decide_draft": self._decide_draft,
            "delegate": self._delegate,
            "list_drafts": self._list_drafts,
            "log_event": self._log_event,
            "read_card": self._read_card,
            "read_draft": self._read_draft,
            "search_history": self._search_history,
            "set_project_status": self._set_project_status,
            "write_memory_card": self._write_memory_card,
        }

    async def run(self, use: ToolUse, on_made: OnMade) -> Outcome:
        """The outcome of one call; raises PenLost or RecoveryNeeded, after which nothing can be written."""
        try:
            tool = self._known.get(use.name)
            if tool is None:
                raise ToolRefused(f"there is no tool {use.name[:64]!r}; yours are: {', '.join(self._known)}")
            outcome = await tool(use, on_made)
        except OnepenError as e:
            if isinstance(e, Broken):
                raise
            return Outcome(well_formed(e.message), is_error=True, secret=isinstance(e, HoldsSecret | SecretRefused))
        except OSError as e:
            place = f"{e.filename}: " if e.filename is not None else ""
            return Outcome(f"not done: {place}{e.strerror or 'the disk refused it'}", is_error=True)
        return outcome

    # -- reading ---------------------------------------------------------------------------------------------------

    async def _read_card(self, use: ToolUse, on_made: OnMade) -> Outcome:
        given = parse_input(use.name, ReadCard, use.input)
        name = given.card.strip().removeprefix("./")
        if (note := note_path(name, self._house.space)) is not None:
            return self._read_note(note, given)
        page = self._reading.card(name.removeprefix(self._house.space.prefix), given.section, given.start)
        seen = {place: print_of(self._house.view, place) for place in (self._house.space.path(page.path),)}
        numbers = [line.number for line in page.lines]
        shown = (f"{page.path}:{numbers[0]}-{numbers[-1]}",) if numbers else ()
        external = self._origins().external(page.path)
        whence = ", holds text from outside" if external else ""
        text = self._fences.around(page.path + whence, page.render())
        return Outcome(text, shown=shown, external=external, seen=seen)

    def _read_note(self, path: str, given: ReadCard) -> Outcome:
        """A page of a note or day log, for which a prompt has only so much room."""
        text = self._house.view.text(path)
        if text is None:
            raise ToolRefused(f"read_card: {path} is not there")
        start = given.start or 1
        page = listing(path, text, given.section or "", start) if path == REGISTRY else page_of(path, text, start)
        outside = any("[external]" in line.text for line in page.lines)  # of a log: by its kind, as in a search
        whence = ", some of it from outside" if outside else ""
        numbers = [line.number for line in page.lines]
        own = path.startswith(self._house.space.prefix) and bool(numbers)
        shown = (f"{self._relative(path)}:{numbers[0]}-{numbers[-1]}",) if own else ()
        return Outcome(self._fences.around(path + whence, page.render()), shown=shown, external=outside)

    async def _search_history(self, use: ToolUse, on_made: OnMade) -> Outcome:
        given = parse_input(use.name, SearchHistory, use.input)
        if not given.query.strip():
            raise ToolRefused("search_history: query is empty; give the words to look for")
        where = frozenset(given.where) if given.where else PLACES
        query = Query(given.query, given.since, given.until, where, _HITS + 4)
        view = View(self._house.view.workspace)  # of its own: it is used in a thread
        hits = await anyio.to_thread.run_sync(ScanSearch(view, self._house.space).find, query)
        own = self._house.space.path(f"chats/{self._session}.jsonl")
        found = [hit for hit in hits if hit.path != own][:_HITS]
        if not found:
            return Outcome("Nothing found.")
        origins = self._origins()
        rows = [self._hit(hit) for hit in found]
        external = any(self._outside(hit, origins) for hit in found)
        shown = tuple(f"{self._relative(hit.path)}:{hit.line}" for hit in found)
        what = "what was found, best first" + (", some of it from outside" if external else "")
        return Outcome(self._fences.around(what, "\n".join(rows)), shown=shown, external=external)

    async def _list_drafts(self, use: ToolUse, on_made: OnMade) -> Outcome:
        parse_input(use.name, ListDrafts, use.input)
        return Outcome(drafts_text(self._house.drafts().drafts))

    async def _read_draft(self, use: ToolUse, on_made: OnMade) -> Outcome:
        given = parse_input(use.name, ReadDraft, use.input)
        view = self._house.draft(given.id.strip())
        return Outcome(look(view, self._fences), external=view.provenance == "external", shown=(f"draft {view.id}",))

    # -- writing ---------------------------------------------------------------------------------------------------

    async def _write_memory_card(self, use: ToolUse, on_made: OnMade) -> Outcome:
        given = parse_input(use.name, WriteMemoryCard, use.input)
        house, sight = self._house, self._sight()
        note = house.view.text(house.space.path(given.project)) if given.project in NOTES else None
        place = place_of(given, self._reading, note)
        origins = self._origins()
        external = [p for p in _cards(sight.shown) if origins.external(p)] if sight.external else []
        draft = draft_of(given, place, sight.provenance, tuple(external[:_MOST_SOURCES]))
        before = self._print(draft.target)
        came = self._gate.card(draft, place, use.id, on_made)
        if isinstance(came, Waits):
            return Outcome(_waiting(came), drafts=(came.draft,))
        line = f"index line: {draft.index[0].section_id}: {draft.index[0].summary}" if draft.index else ""
        verb = "already done" if came.again else {"create": "created", "remove": "removed"}.get(draft.edit, "changed")
        seen = self._still_seen(draft.target, before)
        return Outcome(_told(f"{draft.target}: {verb}", came, line), commit=came.commit, seen=seen)

    async def _set_project_status(self, use: ToolUse, on_made: OnMade) -> Outcome:
        given = parse_input(use.name, SetProjectStatus, use.input)
        target = self._reading.target(given.project)
        if not isinstance(target, CardTarget) or target.shelf != "projects":
            raise ToolRefused(f"set_project_status: {target} is no project's card")
        before = self._print(target)
        came = self._gate.status(target, given.status, given.note, self._sight().provenance, use.id)
        seen = self._still_seen(target, before)
        return Outcome(_told(f"{target}: status {given.status}", came), commit=came.commit, seen=seen)

    async def _log_event(self, use: ToolUse, on_made: OnMade) -> Outcome:
        given = parse_input(use.name, LogEvent, use.input)
        came = self._gate.log(given.text, self._sight().provenance, use.id)
        return Outcome(_told("noted in today's log", came), commit=came.commit)

    # -- other hands -----------------------------------------------------------------------------------------------

    async def _delegate(self, use: ToolUse, on_made: OnMade) -> Outcome:
        given = parse_input(use.name, Delegate, use.input)
        content, drafts, external = await handed_over(
            given, self._house, self._model, on_made, self._origins(), self._fences, external=self._sight().external
        )
        return Outcome(content, drafts=drafts, external=external)

    async def _decide_draft(self, use: ToolUse, on_made: OnMade) -> Outcome:
        given = parse_input(use.name, DecideDraft, use.input)
        content, commit = await decided(given, self._house)
        return Outcome(content, commit=commit)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _print(self, target: Target) -> str:
        return print_of(self._house.view, self._house.space.path(target))

    def _still_seen(self, target: Target, before: str) -> Mapping[str, str]:
        """The hash of a file after the agent's own change, if it knew what stood there: else a hand was there, too."""
        path = self._house.space.path(target)
        return {path: self._print(target)} if before in (GONE, self._sight().seen.get(path)) else {}

    def _origins(self) -> Origins:
        return Origins(self._house.space, self._house.commits())

    def _relative(self, path: str) -> str:
        return path.removeprefix(self._house.space.prefix)

    def _hit(self, hit: Hit) -> str:
        day = f" ({hit.date})" if hit.date else ""
        return f"{self._relative(hit.path)}:{hit.line}{day}: {clip(' '.join(hit.text.split()), _SNIPPET)}"

    def _outside(self, hit: Hit, origins: Origins) -> bool:
        """Whether a line may come from outside: of a card by its history, of a log by its kind; of a chat always."""
        path = self._relative(hit.path)
        return path.startswith("chats/") or "[external]" in hit.text or origins.external(path)


def _cards(shown: Sequence[str]) -> tuple[str, ...]:
    """The cards among places, each once."""
    return tuple(dict.fromkeys(p.rpartition(":")[0] for p in shown if p.startswith(("projects/", "research/"))))


def _told(what: str, came: Written, more: str = "") -> str:
    again = "; it was done before, nothing was done twice" if came.again else ""
    return "\n".join(part for part in (f"{what} (commit {came.commit}){again}", more) if part)


def _waiting(waits: Waits) -> str:
    return (
        f"Not in memory yet: it waits as draft {waits.draft}, because {waits.why}. A person decides: "
        f"onepen show {waits.draft}, then onepen approve {waits.draft}. Tell them so."
    )
