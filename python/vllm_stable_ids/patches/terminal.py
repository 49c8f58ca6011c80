"""The inner hook: the terminal response, before the store or the client sees it."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.patches import item_reference
from vllm_stable_ids.patches.patch import HookSpec, Patch
from vllm_stable_ids.patches.stream import OVERLAY

if TYPE_CHECKING:
    from vllm_stable_ids.patches.call import Call
    from vllm_stable_ids.patches.patch import Setup


async def _finish(setup: Setup, call: Call) -> Any:
    response = await call.proceed()
    # Only a stream has an overlay: an answer that is not streamed has one identity anyway.
    overlay = getattr(call.arguments["context"], OVERLAY, None)
    if overlay is not None and hasattr(response, "output"):
        overlay.reconcile(response)
    request = call.arguments["request"]
    item_reference.remember(setup, call.instance, response, stored=request.store)
    return response


PATCH = Patch(
    name="terminal",
    what="Ends every stream with the items that were streamed, and stores the same.",
    why=(
        "The terminal response is parsed again from the finished text, with fresh ids and "
        "call_ids and at times with other items than were streamed; the same object goes into "
        "the response store. From 0.32 on this is left of it: `python` ends as reasoning, "
        "`browser.*` as `web_search_call`, an MCP tool under another name, and a call without "
        "arguments is in the terminal response only."
    ),
    upstream=("#59834", "#59307", "#59859"),
    needed_since="0.15",
    delete_when="both generator paths end with the items they streamed",
    hooks=(
        HookSpec(
            name="responses_full_generator",
            kind=inspect.iscoroutinefunction,
            parameters=("request", "context"),
            make_wrapper=lambda setup, _original: partial(_finish, setup),
        ),
    ),
    is_required=True,
)
