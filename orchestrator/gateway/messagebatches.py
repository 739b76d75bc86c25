"""Message Batches: many requests in one call, answered within a day at half the price, by the same server and key.

One call per method, with no retry of its own. What a server says to the making of a batch is told apart with care:
there is one, there is none, or nobody knows, because the answer was lost. A second one is never made in doubt.
"""

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, cast

from ...subagents.model import ModelReply, ModelRequest
from ..settings.setup import Profile
from .address import host_of
from .breakage import Breakage, one_line
from .clients import CONNECT_SECONDS, Clients
from .extras import Extras
from .failure import Again, Answered, CallBroken, CallNeeds, Final
from .request import body, used
from .stream import Accumulator, answered_in, events_of

if TYPE_CHECKING:
    import anthropic

Entry = Mapping[str, Any]
"""One request of a batch as it is sent: its `custom_id` and its `params`."""

Status = Literal["in_progress", "canceling", "ended"]

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_NONE = frozenset({404, 405, 501})
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")  # it names a file, too
_PAGE = 100


@dataclass(frozen=True)
class Posted:
    """A Message Batch as its server tells it; `expires` None: it doesn't say. `requests` are all that are in it."""

    id: str
    status: Status
    created: datetime
    expires: datetime | None
    requests: int


@dataclass(frozen=True)
class TooLarge:
    """The server takes no body of this size; nothing was made."""

    reason: str


@dataclass(frozen=True)
class NotMade:
    """The server said no, and nothing was made."""

    verdict: Final | Again


@dataclass(frozen=True)
class InDoubt:
    """The answer was lost: perhaps there is a batch now, perhaps there is none."""

    reason: str


class NoBatches(CallNeeds):
    """Raised when a model can't be asked by Message Batches."""

    def __init__(self, place: str, why: str) -> None:
        super().__init__(
            f"{place} has no Message Batches ({why}): calls for half the price need a server that does",
            hint="onepen batch run FILE --via messages",
        )


