"""What it means that a server answered with an error, or not at all, in the same words for every way of asking it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from ...memory.clock import Clock
from ..settings.redact import Known
from ..settings.setup import Profile
from .address import on_this_machine
from .clients import CONNECT_SECONDS
from .failure import TRIES, TRIES_SILENT, TRIES_UNREACHED, Again, Answered, Final, judged
from .stream import answered_in

if TYPE_CHECKING:
    import anthropic


class Breakage:
    """Judges what broke at a profile's server, and never repeats a key: some servers say which one they refuse."""

    def __init__(self, profile: Profile, address: str, clock: Clock) -> None:
        self._profile = profile
        self._address = address
        self._clock = clock

    @property
    def tries(self) -> int:
        """How often a server is asked that can't be reached."""
        return TRIES_UNREACHED if on_this_machine(self._address) else TRIES

    def answered(self, error: "anthropic.APIStatusError", place: str) -> Final | Again:
        """What an answer with that status means; `place` names what was asked."""
        headers = lower(error.response.headers)
        answered = answered_in(error.body, error.status_code)
        if 300 <= error.status_code < 400:
            answered = Answered(
                error.status_code, f"it leads to {headers.get('location', 'somewhere else')}", "redirect"
            )
        verdict = self.judged(answered, headers, place)
        if isinstance(verdict, Final) and error.status_code in {401, 403}:
            return Final(f"{verdict.reason} (profile {self._profile.name})", verdict.hint, verdict.exit_code)
        return verdict

    def judged(self, answered: Answered, headers: Mapping[str, str], place: str) -> Final | Again:
        """What an error means that the server told, be it within an answer."""
        verdict = judged(answered, headers, place=place, now=self._clock.now())
        return replace(verdict, reason=Known(self._profile.secrets()).mask(verdict.reason))

    def unheard(self, error: BaseException, place: str) -> Final | Again:
        """What it means that no answer came, or that it broke off."""
        import httpx2

        match error:
            case httpx2.ConnectTimeout():
                return Again(f"{place}: no connection within {CONNECT_SECONDS:g} s")
            case httpx2.TimeoutException():
                key = f"profiles.{self._profile.name}.silence_seconds"
                silence = f"not a byte came for {self._profile.silence_seconds:g} s ({key})"
                return Again(f"{place}: {silence}", tries=TRIES_SILENT)
            case httpx2.ConnectError() if "CERTIFICATE_VERIFY_FAILED" in str(error):
                return Final(f"{place}: its certificate can't be trusted: {one_line(error)}", None, 2)
            case httpx2.ConnectError():
                return Again(f"{place}: can't be reached: {one_line(error)}", tries=self.tries)
        return Again(f"{place}: the connection broke: {one_line(error)}")


def lower(headers: Mapping[str, str]) -> Mapping[str, str]:
    """The headers with lower-case names."""
    return {name.lower(): value for name, value in headers.items()}


def one_line(error: BaseException) -> str:
    """What an error says, on one line; its class where it says nothing."""
    return " ".join(str(error).split()) or type(error).__name__
