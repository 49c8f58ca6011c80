"""The inner seam: the terminal response, before the store or the client sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vllm_stable_ids.patches.seam import Patch
from vllm_stable_ids.patches.stream import OVERLAY

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


async def _full(
    context: Any, wrapped: Callable[..., Awaitable[Any]], args: Any, kwargs: Any
) -> Any:
    response = await wrapped(*args, **kwargs)
    # Only a stream has an overlay: an answer that is not streamed has one identity anyway.
    overlay = getattr(context, OVERLAY, None)
    if overlay is not None and hasattr(response, "output"):
        overlay.reconcile(response)
    return response


PATCH = Patch(
    target="responses_full_generator",
    why=(
        "The terminal response is parsed again from the finished text, with fresh ids and "
        "call_ids and at times with other items than were streamed; the same object goes into "
        "the response store."
    ),
    upstream=("#59834", "#59307", "#59859"),
    versions="0.15 to 0.33",
    delete_when="both generator paths end with the items they streamed",
    wrapper=_full,
)
