"""The server behind all of them: uvicorn as vLLM runs it, without the model.

HTTP is vLLM's own (uvicorn with uvloop and httptools), each event is a write of its own as there,
and the events are ready-made. So it is never slower than a vLLM would be, and a proxy before it is
not excused by a server that no vLLM can be as fast as.

    uvicorn benches.side_by_side.upstream:app
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
from typing import TYPE_CHECKING, Any

from benches.side_by_side.stream import SPLIT_TEXT, frames

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MODELS = {"object": "list", "data": [{"id": "bench", "object": "model", "owned_by": "vllm"}]}

# Proxies rewrite bodies; what a request wants is in its text, which they leave alone.
DELTAS = re.compile(rb"deltas=(\d+)")
SPLIT = re.compile(rb"split=1")
PAUSE = re.compile(rb"pause=1")


@functools.cache
def pieces(deltas: int, split: bool) -> list[bytes]:
    """The writes of one stream: a frame each, or cut inside of characters."""
    if not split:
        return frames(deltas)
    whole = b"".join(frames(deltas, SPLIT_TEXT))
    cuts = [at for at in range(1, len(whole)) if whole[at] & 0xC0 == 0x80]
    return [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]


async def read(receive: Callable[[], Awaitable[dict[str, Any]]]) -> bytes:
    """The body of a request."""
    body = b""
    while True:
        message = await receive()
        piece: bytes = message.get("body", b"")
        body += piece
        if not message.get("more_body"):
            return body


async def app(
    scope: dict[str, Any],
    receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    """Answer one request."""
    if scope["type"] != "http":
        return
    body = await read(receive)
    if scope["path"] != "/v1/responses":
        answer = json.dumps(MODELS).encode()
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})
        return
    deltas = DELTAS.search(body)
    split = SPLIT.search(body) is not None
    pause = PAUSE.search(body) is not None
    headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for number, piece in enumerate(pieces(int(deltas[1]) if deltas else 1, split)):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        # A server with many streams serves them in turn, not one after the other; and what is to
        # arrive in pieces, or alone, needs time after it.
        if split:
            await asyncio.sleep(0.001)
        elif pause and number == 0:
            await asyncio.sleep(0.005)
        elif number % 8 == 7:
            await asyncio.sleep(0)
    await send({"type": "http.response.body", "body": b""})
