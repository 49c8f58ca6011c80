"""The two codecs side by side: the same events as vLLM's objects, and as the bytes vLLM writes."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from vllm_stable_ids.events import EventClasses
from vllm_stable_ids.overlay import TERMINAL, Overlay
from vllm_stable_ids.rewriter import SseRewriter

if TYPE_CHECKING:
    from collections.abc import Sequence

JsonEvent: TypeAlias = "dict[str, Any]"

CLASSES = EventClasses()
CAPTURE = Path(__file__).parents[1] / "captures" / "simple-0.29.sse"

LEFT_OUT = {
    "background": False,
    "max_output_tokens": 16,
    "service_tier": "auto",
    "top_p": 1.0,
    "truncation": "disabled",
}
"""What vLLM's response must have, and the capture has not."""


def as_objects(events: Sequence[JsonEvent]) -> list[Any]:
    """Events as vLLM makes them.

    Raises:
        pydantic.ValidationError: One is not as vLLM's class wants it.
    """
    return [CLASSES.build(event["type"], json.dumps(filled_in(event))) for event in events]


def filled_in(event: JsonEvent) -> JsonEvent:
    """An event with the members that vLLM's classes want and no test is about."""
    event = dict(event)
    if "response" in event:
        first = read(CAPTURE.read_bytes())[0]["response"]
        event["response"] = {**LEFT_OUT, **first, **event["response"], "usage": None}
    if event["type"].startswith("response.output_text."):
        event.setdefault("logprobs", [])
    if event["type"] == "response.function_call_arguments.done":
        event.setdefault("name", "get_weather")
    return event


def as_bytes(objects: Sequence[Any]) -> bytes:
    """Events as vLLM writes them."""
    frames = (
        f"event: {event.type}\ndata: {event.model_dump_json(indent=None, by_alias=True)}\n\n"
        for event in objects
    )
    return "".join(frames).encode()


def read(body: bytes) -> list[JsonEvent]:
    """The events of a stream."""
    frames = body.decode().split("\n\n")
    return [json.loads(frame.split("\ndata: ", 1)[1]) for frame in frames if frame]


def through_objects(objects: Sequence[Any]) -> tuple[list[JsonEvent], dict[str, int]]:
    """What the plugin sends for these events of vLLM's, and how often it made each change.

    Raises:
        AssertionError: The stream was given up.
    """
    overlay = Overlay(CLASSES, openai_vocabulary=True, misfit=pytest.fail)
    sent: list[Any] = []
    for event in objects:
        run = overlay.run
        fields = event.__dict__
        is_of_run = (
            type(event) is run.event_class
            and fields["item_id"] == run.from_id
            and fields["output_index"] == run.from_index
        )
        if is_of_run:
            fields["item_id"] = run.item_id
            fields["output_index"] = run.slot
            fields["sequence_number"] += run.shift
            run.say(fields["delta"])
            sent.append(event)
            continue
        if event.type in TERMINAL:
            overlay.reconcile(event.response)
        sent += overlay.send(event)
    assert not overlay.tally.given_up
    return read(as_bytes(sent)), overlay._engine.report()["changes"]


def through_bytes(body: bytes) -> list[JsonEvent]:
    """What the rewriter sends for the bytes of a stream."""
    rewriter = SseRewriter(openai_vocabulary=True)
    return read(rewriter.feed(body) + rewriter.finish())


def without_ids(events: Sequence[JsonEvent]) -> list[JsonEvent]:
    """Events in which each item's id is its place: the plugin gives ids other prefixes."""
    names: defaultdict[int, str] = defaultdict(str)
    for event in events:
        if event["type"] == "response.output_item.added":
            names[event["output_index"]] = event["item"]["id"]
    places = {name: f"item {index}" for index, name in names.items()}

    def placed(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: placed(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [placed(inner) for inner in value]
        if key in ("id", "item_id") and isinstance(value, str):
            return places.get(value, value)
        return value

    return [placed(event) for event in events]
