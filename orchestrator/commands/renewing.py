"""Renewing the synthesis from a chat: over there in the orchestrator, or here, where it works in the foreground."""

from functools import partial
from typing import TYPE_CHECKING

from ...memory.errors import OnepenError
from .failure import told
from .running import handed_over, here, tell_press

if TYPE_CHECKING:
    from ..chat.answer import RenewalResult, TurnResult
    from ..requests import OnEvent
    from ..service import Service
    from ..stop import StopSign
    from .shell import Shell


def see_to_it(shell: "Shell", result: "TurnResult", on_event: "OnEvent") -> None:
    """Renews the synthesis where a turn in the foreground says that it is due; the answer has been shown."""
    if not result.renewal:
        return
    shell.note(f"the synthesis is being renewed ({result.renewal})")
    try:
        came = renewed(shell, result.session, on_event, foreground=True, why=result.renewal)
    except (OnepenError, OSError) as e:  # nothing was changed, and the next answer sees to it again
        shell.note(told(e).line())
        return
    shell.note(came.line)
    shell.notes(came.notices)


def renewed(
    shell: "Shell", session: str | None, on_event: "OnEvent", *, foreground: bool, why: str | None = None
) -> "RenewalResult":
    """The synthesis renewed, whether it is due or not, and the chat `session` begun anew with it.

    `why` is the reason that a turn gave, for the foreground: in the background the orchestrator sees to it itself.
    """
    if not foreground:
        press = partial(tell_press, shell.note)
        return handed_over(
            shell, lambda remote, setup: remote.renew(shell.client, session, setup, on_event=on_event, on_press=press)
        )

    async def work(service: "Service", stop: "StopSign") -> "RenewalResult":
        return await service.renew(shell.client, session, why=why, setup=shell.setup, on_event=on_event, stop=stop)

    return here(shell, work)
