"""The person's own editor, for `onepen edit`."""

import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ...memory.errors import OnepenError


class NoEditor(OnepenError):
    """Raised when neither $VISUAL nor $EDITOR names a program that can be started."""

    exit_code = 2

    def __init__(self, reason: str, file: Path) -> None:
        super().__init__(f"{reason}; or change {file} in any editor", hint="EDITOR=nano onepen edit ID")


class EditorFailed(OnepenError):
    """Raised when the editor ended with an error; the file is as it left it."""

    def __init__(self, program: str, code: int, file: Path) -> None:
        super().__init__(f"{program} ended with {code}; {file} is as it left it")


def command(env: Mapping[str, str], file: Path) -> list[str]:
    """The editor's command for `file`; raises NoEditor."""
    text = env.get("VISUAL") or env.get("EDITOR") or ""
    try:
        words = shlex.split(text)
    except ValueError as e:
        raise NoEditor(f"$VISUAL or $EDITOR is {text!r}: {e}", file) from e
    if not words:
        raise NoEditor("neither $VISUAL nor $EDITOR is set", file)
    return [*words, str(file)]


def open_in_editor(env: Mapping[str, str], file: Path) -> None:
    """Let the person edit `file` and wait until they are done; raises NoEditor or EditorFailed."""
    words = command(env, file)
    try:
        code = subprocess.run(words, check=False).returncode
    except OSError as e:
        raise NoEditor(f"{words[0]}: {e.strerror}", file) from e
    if code != 0:
        raise EditorFailed(words[0], code, file)
