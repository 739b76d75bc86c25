"""One attempt of a task: the worker gets its assignment, its model and its search; what it left is collected.

The staging folder is believed, never the report. A report that answers but left no draft that can be read is filed as
a draft by the orchestrator, so that no result is lost.
"""

import os
import stat
from pathlib import Path

import anyio

from ...memory import files, snapshot
from ...memory.clock import Clock
from ...memory.errors import MemoryFault, OnepenError
from ...memory.fence import fences_of
from ...memory.ids import BadTitle, CardId, check_title
from ...memory.target import CardTarget, FileTarget, parse_target
from ...memory.text.card import EditKind
from ...memory.text.clip import clip
from ...memory.view import View
from ...memory.workspace import Workspace
from ...staging.draft import DraftImpossible, render_draft
from ...staging.folder import TaskFolder
from ...staging.secret import mask
from ...subagents.definition import AgentDefinition
from ...subagents.model import ModelReply, ModelRequest, OnLost
from ...subagents.pool import Assignment, Ending, Failed, Limits, Reported, Stopped, TimedOut
from ...subagents.prompt import first_message, prefix_sha, system_blocks, tools
from ...subagents.toolbox.toolset import tool_tokens
from ..errors import AttemptTaken, Parked
from ..extractive.findings import heading_of
from ..gateway.account import Account
from ..gateway.failure import CallFailed
from ..gateway.ledger import OverBudget
from ..gateway.outstanding import Unstored
from ..premises import cache_place, write
from ..review.reviewer import facts_of, provenance_of
from ..settings.models import Served
from ..settings.trust import RUN_COMMAND
from .conversation import Conversation, Prefix
from .dossier import Dossier, place_attempt
from .events import AttemptEvent, AttemptFailed, AttemptLost, AttemptReported, AttemptTimedOut, DraftFacts, StoppedBy
from .feedback import feedback, sent_back
from .lookup import Lookup
from .naming import free_target, slug_of
from .plan import Spawn
from .stored import stored
from .transcript import Spent
from .waiting import SayOfOne, Waiting
from .workerhost import WorkerHost
from .workplace import AFRESH, Workplace
from .workshop import Workshop

ANSWER = "answer.md"
OVER_BUDGET = 4
"""The exit code of errors that say that a budget is reached."""

WAITS = "its next reply is asked for in a Message Batch"
"""Why an attempt ended that goes on when its reply has come."""

_KEY_SIGNS = 6

_WORDS = 600  # characters of what a model says as it refuses


