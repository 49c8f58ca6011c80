"""Deltas as vLLM makes them, and what is written of them."""

from __future__ import annotations

import importlib
import inspect
import warnings
from typing import TYPE_CHECKING, Any, get_args

from vllm_stable_ids.vllm_names import DELTA_CLASSES, OPENAI_MODULE, ROUTER_MODULE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch warns of itself
    ROUTER: Any = importlib.import_module(ROUTER_MODULE)
STOCK = inspect.unwrap(ROUTER._convert_stream_to_sse_events)

OPENAI = importlib.import_module(OPENAI_MODULE)
CLASSES: list[Any] = [
    getattr(OPENAI, name) for name in sorted(DELTA_CLASSES) if hasattr(OPENAI, name)
]

FIELDS: dict[str, Any] = {
    "item_id": "msg_0123456789abcdef",
    "output_index": 0,
    "content_index": 0,
    "summary_index": 0,
    "logprobs": [],
}


def event(cls: Any, delta: str = "word", number: int = 0, **fields: Any) -> Any:
    """An event of a class, as vLLM makes it."""
    known = {name: value for name, value in FIELDS.items() if name in cls.model_fields}
    (kind,) = get_args(cls.model_fields["type"].annotation)
    return cls(**known | fields, type=kind, delta=delta, sequence_number=number)


async def stream(events: list[Any]) -> AsyncGenerator[Any]:
    """Events, as a stream."""
    for made in events:
        yield made


async def frames(written: AsyncGenerator[str]) -> list[str]:
    """All frames, and with what they broke off."""
    told: list[str] = []
    with warnings.catch_warnings():
        # Of pydantic, about fields that are not of their type; it tells each once.
        warnings.simplefilter("ignore")
        try:
            async for frame in written:
                told.append(frame)  # noqa: PERF401 - what came before an exception counts
        except Exception as error:  # noqa: BLE001 - the same exception is wanted
            told.append(repr(error))
    return told
