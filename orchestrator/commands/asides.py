"""What a person has onepen do in the middle of a chat: the commands of that name, with their answers on stderr.

stdout of a chat holds what the agent said and nothing else.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from . import reading, streams, working, writing
from .answering import Follower
from .failure import BadText
from .shell import Answer, Shell

if TYPE_CHECKING:
    from ..chat.answer import TurnResult


class _Beside(Shell):
    """A shell whose answers are for the person, whoever reads stdout."""

    def answer(self, result: Answer, people: Callable[[], str]) -> None:
        streams.tell(people())

    def put_json(self, document: Mapping[str, object]) -> None:
        raise AssertionError("an aside has no JSON form")


@dataclass(frozen=True)
class Asides:
    """Carries out words of a chat that have nothing to do with its messages; `model` and `budget` are the chat's."""

    shell: Shell
    foreground: bool = False
    model: str | None = None
    budget: float | None = None

    def run(self, name: str, rest: str, session: str | None) -> int:
        """Does what the word says in the chat `session`; raises what its command raises."""
        shell = self._beside()
        match name:
            case "context":
                if rest not in ("", "diff"):
                    raise BadText(f"/context {rest}: it is /context, or /context diff", hint="onepen context --help")
                return reading.context(shell, session, diff=rest == "diff")
            case "drafts":
                return reading.drafts(shell)
            case "show":
                return reading.show(shell, rest)
            case "approve":
                return writing.approve(shell, rest.split())
            case "delegate":
                return self._delegate(shell, rest)
            case "renew":
                return self._renew(shell, session)
            case _:
                raise AssertionError(name)

    def after(self, result: "TurnResult", follower: Follower) -> None:
        """What a turn in the foreground leaves to be done once its answer has been shown."""
        from .renewing import see_to_it

        if self.foreground:
            try:
                see_to_it(self.shell, result, follower.happened)
            finally:
                follower.broken()

    def ids(self, name: str) -> Iterable[str]:
        """What may stand behind a word, for completion."""
        shell = self._beside()
        match name:
            case "context":
                return ("diff",)
            case "show" | "approve":
                return [draft.id for draft in shell.service.drafts(shell.client).drafts if draft.undecided]
            case "delegate":
                return self._agents(shell)
            case "resume":
                from ..chat.store import Chats

                return reversed(Chats(shell.service.workspace.space(shell.client)).ids())
            case _:
                return ()

    def _renew(self, shell: Shell, session: str | None) -> int:
        from .renewing import renewed

        follower = Follower(shell, live=shell.terminal.talks)
        follower.began()
        try:
            came = renewed(shell, session, follower.happened, foreground=self.foreground)
        finally:
            follower.broken()
        shell.note(came.chat or came.line)
        shell.notes(came.notices)
        return came.exit_code

    def _delegate(self, shell: Shell, rest: str) -> int:
        first, _, text = rest.partition(" ")
        agent = first if text.strip() and first in self._agents(shell) else None
        words = text.strip() if agent else rest
        if words == "-":
            raise BadText("/delegate: say what is to be done")
        return working.delegate(
            shell,
            [words],
            agents=[agent] if agent else None,
            model=self.model,
            profile=self.shell.via,
            budget=self.budget,
            foreground=self.foreground,
        )

    def _agents(self, shell: Shell) -> list[str]:
        folder = shell.service.workspace.root / "agents"
        return sorted(path.stem for path in folder.glob("*.md") if path.stem not in {"RULES", "_index"})

    def _beside(self) -> Shell:
        """A shell of its own for each: another request, with the settings and the screen as they are now."""
        made = _Beside(replace(self.shell.common, json=False), self.shell.terminal, self.shell.env)
        made.via, made.unsafe = self.shell.via, self.shell.unsafe
        return made
