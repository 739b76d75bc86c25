"""What a command is given: where it was called, the service, and the ways to answer, to note and to ask."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from . import streams
from .failure import BadText, NeedsAnswer
from .terminal import Terminal
from .text import visible, wrap

if TYPE_CHECKING:
    from ..process.find import Finder
    from ..process.handover import Writer
    from ..process.link import Link
    from ..service import Service
    from ..settings.setup import Setup

Done = TypeVar("Done")

MOST_TEXT = 1 << 20
MOST_TASK = 64 << 10
MOST_WORDS = 8 << 10
"""Bytes of a text that becomes a file, of a task's text, and of one that becomes a line."""
_MOMENT = 0.25  # seconds that the pen is waited for until it is looked again whether an orchestrator has it


class Answer(Protocol):
    """A result that has a JSON form."""

    def as_json(self) -> Mapping[str, object]: ...


@dataclass(frozen=True)
class Common:
    """The options that every command takes, as given; `folder` is -C."""

    folder: Path | None = None
    client: str | None = None
    json: bool = False
    debug: bool = False

    def over(self, outer: "Common") -> "Common":
        """These options where given, else those that stood before the command's name."""
        return Common(
            self.folder if self.folder is not None else outer.folder,
            self.client if self.client is not None else outer.client,
            self.json or outer.json,
            self.debug or outer.debug,
        )


