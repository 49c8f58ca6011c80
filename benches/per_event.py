"""What the plugin adds to one event, on the event classes of the installed vLLM.

One run times, in turn, vLLM's own way of a delta event (construct it, pass it through one async
generator, serialise it) and the same with the plugin's generator around it. It prints medians,
spread and the ratio; only the ratio and the difference within one run mean anything.

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

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

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


async def upstream(kind: str, count: int) -> AsyncGenerator[Any]:
    """Events as vLLM makes them: one announcement, then deltas."""
    item, delta = KINDS[kind]
    yield ResponseOutputItemAddedEvent(
        type="response.output_item.added",
        sequence_number=0,
        output_index=0,
        item=item.model_copy(),
    )
    for number in range(1, count + 1):
        yield delta(number)


async def consume(events: AsyncGenerator[Any]) -> int:
    """Serialise as vLLM's router does; returns the number of bytes."""
    size = 0
    async for event in events:
        size += len(event.model_dump_json(indent=None, by_alias=True))
    return size


def timed(events: AsyncGenerator[Any], count: int) -> float:
    """Microseconds of CPU time an event took; other programs' time does not count."""
    gc.collect()
    began = time.process_time()
    asyncio.run(consume(events))
    return (time.process_time() - began) / count * 1e6


def main() -> None:
    """Time every kind of delta and print a table."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    stream.configure(EventClasses(), openai_vocabulary=True)
    print(f"vLLM {vllm.__version__}, Python {sys.version.split()[0]}, µs of CPU per event,")
    print(f"{rounds} interleaved rounds of {count:,} events, median (minimum to maximum)\n")
    print(f"{'delta':<10} {'stock':>22} {'patched':>22} {'ratio':>6} {'added µs':>22}")
    for kind in KINDS:
        stock, patched = [], []
        for _ in range(rounds):
            stock.append(timed(upstream(kind, count), count))
            wrapped = stream.PATCH.wrapper(SimpleNamespace(), upstream, (kind, count), {})
            patched.append(timed(wrapped, count))
        added = [after - before for before, after in zip(stock, patched, strict=True)]
        ratio = statistics.median(b / a for a, b in zip(stock, patched, strict=True))
        print(f"{kind:<10} {spread(stock)} {spread(patched)} {ratio:>6.3f} {spread(added)}")


def spread(values: list[float]) -> str:
    """The median, with the extremes."""
    return f"{statistics.median(values):>8.2f} ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    main()
