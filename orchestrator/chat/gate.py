"""The gate between the main agent and memory: checks, then the policy; what needs a person becomes a draft that waits.

A change of a card is committed at once where the policy asks for the checks alone. Its key is the chat, the call and
the target, so a call whose result was lost in a crash is never carried out twice.
"""

from dataclasses import dataclass

from ...memory import files
from ...memory.ids import AgentId, DraftId, TaskId
from ...memory.target import CardTarget, NoteTarget
from ...memory.workspace import SHELVES
from ...staging.checks import Ground, check
from ...staging.draft import Draft, DraftImpossible, render_draft
from ...staging.finding import Finding
from ...staging.policy import Provenance, stages
from ...staging.sheet import TaskSheet
from ...staging.verdict import Escalated
from ...subagents.toolbox.toolinput import ToolRefused
from ..commit import Written
from ..review.reviewer import CHECKS, facts_of, index_of
from ..settings.models import OFFLINE
from ..tasks.events import AttemptReported, AttemptStarted, Judged
from .edit import Place
from .house import House, OnMade
from .prompt import MAIN

WHO = f"agent:{MAIN}"
_READABLE = (*(f"{shelf}/" for shelf in SHELVES), "memory/")


class HoldsSecret(ToolRefused):
    """Raised when what is to be written holds a key or a password; the message names kind and place."""

    def __init__(self, what: str) -> None:
        super().__init__(f"nothing was written: {what}")


@dataclass(frozen=True)
class Waits:
    """A draft for a person, and why one is needed."""

    draft: str
    why: str


class Gate:
    """Takes the changes of one chat."""

    def __init__(self, house: House, session: str) -> None:
        self._house = house
        self._session = session

    def card(self, draft: Draft, place: Place, call: str, on_made: OnMade) -> Written | Waits:
        """Commits the change of a card, or files it for a person; raises ToolRefused for what can't stand."""
        blocks = [f for f in self._findings(draft, place) if f.level == "block"]
        if any(finding.kind == "secret" for finding in blocks):
            raise HoldsSecret("; ".join(finding.message for finding in blocks))
        if blocks:
            raise ToolRefused(f"nothing was written: {'; '.join(f.message for f in blocks)}")
        needed = stages(
            origin="chat",
            target=draft.target,
            provenance=draft.provenance,
            cited=False,
            verbatim=False,
            auto=False,
            model=False,
        )
        if "person" in needed:
            return self._waits(draft, _why(draft), on_made)
        with self._house.desk.scribe() as scribe:
            return scribe.write_card(self._house.space, draft, who=WHO, key=self.key(call, str(draft.target)))

    def status(self, target: CardTarget, status: str, note: str, provenance: Provenance, call: str) -> Written:
        """Sets a project's status; raises ToolRefused where text from outside was read: a draft can't say it."""
        if provenance == "external":
            raise ToolRefused(
                f"nothing was written: this chat has read text from outside, so a person sets the status, in {target}"
            )
        with self._house.desk.scribe() as scribe:
            key = self.key(call, str(target))
            return scribe.set_status(self._house.space, target, status, note, who=WHO, key=key)

    def log(self, text: str, provenance: Provenance, call: str) -> Written:
        """A line in today's log; one written after text from outside was read says so by its kind."""
        kind = "external" if provenance == "external" else "event"
        with self._house.desk.scribe() as scribe:
            commit = scribe.log(self._house.space, kind, text, WHO, key=self.key(call, "log"))
        return Written(commit.id, commit.paths)

    def key(self, call: str, target: str) -> str:
        return f"chat {self._session} {call} {target}"

    # -- inside ----------------------------------------------------------------------------------------------------

    def _findings(self, draft: Draft, place: Place) -> tuple[Finding, ...]:
        house = self._house
        cards = (f"{shelf}/{card}.md" for shelf in SHELVES for card in house.view.cards(house.space, shelf))
        ground = Ground(
            read=self._read,
            card_text=place.before,
            index=index_of(house.view, house.space, draft.target),
            known=frozenset(cards),
            today=house.clock.now().date(),
            seen=draft.provenance,
        )
        standing = frozenset((place.before or "").split("\n"))
        rows = draft.body.split("\n")
        return tuple(f for f in check(draft, ground) if not (f.kind == "quote" and rows[f.line - 1] in standing))

    def _read(self, path: str) -> str | None:
        """The text that a quote may cite: cards, files of projects and day logs of this space."""
        parts = path.split("/")
        if not path.startswith(_READABLE) or any(part in ("", ".", "..") for part in parts) or parts[-1] == "_index.md":
            return None
        return self._house.view.text(self._house.space.path(path))

    def _waits(self, draft: Draft, why: str, on_made: OnMade) -> Waits:
        """Files the change as the draft of a task of its own, which only a person can decide on."""
        house = self._house
        task = TaskId(house.new_task())
        sheet = TaskSheet(
            task=task,
            agent=AgentId(MAIN),
            client=house.space.client,
            project=None,
            target=str(draft.target),
            text=f"A change that the main agent proposed in chat {self._session}: {why}.",
            created=house.clock.now().isoformat(timespec="seconds"),
            model=OFFLINE,
        )
        raw = _rendered(draft)
        dossier, _ = house.desk.make(house.space, sheet, ())
        on_made((task,))
        dossier = dossier.happened(AttemptStarted(1))
        files.make_folder(dossier.folder.drafts(1), within=house.space.root)
        files.create_exclusive(dossier.folder.drafts(1) / draft.name, raw, sync=True)
        facts = facts_of(house.view, dossier, 1, 0)
        dossier = dossier.happened(AttemptReported(1, facts, summary=f"From chat {self._session}."))
        (state,) = dossier.state.drafts
        examined = house.desk.reviewer(house.space).examine(dossier, state)
        verdict = Escalated(CHECKS, examined.bound, f"a person decides: {why}")
        dossier = dossier.happened(Judged(state.id, verdict, examined.findings))
        house.desk.note_review(dossier)
        return Waits(str(DraftId.of(task, 1)), why)


def _rendered(draft: Draft) -> bytes:
    try:
        return render_draft(
            target=draft.target,
            edit=draft.edit,
            section=draft.section,
            old_text=draft.old_text,
            body=draft.body,
            index=draft.index,
            sources=draft.sources,
            provenance=draft.provenance,
            title=draft.title,
        )
    except DraftImpossible as e:
        raise ToolRefused(f"nothing was written: {e.message}") from e


def _why(draft: Draft) -> str:
    if isinstance(draft.target, NoteTarget):
        return f"{draft.target} changes by a person's word only"
    return "this chat has read text from outside, and what it writes may come from there"
