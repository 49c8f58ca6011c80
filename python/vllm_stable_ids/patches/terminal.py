"""The inner seam: the terminal response, before the store or the client sees it."""

from __future__ import annotations

import inspect
from typing import Any

from vllm_stable_ids.patches import item_reference
from vllm_stable_ids.patches.seam import Call, Method, Patch
from vllm_stable_ids.patches.stream import OVERLAY


async def _full(call: Call) -> Any:
    response = await call.proceed()
    # Only a stream has an overlay: an answer that is not streamed has one identity anyway.
    overlay = getattr(call.arguments["context"], OVERLAY, None)
    if overlay is not None and hasattr(response, "output"):
        overlay.reconcile(response)
    request = call.arguments["request"]
    item_reference.remember(call.instance, response, stored=request.store)
    return response


METHOD = Method(
    owner="OpenAIServingResponses",
    name="responses_full_generator",
    parameters=("request", "context"),
    fits=inspect.iscoroutinefunction,
    wrapper=_full,
    required=True,
)

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
    versions="0.15 to 0.33",
    delete_when="both generator paths end with the items they streamed",
    not_needed=lambda _module, _settings: None,
    method=METHOD,
)
