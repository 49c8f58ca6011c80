"""What stands between a client and a server: it says what the model is to say, and takes notes.

A client has one base URL for each case (`/call/v1`), so that it needs to know of nothing. Its
requests go to the server as they are, apart from the script and what makes a script come out whole;
the answers go back byte for byte.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

import httpx

from bed import client
from bed.judge import ADDED
from bed.serving import Serving
from clients.cases import FIRST, answer, first

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from bed.models import ModelPath

TIMEOUT_S = 300.0
DEFAULTS = {"max_output_tokens": 400}
ANSWER_TYPE = "function_call_output"


@dataclass
class Turn:
    """One request for a response, and what came back.

    Attributes:
        request: What the client sent.
        status: The status of the answer; 0 while there is none.
        body: The bytes of the answer, as far as they came.
        cut: What ended the answer before its end, if something did.
    """

    request: Mapping[str, Any]
    status: int = 0
    body: bytes = b""
    cut: str = ""

    @property
    def items(self) -> list[dict[str, Any]]:
        """Return the items of the request's input."""
        given = self.request.get("input")
        return [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []

    @property
    def answers(self) -> list[str]:
        """Return the call_ids that the request has outputs for."""
        return [str(item.get("call_id")) for item in self.items if item.get("type") == ANSWER_TYPE]

    @property
    def announced(self) -> list[str]:
        """Return the call_ids that the answer announces calls under."""
        events = client.parse(self.body) if self.status == 200 else []
        added = [event["item"] for event in events if event.get("type") == ADDED]
        return [item["call_id"] for item in added if item["type"] == "function_call"]

    @property
    def failure(self) -> str | None:
        """Return what the server has against the request; None where it took it."""
        if self.cut:
            return f"the server's answer broke off ({self.cut})"
        if self.status < 400:
            return None
        try:
            content = json.loads(self.body)
            message = content.get("error", content)["message"]
        except (ValueError, KeyError, TypeError, AttributeError):
            message = self.body.decode(errors="replace")
        return f"{self.status} {message}"


class Relay(Serving):
    """The running relay. Use it as a context manager.

    Attributes:
        urls: The base URL for each case, as a client is given it.
        turns: The turns of each case, in the order in which they came.
    """

    def __init__(self, upstream: str, path: ModelPath, tool: tuple[str, str] | None = None) -> None:
        """Start it in front of a server's base URL; `tool` is as in `Entry`."""
        self._upstream = upstream
        # A kept connection could be closed by the server in the moment it is used again.
        limits = httpx.Limits(max_keepalive_connections=0)
        self._http = http = httpx.Client(timeout=TIMEOUT_S, trust_env=False, limits=limits)
        turns: dict[str, list[Turn]] = {name: [] for name in FIRST[path]}

        class Handler(BaseHTTPRequestHandler):
            """Passes one request on."""

            def do_GET(self) -> None:
                """Pass it on as it is."""
                self._pass_on(b"", Turn({}))

            def do_POST(self) -> None:
                """Pass it on, with a script where it asks for a response."""
                content = self.rfile.read(int(self.headers["content-length"]))
                case, _, rest = self.path[1:].partition("/")
                if rest.partition("?")[0] != "v1/responses":
                    self._pass_on(content, Turn({}))
                    return
                request = json.loads(content)
                turn = Turn(request)
                turns[case].append(turn)
                answering = bool(turn.items) and turn.items[-1].get("type") == ANSWER_TYPE
                said = answer(path) if answering else first(path, case, tool)
                script = {"temperature": 0, "vllm_xargs": {"script": said.ids()}}
                self._pass_on(json.dumps(DEFAULTS | request | script).encode(), turn)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

            def _pass_on(self, content: bytes, turn: Turn) -> None:
                _, _, target = self.path[1:].partition("/")
                headers = {"content-type": "application/json", "accept-encoding": "identity"}
                with http.stream(
                    self.command, f"{upstream}/{target}", content=content, headers=headers
                ) as got:
                    turn.status = got.status_code
                    self.send_response(got.status_code)
                    self.send_header("content-type", got.headers.get("content-type", ""))
                    self.end_headers()
                    try:
                        for chunk in got.iter_raw():
                            turn.body += chunk
                            self.wfile.write(chunk)
                    except httpx.TransportError as error:
                        turn.cut = type(error).__name__

        super().__init__(Handler)
        self.turns = turns
        self.urls = {name: f"{self.url}/{name}/v1" for name in FIRST[path]}

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop it."""
        super().__exit__(kind, error, trace)
        self._http.close()

    def stored_calls(self, response_id: str) -> set[str]:
        """Return the call_ids that the server has stored of a response."""
        found = self._http.get(f"{self._upstream}/v1/responses/{response_id}")
        items = found.json().get("output", []) if found.status_code == 200 else []
        return {item["call_id"] for item in items if item["type"] == "function_call"}
