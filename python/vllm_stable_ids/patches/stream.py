"""The outer seam: every event of a stream passes here on its way out."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.log import fail_open
from vllm_stable_ids.overlay import Overlay
from vllm_stable_ids.patches.seam import Patch

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from vllm_stable_ids.events import Event, EventClasses

OVERLAY = "_stable_ids_overlay"
"""The attribute of a request's context that holds its overlay while it streams.

Nothing global refers to an overlay, so none can outlive its stream.
"""

_make_overlay: Callable[[], Overlay]


def configure(classes: EventClasses, *, openai_vocabulary: bool) -> None:
    """Set what every stream's overlay is made with; before the patch is put in.

    Args:
        classes: The event classes of the running vLLM.
        openai_vocabulary: Whether parts of reasoning text are sent as OpenAI sends them.
    """

    def make() -> Overlay:
        return Overlay(classes, openai_vocabulary=openai_vocabulary)

    global _make_overlay  # noqa: PLW0603 - one server, one configuration
    _make_overlay = make


async def _stream(
    context: Any, wrapped: Callable[..., AsyncGenerator[Event]], args: Any, kwargs: Any
) -> AsyncGenerator[Event]:
    upstream = wrapped(*args, **kwargs)
    overlay = _open(context)
    try:
        if overlay is None:
            async for event in upstream:
                yield event
            return
        run_class, from_id, from_index, item_id, slot, shift = overlay.run
        async for event in upstream:
            if type(event) is run_class:
                # Fields are set without pydantic's checks, which would cost more than
                # everything else here together.
                fields = event.__dict__
                if fields["item_id"] == from_id and fields["output_index"] == from_index:
                    fields["item_id"] = item_id
                    fields["output_index"] = slot
                    if shift:
                        fields["sequence_number"] += shift
                    yield event
                    continue
            for sent in overlay.send(event):
                yield sent
            run_class, from_id, from_index, item_id, slot, shift = overlay.run
    finally:
        with contextlib.suppress(AttributeError):
            delattr(context, OVERLAY)
        # A client that leaves must stop the engine as promptly as it does without us. Another
        # plugin's wrapper may have put an iterator here that cannot be closed.
        if (aclose := getattr(upstream, "aclose", None)) is not None:
            await aclose()


def _open(context: Any) -> Overlay | None:
    try:
        overlay = _make_overlay()
        setattr(context, OVERLAY, overlay)
    except Exception as error:  # noqa: BLE001 - the stream must go on
        fail_open("stable_ids: a stream has vLLM's own ids", error)
        return None
    return overlay


PATCH = Patch(
    target="responses_stream_generator",
    why=(
        "Items are announced under bare hexadecimal ids (reasoning of gpt-oss under msg_), "
        "with gaps in output_index, and in vLLM before 0.32 with events that the OpenAI API "
        "does not have."
    ),
    upstream=("#59834", "#59307", "#59859"),
    versions="0.15 to 0.33",
    delete_when="both generator paths announce every item under the id they end with",
    wrapper=_stream,
)
