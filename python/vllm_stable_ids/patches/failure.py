"""Ends the stream of a generation that fails midway with `error` and `response.failed`."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from vllm_stable_ids.log import fail_open, logger
from vllm_stable_ids.patches import item_reference
from vllm_stable_ids.patches.patch import Patch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vllm_stable_ids.events import Event
    from vllm_stable_ids.overlay import Overlay
    from vllm_stable_ids.patches.call import Call
    from vllm_stable_ids.patches.patch import Setup

ERROR_CODE = "server_error"
"""What the API calls a failure that is not the client's."""

INTERNAL = "Internal server error"
UNKNOWN = "The generation ended before the response was complete."


async def end(
    setup: Setup, call: Call, overlay: Overlay, last: Event | None, error: Exception | None
) -> Sequence[Event]:
    """The events that end a stream which vLLM broke off; the failed response is stored, too.

    Args:
        setup: What the wrappers share.
        call: The call that made the stream.
        overlay: The stream's overlay.
        last: The last event that vLLM made.
        error: What vLLM's generator raised; `None` where it just stopped.

    Returns:
        Closes of the open items, `error` and `response.failed`. Nothing where the stream has no
        start, has its end already, or has vLLM's own ids; the caller then raises `error`.
    """
    if not overlay.tally.ended:
        overlay.tally.broken_off = True
    if not overlay.is_cut:
        return ()
    try:
        events, response = _failed(overlay, last, _message(call.instance, error))
        await _store(setup, call, response)
    except Exception as fault:  # noqa: BLE001 - then the stream breaks off as it does without us
        fail_open("stable_ids: a stream that failed has no end", fault)
        return ()
    # vLLM would report it by the exception that ends the connection. Its message may quote the
    # model.
    at = "".join(traceback.format_tb(error.__traceback__)) if error is not None else ""
    logger.error(
        "stable_ids: generation failed midway (%s), the stream ends with response.failed\n%s",
        type(error).__name__ if error is not None else "no reason given",
        at,
    )
    return events


def _failed(overlay: Overlay, last: Event | None, message: str) -> tuple[Sequence[Event], Any]:
    """The events that end a stream as failed, and the failed response.

    That is vLLM's as it was at the start, with the items that were announced.
    """
    events, items, number = overlay.break_off(last)
    response = overlay.response.model_copy()
    response.output = items
    response.status = "failed"
    response.error = {"code": ERROR_CODE, "message": message}
    own = [overlay.classes.error(ERROR_CODE, message), overlay.classes.failed(response)]
    for offset, event in enumerate(own):
        event.sequence_number = number + offset
        overlay.tally.inserted[event.type] += 1
    return [*events, *own], response


def _message(serving: Any, error: Exception | None) -> str:
    """The message that clients of vLLM's other endpoints get for `error`."""
    if error is None:
        return UNKNOWN
    if isinstance(error, ValidationError):
        # vLLM turns a failed generation into an error frame, and fails to make an event of it.
        frame = error.errors(include_url=False)[0]["input"]
        report = frame.get("error") if isinstance(frame, dict) else None
        if isinstance(report, dict) and "message" in report:
            return str(report["message"])
        return INTERNAL
    message: str = serving.create_error_response(error).error.message
    return message


async def _store(setup: Setup, call: Call, response: Any) -> None:
    """Put the failed response where `GET /v1/responses/{id}` finds it."""
    if not call.arguments["request"].store:
        return
    serving = call.instance
    async with serving.response_store_lock:
        stored = serving.response_store.get(response.id)
        if stored is None or stored.status != "cancelled":
            serving.response_store[response.id] = response
            item_reference.remember(setup, serving, response, stored=True)


PATCH = Patch(
    name="failure",
    what=(
        "Ends the stream of a generation that fails midway with `error` and `response.failed`, "
        "and stores the response as failed."
    ),
    why=(
        "The error frame that vLLM builds fails its own validation: the connection drops "
        "without a terminal event, and a response generated in the background stays "
        "`in_progress` for ever."
    ),
    upstream=(),
    needed_since="0.15",
    delete_when="vLLM ends a failed stream with `response.failed`",
)