class Attempt:
    """Runs one attempt; `say` gets a line for people now and then.

    With `pinned` the worker starts from that, else from what memory is now.
    """

    def __init__(
        self,
        workspace: Workspace,
        view: View,
        workshop: Workshop,
        definition: AgentDefinition,
        served: Served,
        account: Account,
        dossier: Dossier,
        clock: Clock,
        say: SayOfOne,
        pinned: snapshot.Snapshot | None = None,
    ) -> None:
        self._pinned = pinned
        self._clock = clock
        self._workspace = workspace
        self._view = view
        self._workshop = workshop
        self._definition = definition
        self._served = served
        self._account = account
        self._dossier = dossier
        self._say = say
        self._fences = fences_of(workspace.root)
        self.spent: Spent | None = None
        """What its calls cost, once they could begin."""

    async def run(self, spawn: Spawn) -> AttemptEvent:
        """Until the worker has ended and its drafts are collected, also when its model could not be asked.

        Raises what is nobody's outcome, an error of the disk or a bug: the worker was ended before.
        """
        assignment, prefix = self._prepared(spawn)
        folder = self._dossier.folder
        earlier = [folder.transcript(n) for n in folder.attempts() if n < spawn.attempt]
        waiting, unstored = Waiting(self._say), Unstored()

        async def ask(request: ModelRequest, on_lost: OnLost) -> ModelReply:
            return await self._workshop.gateway.reply(
                self._served, request, self._account, on_lost=on_lost, waiting=waiting, unstored=unstored
            )

        before = stored(earlier)
        found = before.found
        conversation = Conversation(
            folder.transcript(spawn.attempt),
            ask,
            prefix,
            agent=self._definition.id,
            turns=assignment.limits.turns,
            stored=before.replies,
            clock=self._clock,
            kept=unstored.stored,
        )
        self._workshop.roster.costs(self._dossier.task, lambda: conversation.spent.cost_usd)
        place = None
        if assignment.commands:
            place = Workplace(folder, spawn.attempt, sent_back(self._dossier, spawn))
            first = conversation.first(first_message(assignment))
            if not await anyio.to_thread.run_sync(place.prepare, tuple(before.chain(first.sha()))):
                self._say(AFRESH)
                conversation.begin_afresh(AFRESH)
                found = {}
        elif assignment.program:
            files.make_folder(assignment.work_folder, within=self._dossier.space.root)
        # A view of its own: searches run in a thread, and a view is not made for two.
        target = None if assignment.answer else assignment.target
        lookup = Lookup(View(self._workspace), self._dossier.space, folder, assignment.inputs, target)
        host = WorkerHost(conversation, lookup, self._say, waiting, self._fences, place, found)
        started = anyio.current_time()
        try:
            try:
                ending = await self._workshop.pool.run(assignment, host)
            finally:
                self.spent = conversation.spent
                with anyio.CancelScope(shield=True):
                    await conversation.keep()
        except Parked:
            return AttemptLost(spawn.attempt, WAITS)
        except OnepenError as e:
            return self._unasked(spawn.attempt, e, conversation, round(anyio.current_time() - started, 3))
        if conversation.refusal is not None and not isinstance(ending, Stopped):
            return self._refused(spawn.attempt, conversation.refusal, ending.seconds)
        return self._event(spawn.attempt, ending, refused=host.refused)

    def _prepared(self, spawn: Spawn) -> tuple[Assignment, Prefix]:
        """The assignment and the prefix, both from the snapshot that the worker reads, too.

        What lies in the folder of an earlier attempt may be a person's by now: an attempt has a folder of its own.
        """
        dossier, sheet = self._dossier, self._dossier.sheet
        place_attempt(dossier, spawn.attempt)
        cache_place(self._workspace)
        taken = self._pinned or snapshot.take(self._view, dossier.space, tools=tool_tokens(tools()))
        place = snapshot.store(self._workspace, taken)
        turns = min(sheet.turns, self._definition.max_turns or sheet.turns)
        if os.path.lexists(dossier.folder.attempt(spawn.attempt)):
            raise AttemptTaken(dossier.task, spawn.attempt)
        files.make_folder(dossier.folder.drafts(spawn.attempt), within=dossier.space.root)
        files.make_folder(dossier.folder.inputs, within=dossier.space.root)
        commands = RUN_COMMAND in self._definition.tools
        assignment = Assignment(
            task=dossier.task,
            attempt=spawn.attempt,
            agent=self._definition,
            text=sheet.text,
            snapshot=place,
            space=dossier.space.folder,
            folder=dossier.folder.path,
            inputs=sheet.inputs,
            target=sheet.target,
            project=sheet.project,
            feedback=feedback(dossier, spawn, self._fences, commands=commands),
            limits=Limits(seconds=sheet.seconds, silence=sheet.silence, turns=turns),
            model=sheet.model,
            answer=sheet.answer,
            commands=commands,
            program=self._definition.program,
            unsafe=self._definition.unsafe,
            fence=self._fences.key.decode(),
        )
        system = system_blocks(taken.files, self._definition)
        prefix = Prefix(sheet.model, system, tools(), prefix_sha(sheet.model, system, tools()))
        return assignment, prefix

    def _event(self, attempt: int, ending: Ending, *, refused: bool) -> AttemptEvent:
        match ending:
            case Reported(complete=complete, seconds=seconds):
                summary, answer = mask(ending.summary), ending.answer and mask(ending.answer)
                self._write_report(summary, answer)
                drafts = self._facts(attempt)
                if answer and not self._dossier.sheet.answer and all(d.blocked for d in drafts):
                    self._file_answer(attempt, answer)
                    drafts = self._facts(attempt)
                said = answer or (summary if self._dossier.sheet.answer else "")
                return AttemptReported(attempt, drafts, said, summary, complete, seconds)
            case TimedOut(kind=kind, seconds=seconds):
                sheet = self._dossier.sheet
                after = sheet.seconds if kind == "time" else sheet.silence
                return AttemptTimedOut(attempt, kind, after, self._facts(attempt), seconds)
            case Stopped(seconds=seconds):
                return AttemptLost(attempt, "it was cancelled", self._facts(attempt), seconds)
            case Failed(reason=reason, seconds=seconds):
                return AttemptFailed(attempt, reason, not refused, self._facts(attempt), seconds)

    def _unasked(self, attempt: int, error: OnepenError, conversation: Conversation, seconds: float) -> AttemptFailed:
        """A call that could not be made or paid, or no worker to be had: trying again can't help.

        Drafts are kept, but not those of a batch's task that only waits for money or its server: it will go on.
        """
        over = error.exit_code == OVER_BUDGET
        nothing = over and not conversation.spent.lost and not conversation.replies
        reason = ("not started: " if nothing else "") + str(error)
        kind: StoppedBy = "budget" if over else "call" if isinstance(error, CallFailed) else ""
        if isinstance(error, OverBudget) and error.short.cap != "task":
            kind = "shared"
        goes_on = kind in {"shared", "call"} and self._dossier.sheet.batch  # so its half waits for nobody
        return AttemptFailed(attempt, reason, False, () if goes_on else self._facts(attempt), seconds, kind)

    def _refused(self, attempt: int, words: str, seconds: float) -> AttemptFailed:
        """The model refused, whatever the worker made of it."""
        said = f"the model refused: {clip(' '.join(words.split()), _WORDS)}" if words.strip() else "the model refused"
        return AttemptFailed(attempt, said, False, self._facts(attempt), seconds, "refusal")

    def _facts(self, attempt: int) -> tuple[DraftFacts, ...]:
        """What lies in drafts/, numbered after the drafts of earlier attempts."""
        return facts_of(self._view, self._dossier, attempt, len(self._dossier.state.drafts))

    def _write_report(self, summary: str, answer: str | None) -> None:
        text = f"# Report\n\n{summary.strip()}\n" + (f"\n## Answer\n\n{answer.strip()}\n" if answer else "")
        write(self._dossier.folder.report_file, text.encode())

    def _file_answer(self, attempt: int, answer: str) -> None:
        """Makes a draft of the answer; a folder that the worker replaced by a link is not written to."""
        dossier, folder = self._dossier, self._dossier.folder
        if not _plain_folders(folder, attempt):
            return
        named = dossier.sheet.target
        target = self._free_target() if named is None else parse_target(named)
        heading = heading_of(dossier.sheet.text)
        exists = self._view.bytes(dossier.space.path(target)) is not None
        new = isinstance(target, CardTarget) and not exists
        words = answer.rstrip() + "\n"
        body = words if new or isinstance(target, FileTarget) else f"## {heading}\n\n{words}"
        edit: EditKind = "create" if not exists else "replace" if isinstance(target, FileTarget) else "append"
        try:
            raw = render_draft(
                target=target,
                edit=edit,
                body=body,
                provenance=provenance_of(dossier, attempt),
                title=_title(heading) if new else None,
            )
            files.create_exclusive(_free(folder.drafts(attempt)), raw)
        except (DraftImpossible, MemoryFault) as e:
            self._say(f"the answer could not be made a draft: {e.message}")

    def _free_target(self) -> CardTarget:
        """Where an answer goes that was asked for nowhere in particular; a batch's tasks don't look at each other."""
        dossier, sheet = self._dossier, self._dossier.sheet
        if sheet.batch:
            return CardTarget("research", CardId(f"{slug_of(sheet.text)}-{sheet.key[:_KEY_SIGNS]}"))
        return free_target(self._view, dossier.space, self._clock, sheet.text)


def _plain_folders(folder: TaskFolder, attempt: int) -> bool:
    try:
        return all(stat.S_ISDIR(os.lstat(place).st_mode) for place in (folder.attempt(attempt), folder.drafts(attempt)))
    except OSError:
        return False


def _free(drafts: Path) -> Path:
    """A name in drafts/ that nothing has."""
    names = {path.name.casefold() for path in drafts.iterdir()}
    candidates = (ANSWER, *(f"answer-{n}.md" for n in range(2, len(names) + 3)))
    return drafts / next(name for name in candidates if name not in names)


def _title(heading: str) -> str | None:
    try:
        return check_title(heading)
    except BadTitle:
        return None
