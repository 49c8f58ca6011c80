"""A relay before a test server that tells the model what to say.

Whoever asks through it sends plain requests, as to any server; the script is added on the way. The
streams that come back are passed on as they are.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Protocol

import httpx

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from bed.cases import Case
    from bed.client import Server

TIMEOUT_S = 120.0


class Choose(Protocol):
    """Chooses what the model says to a request."""

    def __call__(self, body: Mapping[str, Any]) -> Case | None:
        """Return the case to say; None for what the random weights say."""


class Prompting:
    """The running relay. Use it as a context manager.

    Attributes:
        url: Its base URL.
        bodies: The requests that came, in order.
    """

    def __init__(self, server: Server, choose: Choose) -> None:
        """Start it on a loopback port."""
        bodies: list[dict[str, Any]] = []

        class Handler(BaseHTTPRequestHandler):
            """Passes one request on."""

            def do_GET(self) -> None:
                """Pass it on as it is."""
                self._pass_on("GET", None)

            def do_POST(self) -> None:
                """Pass it on with a script."""
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                bodies.append(body)
                case = choose(body)
                script = {} if case is None else {"vllm_xargs": {"script": case.ids()}}
                self._pass_on("POST", body | script)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

            def _pass_on(self, method: str, body: Any) -> None:
                url = server.url + self.path
                with (
                    httpx.Client(timeout=TIMEOUT_S, trust_env=False) as client,
                    client.stream(method, url, json=body) as answer,
                ):
                    self.send_response(answer.status_code)
                    self.send_header("content-type", answer.headers["content-type"])
                    self.end_headers()
                    for chunk in answer.iter_raw():
                        self.wfile.write(chunk)

        class Quiet(ThreadingHTTPServer):
            """A server that does not print what a client that leaves causes."""

            def handle_error(self, *_: Any) -> None:
                """Say nothing."""

        self.bodies = bodies
        self._server = Quiet(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Prompting:
        """Return the running relay."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
