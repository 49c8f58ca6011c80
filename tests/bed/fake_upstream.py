"""An HTTP server that answers as a test tells it, for answers that no real server gives on demand.

Each piece of an answer is one write to the socket, so that a test decides how a stream is cut.
Pieces may come from a generator that waits: what is behind it in the chain then shows whether it
passes on what it has.
"""

from __future__ import annotations

import gzip
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Literal

from bed.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Framing = Literal["chunked", "length", "close"]
"""How the end of a body is told: the last chunk, a length ahead, or the end of the connection."""

NOT_FOUND = b'{"detail":"Not Found"}'


@dataclass(frozen=True)
class Answer:
    """What to answer a request with.

    Attributes:
        pieces: The body, one write each.
        content_type: Its media type.
        framing: How its end is told.
        status: The status.
        may_compress: Compress it where the request accepts that, as a front-end may.
    """

    pieces: Iterable[bytes]
    content_type: str = "text/event-stream; charset=utf-8"
    framing: Framing = "chunked"
    status: int = 200
    may_compress: bool = False


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class _State:
    """What a server and its handlers share."""

    answers: dict[tuple[str, str], Answer] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    came: threading.Condition = field(default_factory=threading.Condition)


class FakeUpstream(Serving):
    """The running server. Use it as a context manager.

    Attributes:
        url: Its base URL.
        answers: What to answer, by method and path (without the query); others get 404.
    """

    def __init__(self) -> None:
        """Start it on a loopback port."""
        state = _State()

        class Handler(_Handler):
            """The handler of this server."""

            shared = state

        self._state = state
        super().__init__(Handler)
        self.answers = state.answers

    def newest(self, target: str, wait_s: float = 0) -> Received:
        """Return the newest request for a target, waiting for one if none has come yet."""

        def found() -> Received | None:
            return next((one for one in reversed(received) if one.target == target), None)

        received = self._state.received
        with self._state.came:
            one = self._state.came.wait_for(found, wait_s)
        assert one is not None, f"no request for {target} came"
        return one


class _Handler(BaseHTTPRequestHandler):
    """Answers one request, and closes: a kept connection would outlive its test."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    shared: _State

    def handle_one_request(self) -> None:
        """Read a request; a client that leaves in the middle is no fault."""
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def answer(self) -> None:
        """Note a request and answer it."""
        self.close_connection = True
        length = int(self.headers.get("content-length", 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(length) if length else self._chunks()
        with self.shared.came:
            self.shared.received.append(Received(self.command, self.path, headers, body))
            self.shared.came.notify_all()
        path = self.path.partition("?")[0]
        missing = Answer([NOT_FOUND], "application/json", "length", 404)
        self._send(self.shared.answers.get((self.command, path), missing), headers)

    do_GET = do_POST = do_OPTIONS = do_DELETE = answer  # noqa: N815 - the base class asks for them

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def _chunks(self) -> bytes:
        """Read the body of a request that comes in chunks."""
        body = b""
        if self.headers.get("transfer-encoding") != "chunked":
            return body
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _send(self, answer: Answer, asked: Mapping[str, str]) -> None:
        """Send an answer."""
        pieces = answer.pieces
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Connection", "close")
        if answer.may_compress and "gzip" in asked.get("accept-encoding", ""):
            self.send_header("Content-Encoding", "gzip")
            pieces = [gzip.compress(b"".join(pieces))]
        if answer.framing == "length":
            pieces = list(pieces)
            self.send_header("Content-Length", str(sum(map(len, pieces))))
        elif answer.framing == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            self.wfile.write(
                b"%x\r\n%b\r\n" % (len(piece), piece) if answer.framing == "chunked" else piece
            )
        if answer.framing == "chunked":
            self.wfile.write(b"0\r\n\r\n")
