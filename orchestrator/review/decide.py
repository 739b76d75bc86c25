"""A person's word on drafts: bound to what was shown, committed at once, or answered with what is in the way."""

from collections.abc import Callable

from ...memory.files import sha256 as sha256_of
from ...memory.history import commit_of
from ...memory.ids import shown
from ...memory.view import View
from ...memory.workspace import Space
from ...staging.verdict import Accepted, Bound, Refused, moved_on
from ..commit import NotWritten, Scribe, Written
from ..decision import Decision, Outcome
from ..results import DraftView
from ..tasks.desk import Desk
from ..tasks.dossier import Dossier
from ..tasks.events import Event, Judged, Shown
from ..tasks.plan import DraftState
from ..tasks.settle import Settled
from ..views import draft_view
from .reviewer import Examined

Confirm = Callable[[DraftView, str], bool]

_OUTCOMES: dict[str, Outcome] = {"conflict": "conflict", "duplicate": "duplicate", "changed": "needs_person"}


class Decider:
    """Decides on drafts in the name of `user`, with a held pen or in rehearsal.

    With `shared` a commit waits for others that want one at this moment; without it nothing is waited for. `notices`
    say what failed after a commit stood.
    """

    def __init__(self, desk: Desk, scribe: Scribe, user: str, *, shared: bool = False) -> None:
        self._desk = desk
        self._scribe = scribe
        self._user = f"user:{user}"
        self._shared = shared
        self.notices: tuple[str, ...] = ()

    async def approve(self, id_: str, sha256: str | None, confirm: Confirm | None) -> Decision:
        """Commits the draft if it is what was shown, else shows it anew; raises NoSuchDraft or AmbiguousId."""
        dossier, state = self._now(id_)
        if state.status in {"committed", "duplicate"}:
            return self._over(dossier, state)
        if state.status == "approved":
            return await self._finish(dossier, state)
        examined = self._examined(dossier, state)
        vouched = sha256 is not None and sha256.lower() == examined.bound.sha256
        refused = _refusal(state)
        moved = _moved(dossier, state, examined, sha256) or (None if vouched else refused)
        if examined.blocked and not examined.conflict:
            return self._not_now(dossier, state, examined, "blocked", _blocks(examined))
        if examined.conflict and moved is not None:
            return self._not_now(self._show(dossier, state, examined), state, examined, "conflict", _blocks(examined))
        if moved is not None:
            dossier = self._show(dossier, state, examined)
            shown = draft_view(dossier, state, examined, with_diff=True)
            if confirm is None or sha256 is not None or not confirm(shown, moved):
                return Decision(shown, "needs_person", moved)
        return await self._accept(dossier, state, examined, refused or "")

    async def reject(self, id_: str, reason: str) -> Decision:
        """Refuses the draft for good, with a day-log line; raises NoSuchDraft, AmbiguousId or BadLogText."""
        dossier, state = self._now(id_)
        if state.status == "approved":
            await self._finish(dossier, state)
            dossier, state = self._desk.find_draft(id_)
        examined = self._examined(dossier, state)
        if state.status in {"committed", "duplicate"}:
            note = f"it is in memory already, as {state.commit}" if state.commit else state.reason
            return self._not_now(dossier, state, examined, "blocked", note)
        target = state.facts.target or shown(state.facts.name)
        text = f"{target}: draft {state.id} rejected: {reason}"
        # Keyed: a rejection whose journal could not be written is logged once, however often it is repeated.
        key = f"{state.id} rejected {sha256_of(text.encode())[:16]}"
        commit = await self._scribe.log_shared(
            dossier.space, "rejected", text, self._user, key=key, shared=self._shared
        )
        judged = Judged(state.id, Refused(self._user, examined.bound, reason), examined.findings)
        dossier = self._noted(dossier, judged, commit.id)
        now = dossier.state.draft(state.id) or state
        return Decision(draft_view(dossier, now, examined), "refused", reason, commit.id, commit.paths)

    # -- steps -----------------------------------------------------------------------------------------------------

    def _now(self, id_: str) -> tuple[Dossier, DraftState]:
        """A draft by its journal; of one that is committed, the history says whether it still is."""
        dossier, state = self._desk.find_draft(id_)
        if state.status != "committed" or self._desk.rehearsed:
            return dossier, state
        dossier = Settled(self._desk.view).journal(dossier)
        return dossier, dossier.state.draft(state.id) or state

    async def _accept(self, dossier: Dossier, state: DraftState, examined: Examined, note: str) -> Decision:
        verdict = Accepted(self._user, examined.bound)
        dossier = dossier.happened(Judged(state.id, verdict, examined.findings))
        approved = dossier.state.draft(state.id)
        assert approved is not None
        return await self._commit(dossier, approved, verdict, examined, note)

    async def _finish(self, dossier: Dossier, state: DraftState) -> Decision:
        """A draft that was accepted before a crash: committed now, or found to be."""
        assert isinstance(state.verdict, Accepted)
        return await self._commit(dossier, state, state.verdict, self._examined(dossier, state))

    async def _commit(
        self, dossier: Dossier, state: DraftState, verdict: Accepted, examined: Examined, note: str = ""
    ) -> Decision:
        carry_out = self._scribe.carry_out_shared
        event, came = await carry_out(dossier, state, verdict, examined, shared=self._shared)
        dossier = self._noted(dossier, event, came.commit if isinstance(came, Written) else None)
        now = dossier.state.draft(state.id) or state
        if isinstance(came, NotWritten) and came.kind == "changed":
            dossier = self._show(dossier, now, examined)  # the diff is shown below
        view = draft_view(dossier, now, examined, with_diff=isinstance(came, NotWritten))
        if isinstance(came, Written):
            return Decision(view, "already" if came.again else "committed", note, came.commit, came.paths)
        return Decision(view, _OUTCOMES[came.kind], came.reason)

    def _over(self, dossier: Dossier, state: DraftState) -> Decision:
        view = draft_view(dossier, state, self._examined(dossier, state))
        if state.status == "duplicate" or state.commit is None:
            return Decision(view, "duplicate", state.reason)
        paths = paths_of(self._desk.view, dossier.space, state.commit)
        return Decision(view, "already", "", state.commit, paths)

    def _not_now(
        self, dossier: Dossier, state: DraftState, examined: Examined, outcome: Outcome, note: str
    ) -> Decision:
        return Decision(draft_view(dossier, state, examined, with_diff=True), outcome, note)

    def _show(self, dossier: Dossier, state: DraftState, examined: Examined) -> Dossier:
        return dossier.happened(Shown(state.id, examined.bound))

    def _examined(self, dossier: Dossier, state: DraftState) -> Examined:
        return self._desk.reviewer(dossier.space).examine(dossier, state)

    def _noted(self, dossier: Dossier, event: Event, commit: str | None) -> Dossier:
        """Journals what came of a decision. Once there is a commit, it stands: what fails after it is a notice."""
        if commit is None:
            dossier = dossier.happened(event)
        else:
            dossier, failure = dossier.happened_already(event, commit)
            self.notices += failure
        self.notices += self._desk.note_review(dossier)
        return dossier


