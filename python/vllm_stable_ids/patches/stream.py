"""The outer hook: every event of a stream passes here on its way out."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

from vllm_stable_ids import metrics
from vllm_stable_ids.log import fail_open
from vllm_stable_ids.overlay import Overlay
from vllm_stable_ids.patches import browser, failure, vocabulary
from vllm_stable_ids.patches.patch import HookSpec, Patch
from vllm_stable_ids.stock_overlay import StockOverlay

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from vllm_stable_ids.events import Event
    from vllm_stable_ids.patches.call import Call
    from vllm_stable_ids.patches.patch import Setup

OVERLAY = "_stable_ids_overlay"
"""The attribute of a request's context that holds its overlay while it streams.

Nothing global refers to an overlay, so none can outlive its stream.
"""


def make_wrapper(setup: Setup, _original: Any) -> Callable[[Call], AsyncGenerator[Event]]:
    """The wrapper; it makes one overlay for each stream."""
    make_overlay = partial(
        Overlay,
        setup.classes,
        openai_vocabulary=vocabulary.has_openai_names(setup.settings),
        misfit=setup.uninstall,
    )
    return partial(_stream, setup, make_overlay)


async def _stream(
    setup: Setup, make_overlay: Callable[[], Overlay], call: Call
) -> AsyncGenerator[Event]:
    context = call.arguments["context"]
    overlay = _open(context, make_overlay)
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
        for sent in await failure.end(setup, call, overlay, event, None):
            yield sent
    except Exception as error:
        ending = await failure.end(setup, call, overlay, event, error)
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
        # plugin's wrapper may return an iterator that cannot be closed.
        if (aclose := getattr(upstream, "aclose", None)) is not None:
            await aclose()


def _open(context: Any, make_overlay: Callable[[], Overlay]) -> Overlay:
    try:
        overlay = make_overlay()
        setattr(context, OVERLAY, overlay)
    except Exception as error:  # noqa: BLE001 - the stream must go on
        fail_open("stable_ids: a stream has vLLM's own ids", error)
        return StockOverlay()
    return overlay


def _close(context: Any) -> None:
    if hasattr(context, OVERLAY):
        delattr(context, OVERLAY)


PATCH = Patch(
    name="stream",
    what="Announces every item under the id it keeps, and sends all its events under it.",
    why=(
        "Items are announced under bare hexadecimal ids (reasoning of gpt-oss under `msg_`), "
        "and `output_index` has gaps. Up to 0.23 events can carry the id and the "
        "`content_index` of the item before."
    ),
    upstream=("#59834", "#59307", "#59859"),
    needed_since="0.15",
    delete_when="both generator paths announce every item under the id it ends with",
    hooks=(
        HookSpec(
            name="responses_stream_generator",
            kind=inspect.isasyncgenfunction,
            parameters=("request", "context"),
            make_wrapper=make_wrapper,
        ),
    ),
    is_required=True,
)
