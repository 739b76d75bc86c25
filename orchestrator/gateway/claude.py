"""The model behind the Messages API: Claude, and any server that speaks as it does.

One call per `reply`, always streamed, with no retry of its own; what kept it from being whole is raised as CallBroken.
Only what a server refuses for its extras (`extras.py`) is sent again without them, in the same call.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from ...memory.clock import Clock, SystemClock
from ...subagents.model import Listener, ModelReply, ModelRequest
from ..settings.choice import ALIASES, FIRST, USUAL, own_server
from ..settings.setup import Profile
from .address import address_of, host_of
from .breakage import Breakage, lower, one_line
from .clients import CONNECT_SECONDS, Clients
from .ear import Ear
from .extras import Extras
from .failure import Again, CallBroken, Final
from .messagebatches import MessageBatches
from .price import Price
from .prices import price_of
from .quota import quota
from .request import body, used
from .stream import Accumulator, StreamError, answered_in, events_of

if TYPE_CHECKING:
    import anthropic
    import httpx2


class Claude:
    """The model with this id at a profile's server; raises NotLocal when made."""

    def __init__(
        self, profile: Profile, model_id: str, clients: Clients | None = None, clock: Clock | None = None
    ) -> None:
        self._profile = profile
        self._model_id = model_id
        self._clients = clients or Clients()
        self._clock = clock or SystemClock()
        self._address = address_of(profile)
        self._breakage = Breakage(profile, self._address, self._clock)
        self._price: Price | None = None

    @property
    def name(self) -> str:
        return self._model_id

    async def reply(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        """The reply to one call, its cost still unknown; raises CallBroken."""
        ear = listener if isinstance(listener, Ear) else Ear(listener)
        client = await self._clients.of(self._profile)
        import anthropic
        import httpx2

        model = await self.id()
        place = self._place(model)
        accumulator = Accumulator(model)
        heard = _Heard()
        try:
            await self._streamed(client, request, model, accumulator, ear, heard)
            if not accumulator.whole:
                raise CallBroken(Again(f"{place}: the stream ended before the reply was whole"))
            reply = accumulator.reply()
        except StreamError as e:
            raise CallBroken(self._breakage.judged(e.answered, heard.headers, place)) from e
        except anthropic.APIStatusError as e:
            heard.headers = lower(e.response.headers)
            ear.left = quota(heard.headers, self._clock.now())
            raise CallBroken(self._breakage.answered(e, place)) from e
        except anthropic.APIConnectionError as e:
            raise CallBroken(self._breakage.unheard(e.__cause__ or e, place)) from e
        except httpx2.TransportError as e:
            raise CallBroken(self._breakage.unheard(e, place)) from e
        except (ValueError, RecursionError) as e:
            raise CallBroken(Again(f"{place}: the stream can't be read: {one_line(e)}")) from e
        return self._learnt(place, model, request, reply)

    async def _streamed(
        self,
        client: "anthropic.AsyncAnthropic",
        request: ModelRequest,
        model: str,
        accumulator: Accumulator,
        ear: Ear,
        heard: "_Heard",
    ) -> None:
        """Asks, and takes the reply's events; raises what the library raises, StreamError and CallBroken."""
        import anthropic

        silence, place = self._profile.silence_seconds, self._place(model)
        understood, refused = self._clients.understood, None
        extras = used(request, understood.of(self._address, self._wished))
        while True:
            try:
                async with client.messages.with_streaming_response.create(
                    **body(request, model, extras),
                    stream=True,
                    timeout=anthropic.Timeout(connect=CONNECT_SECONDS, read=silence, write=silence, pool=None),
                ) as response:
                    heard.headers = lower(response.headers)
                    ear.left = quota(heard.headers, self._clock.now())
                    understood.took(self._address, extras)
                    if refused is not None:
                        understood.lacks(self._address, place, refused, extras)
                    async with aclosing(_events(response.http_response, place)) as events:
                        async for event in events:
                            words = accumulator.take(event)
                            ear.counted(accumulator.usage)
                            if words:
                                ear.text(words)
                return
            except anthropic.APIStatusError as e:
                said = answered_in(e.body, e.status_code).message
                fewer = understood.fewer(self._address, extras, e.status_code, said)
                if fewer is None:
                    raise
                refused, extras = refused or extras, fewer

    @property
    def _wished(self) -> Extras:
        """Anthropic's own server is asked why its cache missed, another one where the profile says so."""
        own = own_server(self._profile)
        return Extras(diagnostics=not own if self._profile.diagnostics is None else self._profile.diagnostics)

    def _learnt(self, place: str, model: str, request: ModelRequest, reply: ModelReply) -> ModelReply:
        """The reply, with what is known by now of the model's cache."""
        if request.tool_choice is None:  # else not all of the prompt has marks
            self._clients.taught.saw(place, reply.usage)
        least = self._clients.taught.least(place, model, self._profile.cached_from)
        self._clients.probe.replied(place, request, reply, least)
        return replace(reply, least=least)

    def batches(self) -> MessageBatches:
        """The same model, asked by Message Batches."""
        return MessageBatches(self._profile, self._address, self._clients, self._breakage, self.id)

    async def id(self) -> str:
        """The model's id; a server other than Anthropic's is asked once what it has. Raises CallBroken."""
        if not own_server(self._profile):
            return self._model_id
        models = await self._clients.models(self._profile)
        if self._model_id != FIRST:
            self._clients.probe.named(self._place(self._model_id), self._model_id, models or ())
            return self._model_id
        if models is None:
            raise CallBroken(Again(f"{host_of(self._address)}: can't be reached", tries=self._breakage.tries))
        # A server without a list is perhaps a way to Claude: its own refusal says best what it doesn't have.
        return models[0] if models else ALIASES[USUAL]

    async def price(self) -> Price | None:
        """The price of the model; None where nobody knows it, or where the server can't be asked which one it is."""
        try:
            model = await self.id()
        except CallBroken:
            return None
        if self._price is None:
            self._price = await anyio.to_thread.run_sync(price_of, self._profile, model, self._clock.now())
        return self._price

    def _place(self, model: str) -> str:
        return f"{model} at {host_of(self._address)}"


@dataclass
class _Heard:
    """The headers of the answer that came last."""

    headers: Mapping[str, str] = field(default_factory=dict)


async def _events(response: "httpx2.Response", place: str) -> AsyncGenerator[Mapping[str, Any], None]:
    """The events of a response; raises CallBroken where it is no stream and no message, ValueError for no JSON."""
    from anthropic import AsyncStream

    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    if kind == "application/json":
        whole = json.loads(await response.aread())
        if isinstance(whole, dict) and whole.get("type") == "message":
            for event in events_of(whole):
                yield event
            return
        raise StreamError(answered_in(whole, response.status_code))
    if kind != "text/event-stream":
        reason = f"{place}: it answered with {kind or 'nothing'}, not as the Messages API does"
        raise CallBroken(Final(reason, "onepen config show", 2))
    async for sent in AsyncStream.raw_events(response):
        told = json.loads(sent.data) if sent.data else None
        if isinstance(told, dict):
            yield told if "type" in told else {**told, "type": sent.event}
