"""Values typed on the command line, checked once."""

from collections.abc import Iterable
from datetime import date
from difflib import get_close_matches
from typing import TYPE_CHECKING

from .failure import BadText

if TYPE_CHECKING:
    from .shell import Shell


def day(text: str | None, option: str) -> date | None:
    """A day such as 2026-11-01; raises BadText."""
    if text is None:
        return None
    try:
        return date.fromisoformat(text.strip())
    except ValueError as e:
        raise BadText(f"{option} {text!r}: not a day; write it as 2026-11-01") from e


def days(since: str | None, until: str | None) -> tuple[date | None, date | None]:
    """The range of days from --since and --until; raises BadText."""
    first, last = day(since, "--since"), day(until, "--until")
    if first is not None and last is not None and first > last:
        raise BadText(f"--since {first} is after --until {last}: no day lies between them")
    return first, last


def places(text: str | None, known: Iterable[str]) -> frozenset[str]:
    """The named places, all of `known` for None; raises BadText with the closest name."""
    everywhere = tuple(known)
    if text is None:
        return frozenset(everywhere)
    named = [word.strip() for word in text.split(",") if word.strip()]
    for word in named:
        if word not in everywhere:
            near = get_close_matches(word, everywhere, 1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise BadText(f"--in {word!r}: not one of {','.join(everywhere)}{meant}")
    if not named:
        raise BadText(f"--in {text!r}: names no place; some of {','.join(everywhere)}")
    return frozenset(named)


def given_ids(shell: "Shell", ids: Iterable[str]) -> tuple[str, ...]:
    """The ids as given, each once; '-' stands for those on stdin, one a line or parted by blanks."""
    found: dict[str, None] = {}
    for text in ids:
        words = shell.text("-", "ID").split() if text == "-" else [text]
        found.update(dict.fromkeys(words))
    return tuple(found)


def reason(shell: "Shell", verb: str, ids: tuple[str, ...], message: str | None) -> str:
    """Why, from -m or asked for on a terminal; raises NeedsAnswer or BadText."""
    if message is None:
        hint = f'onepen {verb} {" ".join(ids)} -m "why"'
        message = shell.ask(f"Why {verb} {', '.join(ids)}? ", what=f"{verb}: no reason given", hint=hint)
    text = shell.text(message, "-m").strip()
    if not text:
        raise BadText(f"{verb} -m: the reason is empty")
    return text


def refuse_known(shell: "Shell", allowed: bool, **texts: str | None) -> None:
    """Raises SecretRefused where a text holds the value of a credential in this shell's environment.

    The shapes of secrets are looked for where memory is written; these values only the command can know.
    """
    from ..settings.redact import Known, held_in

    held = {} if allowed else Known(held_in(shell.env)).held
    for place, text in texts.items():
        if text and any(value in text for value in held.values()):
            from ..door import INSIST, refuse

            refuse(text, place, held, hint=INSIST)
