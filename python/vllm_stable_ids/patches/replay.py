"""Ends a re-joined background stream at every terminal event."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.overlay import TERMINAL
from vllm_stable_ids.patches.patch import HookSpec, Patch
from vllm_stable_ids.vllm_names import SERVING_CLASS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from vllm_stable_ids.events import Event
    from vllm_stable_ids.patches.call import Call
    from vllm_stable_ids.settings import Settings


METHOD = "responses_background_stream_generator"


async def _replay(call: Call) -> AsyncGenerator[Event]:
    upstream = call.proceed()
    try:
        async for event in upstream:
            yield event
            if getattr(event, "type", None) in TERMINAL:
                return
    finally:
        await upstream.aclose()


def not_needed(serving: Any, _settings: Settings) -> str | None:
    """Why a replay ends by itself here."""
    method = getattr(getattr(serving, SERVING_CLASS, None), METHOD, None)
    constants = getattr(getattr(method, "__code__", None), "co_consts", ())
    named = {name for value in constants for name in _strings(value)}
    return "this vLLM ends a replay at every terminal event" if named >= TERMINAL else None


def _strings(constant: Any) -> set[str]:
    """The strings in a constant of a function: itself, or those of a set or tuple."""
    several = constant if isinstance(constant, (frozenset, tuple)) else (constant,)
    return {value for value in several if isinstance(value, str)}


PATCH = Patch(
    name="replay",
    what="Ends a re-joined background stream at `response.failed` and `response.incomplete`, too.",
    why=(
        "vLLM looks for `response.completed` only: who re-joins a background stream that ended "
        "otherwise gets all its events and then waits for ever."
    ),
    upstream=(),
    needed_since="0.15",
    delete_when="vLLM ends a replay at every terminal event",
    not_needed=not_needed,
    hooks=(
        HookSpec(
            name=METHOD,
            kind=inspect.isasyncgenfunction,
            make_wrapper=lambda _setup, _original: _replay,
        ),
    ),
)
