"""What the plugin adds to one event, on the event classes of the installed vLLM.

Each round times in turn: making the events; passing ready-made ones on, bare and with identities
kept; and passing them on and writing them, by vLLM and by the plugin. What is made and passed on
by both is not in a difference, so that it can be told from zero. Three columns: what stock vLLM
does for an event, from making to writing it; what it costs to keep identities; and what the plugin
adds or saves in all, with what it saves in writing. Only figures of one run can be compared.

    python benches/per_event.py [EVENTS] [ROUNDS]
"""

from __future__ import annotations

import asyncio
import gc
import importlib.metadata
import inspect
import platform
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import vllm
from openai.types.responses import (
    ResponseFunctionCallArgumentsDeltaEvent,
    ResponseFunctionCallArgumentsDoneEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemAddedEvent,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseReasoningItem,
    ResponseReasoningTextDeltaEvent,
    ResponseTextDeltaEvent,
)
from vllm.entrypoints.openai.responses import api_router

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benches.report.tables import per_event
from benches.results import leave

from vllm_stable_ids.events import EventClasses
from vllm_stable_ids.patches import encode, stream
from vllm_stable_ids.patches.call import Call
from vllm_stable_ids.patches.patch import Setup
from vllm_stable_ids.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

WRITTEN_BY_VLLM: Any = inspect.unwrap(api_router._convert_stream_to_sse_events)

SETUP = Setup(Settings(), EventClasses(), is_in_force=lambda _: True, uninstall=sys.exit)
KEEP = stream.make_wrapper(SETUP, None)
WRITE = encode.make_wrapper(SETUP, WRITTEN_BY_VLLM)

RAW_ID = "89d3c2a7e9e2f1cd"

KINDS: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "text": (
        ResponseOutputMessage(
            id=RAW_ID, type="message", role="assistant", content=[], status="in_progress"
        ),
        lambda number: ResponseTextDeltaEvent(
            type="response.output_text.delta",
            sequence_number=number,
            content_index=0,
            output_index=0,
            item_id=RAW_ID,
            delta=" word",
            logprobs=[],
        ),
    ),
    "reasoning": (
        ResponseReasoningItem(id=RAW_ID, type="reasoning", summary=[], status="in_progress"),
        lambda number: ResponseReasoningTextDeltaEvent(
            type="response.reasoning_text.delta",
            sequence_number=number,
            content_index=0,
            output_index=0,
            item_id=RAW_ID,
            delta=" word",
        ),
    ),
    "arguments": (
        ResponseFunctionToolCall(
            id=RAW_ID,
            type="function_call",
            call_id="call_951f53b107639ed7",
            name="get_weather",
            arguments="",
            status="in_progress",
        ),
        lambda number: ResponseFunctionCallArgumentsDeltaEvent(
            type="response.function_call_arguments.delta",
            sequence_number=number,
            output_index=0,
            item_id=RAW_ID,
            delta=" word",
        ),
    ),
}


def events_of(kind: str, count: int) -> list[Any]:
    """Events as vLLM makes them: one announcement, then deltas."""
    item, delta = KINDS[kind]
    announcement = ResponseOutputItemAddedEvent(
        type="response.output_item.added",
        sequence_number=0,
        output_index=0,
        item=item.model_copy(),
    )
    return [announcement, *map(delta, range(1, count + 1))]


def items(count: int) -> list[Any]:
    """Events that are nearly all about identity: calls, each told in one delta."""
    events: list[Any] = []
    for index in range(count // 4):
        call = ResponseFunctionToolCall(
            id=f"{RAW_ID}{index}",
            type="function_call",
            call_id=f"call_951f53b107639ed7{index}",
            name="get_weather",
            arguments="",
            status="in_progress",
        )
        done = call.model_copy(update={"arguments": "{}", "status": "completed"})
        place: dict[str, Any] = {"item_id": call.id, "output_index": index}
        number = 4 * index
        events += [
            ResponseOutputItemAddedEvent(
                type="response.output_item.added",
                sequence_number=number,
                output_index=index,
                item=call,
            ),
            ResponseFunctionCallArgumentsDeltaEvent(
                type="response.function_call_arguments.delta",
                sequence_number=number + 1,
                delta="{}",
                **place,
            ),
            ResponseFunctionCallArgumentsDoneEvent(
                type="response.function_call_arguments.done",
                sequence_number=number + 2,
                arguments="{}",
                name="get_weather",
                **place,
            ),
            ResponseOutputItemDoneEvent(
                type="response.output_item.done",
                sequence_number=number + 3,
                output_index=index,
                item=done,
            ),
        ]
    return events


MAKERS: dict[str, Callable[[int], list[Any]]] = {
    **{kind: partial(events_of, kind) for kind in KINDS},
    "items": items,
}


async def ready(events: list[Any]) -> AsyncGenerator[Any]:
    """Events that were made before."""
    for event in events:
        yield event


def kept(events: AsyncGenerator[Any]) -> AsyncGenerator[Any]:
    """The events through the plugin's generator."""
    context = {"context": SimpleNamespace()}
    return KEEP(Call(SimpleNamespace(tool_server=None), context, lambda: events))


def encoded(events: AsyncGenerator[Any]) -> AsyncGenerator[str]:
    """The frames as the plugin writes them."""

    def proceed(generator: Any) -> AsyncGenerator[str]:
        frames: AsyncGenerator[str] = WRITTEN_BY_VLLM(generator)
        return frames

    return WRITE(Call(None, {"generator": events}, proceed))


WAYS: dict[str, Callable[[AsyncGenerator[Any]], AsyncGenerator[Any]]] = {
    "bare": lambda events: events,
    "kept": kept,
    "stock": WRITTEN_BY_VLLM,
    "patched": lambda events: encoded(kept(events)),
}
"""Passed on only; with identities kept; and either written, too."""


def timed(way: str, make: Callable[[int], list[Any]], count: int) -> float:
    """Microseconds of CPU time for an event; other programs' time does not count."""
    events = WAYS[way](ready(make(count)))

    async def run() -> float:
        began = time.process_time()
        async for _ in events:
            pass
        return time.process_time() - began

    return asyncio.run(run()) / count * 1e6


def constructed(make: Callable[[int], list[Any]], count: int) -> float:
    """Microseconds of CPU time to make an event."""
    began = time.process_time()
    make(count)
    return (time.process_time() - began) / count * 1e6


def main() -> None:
    """Time every kind of event, print a table and leave the figures for the report."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 41
    # vLLM's modules are a large heap; walking it at odd moments would drown what is measured.
    gc.collect()
    gc.disable()
    events = {}
    for kind, make in MAKERS.items():
        measured: dict[str, list[float]] = {"stock": [], "identities": [], "added": []}
        for _ in range(rounds):
            took = {way: timed(way, make, count) for way in WAYS}
            measured["stock"].append(constructed(make, count) + took["stock"])
            measured["identities"].append(took["kept"] - took["bare"])
            measured["added"].append(took["patched"] - took["stock"])
        events[kind] = measured
    content = {
        "command": f"python benches/per_event.py {count} {rounds}",
        "vllm": vllm.__version__,
        "versions": {
            "Python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in ("openai", "pydantic")},
        },
        "count": count,
        "rounds": rounds,
        "events": events,
    }
    print(per_event(content))
    print(f"\nwritten to {leave(f'per-event-{vllm.__version__}', content)}")


if __name__ == "__main__":
    main()
