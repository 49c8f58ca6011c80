"""What the plugin adds to one event, on the event classes of the installed vLLM.

Each round times three things in turn: what stock vLLM does for a delta event (construct it, pass
it on, serialise it); passing ready-made events on; and the same with the plugin's generator
around it. The difference of the last two is what the plugin adds: taken without the costly and
noisy rest, it can be told from zero. Only figures of one run can be compared.

    python benches/per_event.py [EVENTS] [ROUNDS]
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import vllm
from openai.types.responses import (
    ResponseFunctionCallArgumentsDeltaEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemAddedEvent,
    ResponseOutputMessage,
    ResponseReasoningItem,
    ResponseReasoningTextDeltaEvent,
    ResponseTextDeltaEvent,
)

from vllm_stable_ids.events import EventClasses
from vllm_stable_ids.patches import stream
from vllm_stable_ids.patches.seam import Call

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine

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


async def stock(kind: str, count: int) -> None:
    """Construct and serialise every event, as vLLM's generators and its router do."""
    _, delta = KINDS[kind]

    async def upstream() -> AsyncGenerator[Any]:
        for number in range(count):
            yield delta(number)

    async for event in upstream():
        event.model_dump_json(indent=None, by_alias=True)


async def passed_on(events: list[Any], *, patched: bool) -> None:
    """Pass ready-made events on."""

    async def upstream() -> AsyncGenerator[Any]:
        for event in events:
            yield event

    source = upstream()
    if patched:
        call = Call(SimpleNamespace(tool_server=None), {"context": SimpleNamespace()}, upstream)
        source = stream.METHOD.wrapper(call)
    async for _ in source:
        pass


def timed(work: Coroutine[Any, Any, None], count: int) -> float:
    """Microseconds of CPU time for an event; other programs' time does not count."""
    began = time.process_time()
    asyncio.run(work)
    return (time.process_time() - began) / count * 1e6


def main() -> None:
    """Time every kind of delta and print a table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 41
    stream.configure(EventClasses(), openai_vocabulary=True, misfit=sys.exit)
    # vLLM's modules are a large heap; walking it at odd moments would drown what is measured.
    gc.collect()
    gc.disable()
    print(f"vLLM {vllm.__version__}, Python {sys.version.split()[0]}; µs of CPU per event,")
    print(f"{rounds} rounds of {count:,} events: median (minimum to maximum)\n")
    print(f"{'delta':<10}{'stock':>24}{'added by the plugin':>24}{'ratio':>8}")
    for kind in KINDS:
        base, added = [], []
        for _ in range(rounds):
            base.append(timed(stock(kind, count), count))
            bare = timed(passed_on(events_of(kind, count), patched=False), count)
            patched = timed(passed_on(events_of(kind, count), patched=True), count)
            added.append(patched - bare)
        ratio = statistics.median(1 + more / less for less, more in zip(base, added, strict=True))
        print(f"{kind:<10}{spread(base):>24}{spread(added):>24}{ratio:>8.3f}")


def spread(values: list[float]) -> str:
    """The median, with the extremes."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    main()
