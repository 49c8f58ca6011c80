"""A look inside a running server, and a way to make it fail on purpose.

`Probe` is an ASGI middleware (`--middleware bed.probe.Probe`) that only test servers get.
`GET /_probe` tells what the product has done to the server process. The request header
`x-fault: NAME` sets a context variable for the duration of that request: a test that installs
fault injection in the server asks `fault()` which request it is meant for. Tasks that a request
starts (vLLM's background responses are such) copy the context, so they see the fault too.
"""

from __future__ import annotations

import contextvars
import gc
import json
import os
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import wrapt

from bed import faults

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

SERVING_MODULES = (
    "vllm.entrypoints.openai.responses.serving",
    "vllm.entrypoints.openai.serving_responses",  # before 0.15
)
SERVING_CLASS = "OpenAIServingResponses"
OVERLAY = ("vllm_stable_ids.overlay", "Overlay")

_fault: contextvars.ContextVar[str | None] = contextvars.ContextVar("bed.probe.fault", default=None)


def fault() -> str | None:
    """Return the fault that the current request asks for, in this task and tasks it started."""
    return _fault.get()


def patched() -> list[str]:
    """Return the methods of vLLM's serving class that something has wrapped."""
    found: list[str] = []
    for module in SERVING_MODULES:
        cls = getattr(sys.modules.get(module), SERVING_CLASS, None)
        members = vars(cls).items() if cls is not None else ()
        found += [name for name, value in members if isinstance(value, wrapt.FunctionWrapper)]
    return found


def live_overlays() -> int:
    """Return how many of the product's per-stream objects are alive; each stream must drop its."""
    module, name = OVERLAY
    cls = getattr(sys.modules.get(module), name, None)
    gc.collect()
    if cls is None:
        return 0
    return sum(type(thing) is cls for thing in gc.get_objects())


class Probe:
    """The middleware. vLLM makes it with the application as its only argument."""

    def __init__(self, app: App) -> None:
        """Wrap an application, and let requests order faults from here on."""
        self.app = app
        faults.install(fault)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer `/_probe`, and pass everything else on with its fault set."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["path"] == "/_probe":
            await _answer(send)
            return
        wanted = dict(scope["headers"]).get(b"x-fault")
        token = _fault.set(wanted.decode("ascii") if wanted is not None else None)
        try:
            await self.app(scope, receive, send)
        finally:
            _fault.reset(token)


async def _answer(send: Send) -> None:
    """Send the state of this process as JSON."""
    state = {
        "pid": os.getpid(),
        "patched": patched(),
        "live_overlays": live_overlays(),
    }
    headers = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(state).encode()})
