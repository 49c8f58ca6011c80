"""A background stream that is joined again ends where it ended."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.overlay import TERMINAL
from vllm_stable_ids.patches.seam import Call, Method, Patch

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from vllm_stable_ids.events import Event
    from vllm_stable_ids.settings import Settings


async def _replay(call: Call) -> AsyncGenerator[Event]:
    upstream = call.proceed()
    try:
        async for event in upstream:
            yield event
            if getattr(event, "type", None) in TERMINAL:
                return
    finally:
        await upstream.aclose()


def not_needed(module: Any, _settings: Settings) -> str | None:
    """Why a replay ends by itself here."""
    method = getattr(getattr(module, METHOD.owner, None), METHOD.name, None)
    constants = getattr(getattr(method, "__code__", None), "co_consts", ())
    named = {name for value in constants for name in _strings(value)}
    return "this vLLM ends a replay at every terminal event" if named >= TERMINAL else None


def _strings(constant: Any) -> set[str]:
    """The strings in a constant of a function: itself, or those of a set or tuple."""
    several = constant if isinstance(constant, (frozenset, tuple)) else (constant,)
    return {value for value in several if isinstance(value, str)}


METHOD = Method(
    owner="OpenAIServingResponses",
    name="responses_background_stream_generator",
    parameters=(),
    fits=inspect.isasyncgenfunction,
    wrapper=_replay,
)

PATCH = Patch(
    name="replay",
    what="Ends a re-joined background stream at `response.failed` and `response.incomplete`, too.",
    why=(
        "vLLM looks for `response.completed` only: who re-joins a background stream that ended "
        "otherwise gets all its events and then waits for ever."
    ),
    upstream=(),
    versions="0.15 to 0.33",
    delete_when="vLLM ends a replay at every terminal event",
    not_needed=not_needed,
    method=METHOD,
)
