"""The outer seam: every event of a stream passes here on its way out."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from vllm_stable_ids import metrics
from vllm_stable_ids.log import fail_open
from vllm_stable_ids.overlay import Overlay
from vllm_stable_ids.patches import browser, failure
from vllm_stable_ids.patches.seam import Call, Method, Patch
from vllm_stable_ids.stock_overlay import StockOverlay

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from vllm_stable_ids.events import Event, EventClasses

OVERLAY = "_stable_ids_overlay"
"""The attribute of a request's context that holds its overlay while it streams.

Nothing global refers to an overlay, so none can outlive its stream.
"""

_make_overlay: Callable[[], Overlay]


def configure(
    classes: EventClasses, *, openai_vocabulary: bool, misfit: Callable[[str], None]
) -> None:
    """Set what every stream's overlay is made with; before the patch is put in.

    Args:
        classes: The event classes of the running vLLM.
        openai_vocabulary: Whether parts of reasoning text are sent as OpenAI sends them.
        misfit: Told, in a clause, in what a stream is not as this plugin knows it.
    """

    def make() -> Overlay:
        return Overlay(classes, openai_vocabulary=openai_vocabulary, misfit=misfit)

    global _make_overlay  # noqa: PLW0603 - one server, one configuration
    _make_overlay = make


async def _stream(call: Call) -> AsyncGenerator[Event]:
    context = call.arguments["context"]
    overlay = _open(context)
    upstream = call.proceed()
    if browser.applies(call.instance):
        held = browser.Held()
        overlay.held = held.release
        upstream = browser.one_lifecycle(upstream, overlay.dropped, held)
    event = None
    try:
        run_class, from_id, from_index, item_id, slot, shift, say = overlay.run
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
                    say(fields["delta"])
                    yield event
                    continue
            for sent in overlay.send(event):
                yield sent
            run_class, from_id, from_index, item_id, slot, shift, say = overlay.run
        for sent in await failure.end(call, overlay, event, None):
            yield sent
    except Exception as error:
        ending = await failure.end(call, overlay, event, error)
        if not ending:
            raise
        for sent in ending:
            yield sent
    finally:
        _close(context)
        path = "harmony" if getattr(call.instance, "use_harmony", False) else "simple"
        overlay.settle()
        metrics.stream_ended(path, overlay.tally)
        # A client that leaves must stop the engine as promptly as it does without us. Another
        # plugin's wrapper may have put an iterator here that cannot be closed.
        if (aclose := getattr(upstream, "aclose", None)) is not None:
            await aclose()


def _open(context: Any) -> Overlay:
    try:
        overlay = _make_overlay()
        setattr(context, OVERLAY, overlay)
    except Exception as error:  # noqa: BLE001 - the stream must go on
        fail_open("stable_ids: a stream has vLLM's own ids", error)
        return StockOverlay()
    return overlay


def _close(context: Any) -> None:
    if hasattr(context, OVERLAY):
        delattr(context, OVERLAY)


METHOD = Method(
    owner="OpenAIServingResponses",
    name="responses_stream_generator",
    parameters=("request", "context"),
    fits=inspect.isasyncgenfunction,
    wrapper=_stream,
    required=True,
)

PATCH = Patch(
    name="stream",
    what="Announces every item under the id it keeps, and sends all its events under it.",
    why=(
        "Items are announced under bare hexadecimal ids (reasoning of gpt-oss under `msg_`), "
        "and `output_index` has gaps. Up to 0.23 events can carry the id and the "
        "`content_index` of the item before."
    ),
    upstream=("#59834", "#59307", "#59859"),
    versions="0.15 to 0.33",
    delete_when="both generator paths announce every item under the id it ends with",
    not_needed=lambda _module, _settings: None,
    method=METHOD,
)