def paths_of(view: View, space: Space, commit: str) -> tuple[str, ...]:
    """What a commit touched, by the history."""
    found = commit_of(view, space, commit)
    return found.paths if found is not None else ()


def _moved(dossier: Dossier, state: DraftState, examined: Examined, sha256: str | None) -> str | None:
    """What keeps an approval from counting for the draft as it is; None when it does.

    With `sha256` the person vouches for the file's bytes. What these bytes would change has to be as it was when a
    diff of them was last shown; bytes that were never shown are the person's own, and nothing else was seen of them.
    """
    now = examined.bound
    if sha256 is None:
        return moved_on(state.shown, now)
    if sha256.lower() != now.sha256:
        return f"the draft's sha256 is {now.sha256}, not the one that was given"
    then = _last_shown(dossier, state, now.sha256)
    return None if then is None else moved_on(then, now)


def _last_shown(dossier: Dossier, state: DraftState, sha256: str) -> Bound | None:
    """What was bound when these bytes were last shown; None when they never were."""
    if state.shown.sha256 == sha256:
        return state.shown
    shown = [e.event.bound for e in dossier.entries if isinstance(e.event, Shown) and e.event.draft == state.id]
    first = Bound(state.facts.sha256, state.facts.section, state.facts.index)
    return next((bound for bound in (*reversed(shown), first) if bound.sha256 == sha256), None)


def _refusal(state: DraftState) -> str | None:
    """That the draft was refused, by whom and why; None when it wasn't."""
    if state.status != "refused":
        return None
    by = "the checks" if state.verdict is None else state.verdict.reviewer
    return f"it was refused by {by}" + (f" because: {state.reason}" if state.reason else "")


def _blocks(examined: Examined) -> str:
    return "; ".join(str(f) for f in examined.findings if f.level == "block")
