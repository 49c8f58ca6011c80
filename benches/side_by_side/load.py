"""The client: sends requests over plain sockets, and looks at bytes only once time has stopped."""

from __future__ import annotations

import json
import selectors
import socket
import statistics
import time
from dataclasses import dataclass

LAST_CHUNK = b"\r\n0\r\n\r\n"
SILENCE = 60


@dataclass(frozen=True)
class Target:
    """Where requests go, and what a proxy wants to see in them."""

    port: int
    key: str = "none"

    def request(self, wish: str) -> bytes:
        """A request for a stream; `wish` is for the upstream."""
        body = json.dumps({"model": "bench", "stream": True, "input": wish}).encode()
        head = (
            f"POST /v1/responses HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\n"
            f"authorization: Bearer {self.key}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def connect(self) -> socket.socket:
        """A new connection."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=SILENCE)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


class BrokenOffError(Exception):
    """A stream did not come to its end."""


def receive(connection: socket.socket, came: bytearray) -> None:
    """Read what there is."""
    data = connection.recv(1 << 18)
    if not data:
        raise BrokenOffError(bytes(came[:200]))
    came += data


def one_stream(target: Target, wish: str) -> tuple[float, bytes]:
    """Seconds until a whole stream has come over a new connection, and what came."""
    with target.connect() as connection:
        came = bytearray()
        began = time.perf_counter()
        connection.sendall(target.request(wish))
        while not came.endswith(LAST_CHUNK):
            receive(connection, came)
        return time.perf_counter() - began, bytes(came)


def many_streams(target: Target, wish: str, streams: int) -> float:
    """Seconds until all of so many streams have come, side by side."""
    selector = selectors.DefaultSelector()
    tails: dict[socket.socket, bytearray] = {}
    for _ in range(streams):
        connection = target.connect()
        tails[connection] = bytearray()
        selector.register(connection, selectors.EVENT_READ)
    began = time.perf_counter()
    request = target.request(wish)
    for connection in tails:
        connection.sendall(request)
    while selector.get_map():
        ready = selector.select(SILENCE)
        if not ready:
            raise BrokenOffError(b"nothing came")
        for key, _ in ready:
            connection = key.fileobj  # type: ignore[assignment]
            tail = tails[connection]
            receive(connection, tail)
            del tail[: -len(LAST_CHUNK)]
            if tail == LAST_CHUNK:
                selector.unregister(connection)
    took = time.perf_counter() - began
    for connection in tails:
        connection.close()
    return took


class FirstEvents:
    """Asks over one connection, again and again, how long the first event takes."""

    def __init__(self, target: Target) -> None:
        """Connect."""
        self._connection = target.connect()
        self._request = target.request("deltas=1 pause=1")

    def quick(self, count: int) -> float:
        """Seconds that the quicker ones of so many take: a busy machine delays some by far more."""
        return statistics.quantiles([self.ask() for _ in range(count)], n=4)[0]

    def ask(self) -> float:
        """Seconds from the request until the first whole event has come."""
        came = bytearray()
        began = time.perf_counter()
        self._connection.sendall(self._request)
        first = 0.0
        while not came.endswith(LAST_CHUNK):
            receive(self._connection, came)
            if not first and b"data:" in came and b"\n\n" in came:
                first = time.perf_counter() - began
        return first

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def body(came: bytes) -> bytes:
    """The body of an answer that was sent in chunks.

    Raises:
        BrokenOffError: It is no such answer.
    """
    head, _, rest = came.partition(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n")[0]:
        raise BrokenOffError(came[:200])
    parts: list[bytes] = []
    while True:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            return b"".join(parts)
        parts.append(rest[:length])
        rest = rest[length + 2 :]
