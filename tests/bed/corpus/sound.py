"""Streams without a fault, as lists of events that have no numbers yet."""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]
Item = dict[str, Any]


def message(item_id: str, *said: str) -> list[Event]:
    """The life of a message that says what is given, one delta each."""
    return _with_parts(
        {"type": "message", "id": item_id, "role": "assistant", "status": "completed"},
        "output_text",
        {"type": "output_text", "annotations": []},
        said,
    )


def reasoning(item_id: str, *said: str) -> list[Event]:
    """The life of a reasoning item."""
    return _with_parts(
        {"type": "reasoning", "id": item_id, "summary": [], "status": "completed"},
        "reasoning_text",
        {"type": "reasoning_text"},
        said,
    )


def call(item_id: str, call_id: str, *said: str) -> list[Event]:
    """The life of a function call."""
    return _without_parts(
        {"type": "function_call", "id": item_id, "call_id": call_id, "name": "get_weather"},
        ("function_call_arguments", "arguments"),
        said,
    )


def custom_call(item_id: str, call_id: str, *said: str) -> list[Event]:
    """The life of a call of a custom tool."""
    return _without_parts(
        {"type": "custom_tool_call", "id": item_id, "call_id": call_id, "name": "shell"},
        ("custom_tool_call_input", "input"),
        said,
    )


def response(*lives: list[Event]) -> list[Event]:
    """A response of items, one after another."""
    head = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m"}
    events: list[Event] = [
        {"type": f"response.{kind}", "response": {**head, "status": "in_progress", "output": []}}
        for kind in ("created", "in_progress")
    ]
    output: list[Item] = []
    for index, life in enumerate(lives):
        events += [{**event, "output_index": index} for event in life]
        output.append(life[-1]["item"])
    end = {**head, "status": "completed", "output": output}
    return [*events, {"type": "response.completed", "response": end}]


def _with_parts(item: Item, name: str, part: Item, said: tuple[str, ...]) -> list[Event]:
    """The life of an item whose payload is in one content part."""
    at = {"item_id": item["id"], "content_index": 0}
    text = "".join(said)
    whole = {**part, "text": text}
    empty = {**item, "status": "in_progress", "content": []}
    return [
        {"type": "response.output_item.added", "item": empty},
        {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
        *({"type": f"response.{name}.delta", **at, "delta": piece} for piece in said),
        {"type": f"response.{name}.done", **at, "text": text},
        {"type": "response.content_part.done", **at, "part": whole},
        {"type": "response.output_item.done", "item": {**item, "content": [whole]}},
    ]


def _without_parts(item: Item, name: tuple[str, str], said: tuple[str, ...]) -> list[Event]:
    """The life of an item whose payload is a field of its own."""
    event, field = name
    at = {"item_id": item["id"]}
    text = "".join(said)
    return [
        {"type": "response.output_item.added", "item": {**item, field: ""}},
        *({"type": f"response.{event}.delta", **at, "delta": piece} for piece in said),
        {"type": f"response.{event}.done", **at, field: text},
        {"type": "response.output_item.done", "item": {**item, field: text}},
    ]


SOUND: dict[str, list[Event]] = {
    "one message": response(message("msg_a", "It is ", "sunny.")),
    "reasoning and a call": response(
        reasoning("rs_a", "Look ", "it up."),
        call("fc_a", "call_a", '{"city":', '"Paris"}'),
    ),
    "two calls": response(
        call("fc_a", "call_a", '{"city":', '"Paris"}'),
        call("fc_b", "call_b", '{"city":', '"Oslo"}'),
    ),
    "one of each": response(
        reasoning("rs_a", "Two ", "things."),
        message("msg_a", "Caf\u00e9 \u2028 ", "\U0001f30a."),
        call("fc_a", "call_a", "{", "}"),
        custom_call("ctc_a", "call_b", "ls ", "-l"),
    ),
}
