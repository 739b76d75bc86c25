"""The line of a chat as a person edits it on a terminal: several lines, what was typed before, words that complete.

The prompt stands on stderr, as all that is no answer. The library that draws it is imported here, when it is needed.
"""

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from .entry import PROMPT, goes_on
from .slash import completions
from .text import cut
from .typed import Typed

if TYPE_CHECKING:
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.key_binding.key_processor import KeyPressEvent


class Keyboard:
    """Reads messages from the keyboard; `ids` gives what may stand behind a word that begins with `/`."""

    def __init__(self, typed: Typed, ids: Callable[[str], Iterable[str]]) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.history import InMemoryHistory
        from prompt_toolkit.input import create_input
        from prompt_toolkit.output import create_output
        from prompt_toolkit.styles import Style

        self._typed = typed
        self._ids = ids
        self._offered: dict[str, str] = {}
        self._session = PromptSession[str](
            message=PROMPT,
            multiline=True,
            prompt_continuation=" " * len(PROMPT),
            history=InMemoryHistory(list(typed.lines())),
            completer=WordCompleter(self._offer, sentence=True, meta_dict=self._offered),
            complete_while_typing=False,
            key_bindings=self._keys(),
            enable_suspend=True,
            enable_open_in_editor=True,
            mouse_support=False,
            style=Style([("bottom-toolbar", "noreverse"), ("bottom-toolbar.text", "dim")]),
            input=create_input(sys.stdin),
            output=create_output(sys.stderr),
        )

    def read(self, status: str) -> str:
        """The next message; raises EOFError for Ctrl-D and KeyboardInterrupt for Ctrl-C on an empty line."""

        def below() -> str:
            return cut(status, self._session.output.get_size().columns) if status else ""

        text = str(self._session.prompt(bottom_toolbar=below if status else None))
        self._typed.add(text)
        return text

    def _offer(self) -> list[str]:
        before = str(self._session.default_buffer.document.text_before_cursor)
        self._offered.clear()
        self._offered.update(completions(before, self._ids))
        return list(self._offered)

    def _keys(self) -> "KeyBindings":
        from prompt_toolkit.key_binding import KeyBindings

        keys = KeyBindings()
        keys.add("enter")(_entered)
        keys.add("c-j")(_new_line)
        keys.add("escape", "enter")(_new_line)
        keys.add("c-c")(_left)
        return keys


def _entered(event: "KeyPressEvent") -> None:
    """Takes what is chosen in the menu; else sends the message, unless it goes on."""
    buffer = event.current_buffer
    if buffer.complete_state is not None and buffer.complete_state.current_completion is not None:
        buffer.complete_state = None
    elif buffer.document.is_cursor_at_the_end and goes_on(buffer.text):
        buffer.delete_before_cursor()
        buffer.insert_text("\n")
    else:
        buffer.validate_and_handle()


def _new_line(event: "KeyPressEvent") -> None:
    event.current_buffer.insert_text("\n")


def _left(event: "KeyPressEvent") -> None:
    """Ctrl-C leaves a line that is begun, unsent; where nothing is typed, it is for who reads."""
    if event.current_buffer.text:
        event.app.exit(result="")
    else:
        event.app.exit(exception=KeyboardInterrupt())
