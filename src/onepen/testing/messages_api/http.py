"""As much of HTTP/1.1 as one server for tests needs: requests with a body, answers as a whole or in chunks."""

import asyncio
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

HEAD_LIMIT = 64 * 1024
BODY_LIMIT = 320 * 1024 * 1024


@dataclass(frozen=True)
class Request:
    """A request as it came: `raw_head` and `body` byte for byte, header names in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    raw_head: bytes
    body: bytes

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


async def read(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection; None when there is no other, or none that can be read."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await _body(reader, headers)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, ValueError):
        return None
    return Request(method, target, {name: value for name, value in headers.items() if name}, head, body)


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        size = int(headers.get("content-length") or 0)
        if not 0 <= size <= BODY_LIMIT:
            raise ValueError(size)
        return await reader.readexactly(size)
    parts: list[bytes] = []
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
        if sum(map(len, parts)) > BODY_LIMIT:
            raise ValueError(size)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass
    return b"".join(parts)


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """The beginning of an answer."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:  # 529 is Anthropic's own
        phrase = "Overloaded" if status == 529 else "Unknown"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


def reset(writer: asyncio.StreamWriter) -> None:
    """Ends a connection so that the other side sees a reset, and not an end."""
    found = writer.get_extra_info("socket")
    if found is not None:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