class MessageBatches:
    """The batches of a profile's server; `model` tells the id of the one model that this one's requests name."""

    def __init__(
        self,
        profile: Profile,
        address: str,
        clients: Clients,
        breakage: Breakage,
        model: Callable[[], Awaitable[str]],
    ) -> None:
        self._profile = profile
        self._address = address
        self._clients = clients
        self._breakage = breakage
        self._model = model
        self.server = host_of(address)
        self.profile = profile.name
        self._place = f"Message Batches at {self.server}"

    @property
    def group(self) -> str:
        """Equal where server and credential are the same, so that requests can go together; to be stored nowhere."""
        secrets = (secret.value if secret is not None else "" for secret in (self._profile.key, self._profile.token))
        return sha256("\0".join((self._address, *secrets)).encode()).hexdigest()

    async def entry(self, custom_id: str, request: ModelRequest) -> Entry:
        """The request as it stands in a batch; raises CallBroken where the server can't say which model it has."""
        extras = used(request, self._clients.understood.of(self._address, Extras(diagnostics=False)))
        return {"custom_id": custom_id, "params": body(request, await self._model(), extras)}

    async def create(self, entries: Sequence[Entry]) -> Posted | TooLarge | NotMade | InDoubt:
        """Makes a batch, in one try; raises NoBatches, and whatever keeps it from being tried."""
        client = await self._clients.of(self._profile)  # which tries nothing again
        import anthropic
        import httpx2

        try:
            made = await client.messages.batches.create(requests=cast(Any, list(entries)), timeout=self._timeout())
            return _posted(made)
        except anthropic.APIStatusError as e:
            return self._refused(e)
        except anthropic.APIConnectionError as e:
            verdict = self._breakage.unheard(e.__cause__ or e, self._place)
            # No connection, so nobody has heard it; any other break may have come after the server took it.
            never = isinstance(e.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout)
            return NotMade(verdict) if never or isinstance(verdict, Final) else InDoubt(verdict.reason)
        except httpx2.TransportError as e:
            return InDoubt(self._breakage.unheard(e, self._place).reason)
        except (ValueError, RecursionError, anthropic.AnthropicError) as e:
            return InDoubt(f"{self._place}: the answer can't be read: {one_line(e)}")

    async def retrieve(self, name: str) -> Posted:
        """What its server says of a batch now; raises CallBroken."""
        client = await self._clients.of(self._profile)
        with self._told():
            return _posted(await client.messages.batches.retrieve(name, timeout=self._timeout()))

    async def since(self, moment: datetime) -> tuple[Posted, ...]:
        """The batches that were made at that moment or later, the latest first; raises CallBroken."""
        client = await self._clients.of(self._profile)
        found: list[Posted] = []
        with self._told():
            async for one in client.messages.batches.list(limit=_PAGE, timeout=self._timeout()):
                posted = _posted(one)
                if posted.created < moment:
                    break
                found.append(posted)
        return tuple(found)

    async def results(self, name: str) -> AsyncGenerator[bytes, None]:
        """The results of a batch that has ended, as they come over the wire; raises CallBroken, also in the midst.

        They are fetched from where the batch was made, wherever its server says that they lie: no other one is to see
        the key.
        """
        client = await self._clients.of(self._profile)
        import httpx2

        with self._told():
            response = await client.get(
                f"/v1/messages/batches/{name}/results",
                cast_to=httpx2.Response,
                options={"timeout": self._timeout(), "headers": {"Accept": "application/binary"}},
                stream=bool(name),
            )
            try:
                async for part in response.aiter_bytes():
                    yield part
            finally:
                await response.aclose()

    async def cancel(self, name: str) -> Posted:
        """Asks its server to end a batch soon; raises CallBroken."""
        client = await self._clients.of(self._profile)
        with self._told():
            return _posted(await client.messages.batches.cancel(name, timeout=self._timeout()))

    def reply(self, message: Mapping[str, Any], model: str) -> ModelReply:
        """The reply in a message of the results, its cost still unknown; raises ValueError for what is none."""
        accumulator = Accumulator(model)
        for event in events_of(message):
            accumulator.take(event)
        reply = accumulator.reply()
        least = self._clients.taught.least(f"{model} at {self.server}", model, self._profile.cached_from)
        return replace(reply, least=least)

    def judged(self, error: object, what: str) -> Final | Again:
        """What an error in the results means; `error` is what stands there, nested once or twice."""
        answered = answered_in(error, 200)
        if not answered.kind and isinstance(error, Mapping):
            answered = answered_in({"error": error}, 200)
        return self._breakage.judged(answered, {}, f"{what} at {self.server}")

    def _refused(self, error: "anthropic.APIStatusError") -> TooLarge | NotMade | InDoubt:
        verdict, status = self._breakage.answered(error, self._place), error.status_code
        if status in _NONE:
            words = answered_in(error.body, status)
            raise NoBatches(f"{self.server} (profile {self.profile})", f"{status}{_said(words)}")
        if status == 413:
            return TooLarge(verdict.reason)
        if isinstance(verdict, Again) and status >= 500 and status != 529:
            return InDoubt(verdict.reason)
        return NotMade(verdict)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What breaks inside is raised as CallBroken; a batch that isn't found now may well be found later."""
        import anthropic
        import httpx2

        try:
            yield
        except anthropic.APIStatusError as e:
            verdict = self._breakage.answered(e, self._place)
            raise CallBroken(Again(verdict.reason) if e.status_code == 404 else verdict) from e
        except anthropic.APIConnectionError as e:
            raise CallBroken(self._breakage.unheard(e.__cause__ or e, self._place)) from e
        except httpx2.TransportError as e:
            raise CallBroken(self._breakage.unheard(e, self._place)) from e
        except (ValueError, RecursionError, anthropic.AnthropicError) as e:
            raise CallBroken(Again(f"{self._place}: the answer can't be read: {one_line(e)}")) from e

    def _timeout(self) -> "anthropic.Timeout":
        import anthropic

        silence = self._profile.silence_seconds
        return anthropic.Timeout(connect=CONNECT_SECONDS, read=silence, write=silence, pool=None)


def size_of(entry: Entry) -> int:
    """The bytes of an entry as it is sent."""
    return len(_JSON.encode(entry).encode())


AROUND = len(b'{"requests":[]}')
"""The bytes of a batch beside its entries, and the commas between them."""


def _posted(answer: object) -> Posted:
    """The batch in an answer; raises ValueError for anything else."""
    match _plain(answer):
        case {"id": str(name), "processing_status": "in_progress" | "canceling" | "ended" as status, **more} if (
            _ID.fullmatch(name)
        ):
            created, counts = _time(more.get("created_at")), _plain(more.get("request_counts"))
            if created is None:
                raise ValueError("a Message Batch without the time when it was made")
            requests = sum(n for n in counts.values() if isinstance(n, int))
            return Posted(name, status, created, _time(more.get("expires_at")), requests)
    raise ValueError("not a Message Batch")


def _plain(value: object) -> Mapping[str, object]:
    """The fields of an object as they came, which the library doesn't look at."""
    return vars(value) if hasattr(value, "__dict__") else value if isinstance(value, Mapping) else {}


def _time(value: object) -> datetime | None:
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        return None
    if not isinstance(at, datetime):
        return None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


def _said(answered: Answered) -> str:
    words = " ".join(answered.message.split())[:200]
    return f": {words}" if words and not words.startswith("<") else ""
