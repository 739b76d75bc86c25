"""What went wrong, as one line and an exit code, or as a line for each; a traceback only with --debug."""

import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import typer

from ...memory.errors import OnepenError
from .text import one_line


class NeedsAnswer(OnepenError):
    """Raised when a question can't be asked, or was not answered; the hint names the option that answers it."""

    exit_code = 3


class BadText(OnepenError):
    """Raised when a text, a date or a choice on the command line can't be used."""

    exit_code = 2


class Interrupted(OnepenError):
    """Raised when a person stopped a command with Ctrl-C."""

    exit_code = 130

    def __init__(self) -> None:
        super().__init__("interrupted; what was committed is kept", hint="onepen status")


@dataclass(frozen=True)
class Failure:
    """An error as it is told: `message` is one line, or one for each thing that is wrong, `hint` the next command."""

    message: str
    hint: str | None
    exit_code: int

    def masked(self, mask: Callable[[str], str]) -> "Failure":
        """The same without the secrets in it."""
        return Failure(mask(self.message), self.hint and mask(self.hint), self.exit_code)

    def line(self) -> str:
        return f"onepen: {self.message}\n" if self.hint is None else f"onepen: {self.message} (next: {self.hint})\n"

    def as_json(self) -> dict[str, object]:
        return {"error": {"message": self.message, "hint": self.hint, "exit_code": self.exit_code}}


def sole(error: BaseException) -> BaseException:
    """The one error inside groups that hold nothing else, else `error` itself."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def told(error: BaseException) -> Failure:
    """How `error` is told to a person."""
    error = sole(error)
    if isinstance(error, OnepenError):
        return Failure(_message(error), error.hint, error.exit_code)
    if isinstance(error, typer.TyperException):
        return _usage(error)
    if isinstance(error, KeyboardInterrupt):
        return told(Interrupted())
    if isinstance(error, FileNotFoundError) and error.filename is None and _nowhere():
        place = one_line(os.environ.get("PWD") or "the folder in which you stand")
        return Failure(f"{place}: this folder was moved or deleted", "cd to another folder, or onepen -C DIR", 2)
    if isinstance(error, OSError):
        return Failure(_system(error), None, 1)
    if isinstance(error, UnicodeDecodeError):
        return Failure(f"what was read is not UTF-8 text: {one_line(error.reason)} at byte {error.start}", None, 2)
    cause = one_line(f"{type(error).__name__}: {error}")
    return Failure(f"internal error, this is a bug of onepen: {cause}", "the same command with --debug", 1)


def _message(error: OnepenError) -> str:
    """One line, and one for each thing where it tells several at once: those lines are its own, not a stranger's."""
    several = hasattr(error, "wrong") or getattr(error, "kind", "") == "RowsRefused"  # the second, as it was told
    lines = error.message.splitlines() if several else [error.message]
    return "\n".join(map(one_line, lines))


def _nowhere() -> bool:
    """Whether the folder in which the process stands is gone."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _system(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    places = [one_line(str(name)) for name in (error.filename, error.filename2) if name is not None]
    return f"{' -> '.join(places)}: {one_line(reason)}" if places else one_line(reason)


def _usage(error: typer.TyperException) -> Failure:
    context: typer.Context | None = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "onepen"
    message = one_line(error.format_message()).rstrip(".").replace("Value error, ", "")
    if message.startswith("No such option") and context is not None and _takes_text(context):
        message += "; text that begins with '-' goes behind '--'"
    return Failure(message, f"{command} --help", error.exit_code)


def _takes_text(context: typer.Context) -> bool:
    return any(param.param_type_name == "argument" for param in context.command.params)


def trace(error: BaseException) -> str:
    """The traceback, for --debug."""
    return "".join(traceback.format_exception(error))
