"""A chat from its first line to its last: what is typed is said to the agent, or is a word for onepen.

An error ends the message that it came from and not the chat; so does Ctrl-C.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...memory.errors import OnepenError
from . import streams
from .answering import Follower
from .asides import Asides
from .echo import keys
from .entry import Entry
from .failure import told
from .shell import Shell, json_text
from .slash import Command, NotUnderstood, Said, help_text, understood
from .terminal import look
from .toll import Toll, status_line

if TYPE_CHECKING:
    from ..chat.answer import TurnResult
    from ..chat.store import Chats

Turn = Callable[[str, str | None, Follower], "TurnResult"]
"""Says words in a chat (None: a new one) and gives the answer."""


class Dialogue:
    """One call of `onepen chat`; `session` is the chat that goes on, None before the first message of a new one."""

    def __init__(self, shell: Shell, entry: Entry, turn: Turn, asides: Asides, session: str | None) -> None:
        self._shell = shell
        self._entry = entry
        self._turn = turn
        self._asides = asides
        self._asks = shell.terminal.can_ask
        self._model = ""
        self._toll = Toll()
        self.session = session
        if session is not None:
            self._taken_up(session)

    def run(self) -> int:
        """Until the end of input or /quit; the code is that of the last message that went wrong."""
        with keys("sent", on=self._shell.terminal.edits):
            return self._run()

    def _run(self) -> int:
        code, pressed = 0, False
        while True:
            try:
                if self._asks:
                    streams.tell("\n")
                line = self._entry.read(self._status())
                pressed = False
                self._shell.terminal = look(self._shell.env)  # it may have another size by now
                done = self._done(line)
            except EOFError:
                return code
            except KeyboardInterrupt:
                if pressed or not self._asks:
                    return code
                pressed = True
                self._shell.note("Ctrl-C again, or /quit, ends the chat")
                continue
            if done is None:
                return code
            code = done or code

    def _status(self) -> str:
        return status_line(self._shell.client, self.session, self._model, self._toll)

    # -- what was typed ----------------------------------------------------------------------------------------------

    def _done(self, line: str) -> int | None:
        """Does what a line says; the exit code of what went wrong, else 0. None: the chat is to end."""
        match understood(line):
            case Said(text=""):
                return 0
            case Said(text=text):
                return self._said(text)
            case NotUnderstood(told=why):
                self._shell.note(why)
                return 0
            case Command(name="quit"):
                return None
            case Command(name=name, rest=rest):
                try:
                    self._carried_out(name, rest)
                except (OnepenError, OSError) as e:
                    self._shell.note(told(e).line())
                return 0

    def _carried_out(self, name: str, rest: str) -> None:
        match name:
            case "help":
                self._shell.tell(help_text(self._shell.terminal.columns))
            case "new":
                self.session, self._model, self._toll = None, "", Toll()
                self._shell.note("a new chat begins with your next message")
            case "resume":
                self._resume(rest)
            case "usage":
                self._usage()
            case _:
                with keys("shown" if name == "approve" else "sent", on=self._shell.terminal.edits):
                    self._asides.run(name, rest, self.session)

    def _said(self, words: str) -> int:
        terminal, json = self._shell.terminal, self._shell.common.json
        follower = Follower(self._shell, live=terminal.talks and not json, brief=self._asks and not json)
        try:
            with keys("held", on=terminal.edits):
                follower.began()
                result = self._turn(words, self.session, follower)
        except (OnepenError, OSError) as e:
            follower.broken()
            self.session = follower.session or self.session
            failure = told(e)
            self._shell.note(failure.line())
            if json:
                streams.answer(json_text(failure.as_json()))
            return failure.exit_code
        except KeyboardInterrupt:
            follower.broken()
            self.session = follower.session or self.session
            raise
        self.session, self._model = result.session, result.model
        self._toll = self._toll.plus(result)
        follower.end(result)
        self._asides.after(result, follower)
        return 0 if result.stop_reason == "interrupted" else result.exit_code

    # -- chats -------------------------------------------------------------------------------------------------------

    def _taken_up(self, session: str) -> None:
        """Another chat goes on: what it cost is known, and what was said last is shown."""
        from ..chat.overview import view_of
        from .chats import last_words

        found, problems = self._chats().load(session)
        view = view_of(found)
        self.session, self._model, self._toll = session, view.model, Toll.of(view)
        if self._asks:
            self._shell.notes(tuple(map(str, problems)))
            self._shell.tell(last_words(view, self._shell.terminal))

    def _resume(self, rest: str) -> None:
        from ..chat.overview import latest
        from .chats import listed

        if rest:
            self._taken_up(self._chats().find(rest))
            return
        result = latest(self._chats())
        self._shell.notes(result.notices)
        self._shell.tell(listed(result, self._shell.terminal, "/resume"))

    def _usage(self) -> None:
        from .chats import spent

        if self.session is None:
            self._shell.note("nothing was said in this chat yet")
            return
        from ..chat.overview import view_of

        self._shell.tell(spent(view_of(self._chats().load(self.session)[0]), self._shell.terminal))

    def _chats(self) -> "Chats":
        from ..chat.store import Chats

        return Chats(self._shell.service.workspace.space(self._shell.client))
