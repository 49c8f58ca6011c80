"""A relay before a test server that tells the model what to say.

Whoever asks through it sends plain requests, as to any server; the script is added on the way. The
streams that come back are passed on as they are.
"""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from bed.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bed.cases import Case
    from bed.client import Server

TIMEOUT_S = 120.0


class Choose(Protocol):
    """Chooses what the model says to a request."""

    def __call__(self, body: Mapping[str, Any]) -> Case | None:
        """Return the case to say; None for what the random weights say."""


class Prompting(Serving):
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

        self.bodies = bodies
        super().__init__(Handler)