class Shell:
    """One call of one command: where it stands, what it may ask, and where its answer goes."""

    def __init__(self, common: Common, terminal: Terminal, env: Mapping[str, str] = os.environ) -> None:
        self.common = common
        self.terminal = terminal
        self.env = env
        self.via: str | None = None  # the profile of --profile
        self.unsafe = False  # --unsafe-no-sandbox

    # -- where ---------------------------------------------------------------------------------------------------
    @property
    def standing(self) -> Path:
        """The folder in which the person stands: -C, else the current one; raises BadText for a -C that is none."""
        folder = self.common.folder
        if folder is None:
            return Path.cwd()
        if not folder.is_dir():
            raise BadText(f"-C {folder}: no such folder")
        return folder.absolute()

    @property
    def base(self) -> Path:
        """The folder that -C names where it exists or not: what `init` is relative to."""
        return self.common.folder if self.common.folder is not None else Path()

    @cached_property
    def root(self) -> Path:
        """The workspace's folder: that of -C, else ONEPEN_WORKSPACE, else the nearest one; raises NoWorkspace."""
        from ...memory.workspace import find_workspace

        named = self.env.get("ONEPEN_WORKSPACE")
        if self.common.folder is None and named:
            if not Path(named).is_dir():
                raise BadText(f"ONEPEN_WORKSPACE={named}: no such folder")
            return find_workspace(Path(named))
        return find_workspace(self.standing)

    @cached_property
    def service(self) -> "Service":
        """The service; ids are looked up in --client's space only, else in that of the folder before others."""
        from ..compose import build_service

        return build_service(self.root).seen_from(**self.scope)

    @cached_property
    def client(self) -> str | None:
        """The client in whose space the command works: --client, else that of the folder; None: the house's own."""
        if self.common.client is not None:
            return self.common.client
        from ...memory.workspace import client_of

        return client_of(self.root, self.standing)

    @cached_property
    def scope(self) -> dict[str, str | None]:
        """Where ids are looked up: `only` in --client's space, else with the `first` of the folder before others."""
        from ...memory.workspace import client_of

        return {"only": self.common.client, "first": client_of(self.root, self.standing)}

    # -- who writes ----------------------------------------------------------------------------------------------
    @cached_property
    def finder(self) -> "Finder":
        """Finds the workspace's orchestrator."""
        from ..process.find import Finder

        return Finder(self.root, self.env)

    @cached_property
    def setup(self) -> "Setup":
        """The person's settings and credentials, from the environment of this shell and their config."""
        from ..settings.load import load_setup

        setup = load_setup(self.env, self.service.workspace.settings.id, via=self.via)
        return replace(setup, unsafe=True) if self.unsafe else setup

    def forget_setup(self) -> None:
        """The settings are read again when they are next asked for: something in them has changed."""
        self.__dict__.pop("setup", None)

    def check_free(self) -> None:
        """Raise PenHeld where an orchestrator runs: it holds the pen for as long as it likes, so waiting is no use."""
        from ...memory.holder import PenHeld

        found = self.finder.holder()
        if found is not None and found.socket:
            held = PenHeld(str(self.root), found)
            held.hint = "onepen down, or the same without --foreground"
            raise held

    @cached_property
    def request(self) -> str:
        """The name of what this command asks to be written: if it has to ask twice, it is done once."""
        return os.urandom(8).hex()

    def write(self, act: "Callable[[Writer], Done]", *, dry_run: bool = False) -> Done:
        """What `act` gives: done by the orchestrator if one runs, else here, with the pen for a moment.

        A rehearsal takes no pen and asks nobody. Raises PenHeld, what the orchestrator told, or what `act` raises.
        """
        if dry_run:
            return act(self.service)
        from ..process.handover import written
        from ..process.remote import Remote

        def over_there(link: "Link") -> "Writer":
            return Remote(link, self.scope)

        return written(self.finder, over_there, lambda: self.service.waiting(_MOMENT), act)

    # -- telling -------------------------------------------------------------------------------------------------
    def answer(self, result: Answer, people: Callable[[], str]) -> None:
        """The result on stdout: one JSON document with --json, else people's text."""
        if self.common.json:
            self.put_json(result.as_json())
        else:
            streams.answer(people())

    def put_json(self, document: Mapping[str, object]) -> None:
        streams.answer(json_text(document, indent=2 if self.terminal.colour else None))

    def note(self, text: str) -> None:
        """A line for the person that is no part of the result: on stderr."""
        streams.tell(wrap(visible(text).rstrip("\n") + "\n", self.terminal.columns))

    def tell(self, text: str) -> None:
        """Text that was made visible already, on stderr: what a question is about."""
        streams.tell(text)

    def notes(self, notices: tuple[str, ...]) -> None:
        for notice in notices:
            self.note(f"note: {notice}")

    # -- asking --------------------------------------------------------------------------------------------------
    def ask(self, question: str, *, what: str, hint: str) -> str:
        """One line typed by the person.

        Raises NeedsAnswer(what, hint) without a terminal, at the end of input and for an empty answer: silence is
        never a yes.
        """
        if not self.terminal.can_ask:
            raise NeedsAnswer(what, hint=hint)
        streams.tell(question)
        line = sys.stdin.readline()
        if not line.endswith("\n"):
            streams.tell("\n")
        if not line.strip():
            raise NeedsAnswer(what, hint=hint)
        return line.strip()

    def agrees(self, question: str, *, what: str, hint: str) -> bool:
        """Whether the person said yes ("y" or "yes"); raises NeedsAnswer as `ask` does."""
        return self.ask(f"{question} [y/N] ", what=what, hint=hint).lower() in {"y", "yes"}

    # -- reading -------------------------------------------------------------------------------------------------
    def text(self, value: str, what: str, limit: int = MOST_WORDS) -> str:
        """`value`, or what stands on stdin where `value` is '-'.

        Raises BadText where that is nothing or no UTF-8, TooLong where it has more than `limit` bytes.
        """
        if value == "-":
            value = streams.read_all(sys.stdin, f"{what} '-'", limit)
            if not value.strip():
                raise BadText(f"{what} '-': nothing on stdin")
        try:
            size = len(value.encode())
        except UnicodeEncodeError as e:
            raise BadText(f"{what}: not UTF-8 text (character {e.start + 1})") from e
        if size > limit:
            raise streams.TooLong(what, limit)
        return value


def json_text(document: Mapping[str, object], indent: int | None = None) -> str:
    """The document as stdout can carry it; half characters (an argument that is no UTF-8) stay JSON escapes."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "")
    text = json.dumps(document, ensure_ascii=encoding != "utf8", indent=indent) + "\n"
    return "".join(f"\\u{ord(c):04x}" if "\ud800" <= c <= "\udfff" else c for c in text)
