"""A client that keeps what it got: every byte, every event, no opinion.

OpenAI's own clients repair, skip or reject parts of a stream; a test of the wire must see it
whole. Requests default to what most tests want: one function tool, a question that asks for it,
greedy sampling, and a script.
"""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from bed.cases import Case
from bed.server import MODEL_NAME

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

TIMEOUT = httpx.Timeout(120.0, connect=10.0)

GET_WEATHER: dict[str, Any] = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
QUESTION = "What is the weather in Paris?"


class Server(Protocol):
    """Anything with a URL: a vLLM, or a proxy before one."""

    @property
    def url(self) -> str:
        """Return the base URL, without `/v1`."""


@dataclass
class Stream:
    """What came back for one request, whole or cut off."""

    status: int
    raw: bytes
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def events(self) -> list[dict[str, Any]]:
        """Return the JSON events of the stream, in order. See `parse`."""
        return parse(self.raw)

    @property
    def terminal(self) -> dict[str, Any]:
        """Return the response that the last event carries."""
        response: dict[str, Any] = self.events[-1]["response"]
        return response


def parse(raw: bytes) -> list[dict[str, Any]]:
    r"""Read the events of a server-sent event stream.

    Lines end with LF or CRLF only, as bytes: text that holds U+2028 must not be split there. An
    unfinished last frame, as a cut connection leaves it, is not an event.
    """
    events: list[dict[str, Any]] = []
    for frame in raw.replace(b"\r\n", b"\n").split(b"\n\n")[:-1]:
        data = [line[5:].removeprefix(b" ") for line in frame.split(b"\n") if line[:5] == b"data:"]
        content = b"\n".join(data)
        if data and content != b"[DONE]":
            events.append(json.loads(content))
    return events


def merged(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join each run of deltas of one item into one event, and leave out the numbers.

    A busy vLLM puts several tokens into one delta, so that no two streams of one output need be
    cut alike.
    """
    joined: list[dict[str, Any]] = []
    for event in events:
        bare = {key: value for key, value in event.items() if key != "sequence_number"}
        last = joined[-1] if joined else {}
        if "delta" in bare and bare | {"delta": ""} == last | {"delta": ""}:
            last["delta"] += bare["delta"]
        else:
            joined.append(bare)
    return joined


def body(script: Case | Sequence[int] | None, **fields: Any) -> dict[str, Any]:
    """Return the body of a request.

    Args:
        script: A case (its request fields are taken over), token ids, or None for what the
            model's random weights say.
        **fields: Fields to set, over the defaults and the case's own.
    """
    request: dict[str, Any] = {
        "model": MODEL_NAME,
        "input": QUESTION,
        "tools": [GET_WEATHER],
        "temperature": 0,
        "max_output_tokens": 400,
    }
    ids = script
    if isinstance(script, Case):
        request |= script.request
        ids = script.ids()
    if ids is not None:
        request["vllm_xargs"] = {"script": list(ids)}  # type: ignore[arg-type]
    return request | fields


def post(
    server: Server, request: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> httpx.Response:
    """Send a request and read the whole answer."""
    with _client(server) as client:
        return client.post("/v1/responses", json=dict(request), headers=dict(headers or {}))


def stream(
    server: Server,
    script: Case | Sequence[int] | None,
    *,
    headers: Mapping[str, str] | None = None,
    **fields: Any,
) -> Stream:
    """Stream a response to its end, or to where the server drops the connection."""
    request = body(script, stream=True, **fields)
    with (
        _client(server) as client,
        client.stream(
            "POST", "/v1/responses", json=request, headers=dict(headers or {})
        ) as response,
    ):
        return _read(response)


def create(
    server: Server,
    script: Case | Sequence[int] | None,
    *,
    headers: Mapping[str, str] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Get a response without streaming.

    Raises:
        httpx.HTTPStatusError: The server refused, or failed.
    """
    answer = post(server, body(script, **fields), headers)
    answer.raise_for_status()
    response: dict[str, Any] = answer.json()
    return response


def retrieve(server: Server, response_id: str) -> dict[str, Any]:
    """Get a stored response.

    Raises:
        httpx.HTTPStatusError: The server does not have it.
    """
    with _client(server) as client:
        answer = client.get(f"/v1/responses/{response_id}")
    answer.raise_for_status()
    response: dict[str, Any] = answer.json()
    return response


def replay(server: Server, response_id: str, starting_after: int | None = None) -> Stream:
    """Stream a background response once more, from the start or after a sequence number."""
    parameters: dict[str, str | int] = {"stream": "true"}
    if starting_after is not None:
        parameters["starting_after"] = starting_after
    with (
        _client(server) as client,
        client.stream("GET", f"/v1/responses/{response_id}", params=parameters) as response,
    ):
        return _read(response)


def probe(server: Server) -> dict[str, Any]:
    """Ask a test server for the state of its process. See `bed.probe`."""
    with _client(server) as client:
        answer = client.get("/_probe")
    answer.raise_for_status()
    state: dict[str, Any] = answer.json()
    return state


@asynccontextmanager
async def async_client(server: Server, connections: int = 256) -> AsyncIterator[httpx.AsyncClient]:
    """Open a client for many streams at once, each on a connection of its own.

    A kept connection could be closed by the server in the moment it is used again.
    """
    limits = httpx.Limits(max_connections=connections, max_keepalive_connections=0)
    async with httpx.AsyncClient(
        base_url=server.url, timeout=TIMEOUT, limits=limits, trust_env=False
    ) as client:
        yield client


async def astream(
    client: httpx.AsyncClient,
    script: Case | Sequence[int] | None,
    *,
    hang_up_after: int | None = None,
    headers: Mapping[str, str] | None = None,
    **fields: Any,
) -> Stream:
    """Stream a response.

    Args:
        client: From `async_client`.
        script: As in `body`.
        hang_up_after: Close the connection once this many events have come.
        headers: Headers to send.
        **fields: As in `body`.
    """
    request = body(script, stream=True, **fields)
    async with client.stream(
        "POST", "/v1/responses", json=request, headers=dict(headers or {})
    ) as response:
        got = bytearray()
        try:
            async for chunk in response.aiter_raw():
                got += chunk
                if hang_up_after is not None and len(parse(bytes(got))) >= hang_up_after:
                    break
        except httpx.RemoteProtocolError:
            pass  # the server dropped the connection; what came before counts
        return Stream(response.status_code, bytes(got), dict(response.headers))


def _read(response: httpx.Response) -> Stream:
    """Read a stream as far as it goes."""
    got = bytearray()
    try:
        for chunk in response.iter_raw():
            got += chunk
    except httpx.RemoteProtocolError:
        pass  # the server dropped the connection; what came before counts
    return Stream(response.status_code, bytes(got), dict(response.headers))


def _client(server: Server) -> httpx.Client:
    """Open a client for one request. Proxy settings of the machine are not for a loopback."""
    return httpx.Client(base_url=server.url, timeout=TIMEOUT, trust_env=False)
