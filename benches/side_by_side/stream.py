"""The stream of the comparison: what vLLM sends for a long text and a call, its fault included."""

from __future__ import annotations

import json
from typing import Any

RESPONSE_ID = "resp_8f1c2d"
ANNOUNCED = "msg_95db3738c69810ca"
CALL = {"type": "function_call", "name": "get_weather", "status": "completed"}

# Multi-byte characters, so that a proxy that decodes pieces on their own shows.
SPLIT_TEXT = " Zürich 東京 🌦"


def frame(kind: str, number: int, **members: Any) -> bytes:
    """One event as vLLM writes it."""
    data = json.dumps(
        {**members, "sequence_number": number, "type": kind},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    return f"event: {kind}\ndata: {data}\n\n".encode()


def response(status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    """A response with the members that the API requires; clients of it validate them."""
    return {
        "id": RESPONSE_ID,
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": "bench",
        "output": output,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": None,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }


def part(text: str) -> dict[str, Any]:
    """The content of a message."""
    return {"annotations": [], "text": text, "type": "output_text", "logprobs": None}


def message(item_id: str, text: str, status: str) -> dict[str, Any]:
    """A message; one that is announced has no content yet."""
    return {
        "id": item_id,
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": [part(text)] if text else [],
    }


def frames(deltas: int, text: str = " word") -> list[bytes]:
    """The events of one stream. Those that end it name other ids than were announced."""
    whole = text * deltas
    place = {"content_index": 0, "item_id": ANNOUNCED, "output_index": 0}
    call = {**CALL, "id": "86c1dbf1a8fefbcf", "call_id": "call_951f53b1", "arguments": "{}"}
    rebuilt = {**CALL, "id": "fc_bebd3a7f", "call_id": "chatcmpl-tool-878d", "arguments": "{}"}
    made: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": response("in_progress", [])}),
        ("response.in_progress", {"response": response("in_progress", [])}),
        (
            "response.output_item.added",
            {"item": message(ANNOUNCED, "", "in_progress"), "output_index": 0},
        ),
        ("response.content_part.added", {**place, "part": part("")}),
        *[("response.output_text.delta", {**place, "delta": text, "logprobs": []})] * deltas,
        ("response.output_text.done", {**place, "text": whole, "logprobs": []}),
        ("response.content_part.done", {**place, "part": part(whole)}),
        (
            "response.output_item.done",
            {"item": message(ANNOUNCED, whole, "completed"), "output_index": 0},
        ),
        (
            "response.output_item.added",
            {"item": {**call, "arguments": "", "status": "in_progress"}, "output_index": 1},
        ),
        (
            "response.function_call_arguments.delta",
            {"delta": "{}", "item_id": call["id"], "output_index": 1},
        ),
        (
            "response.function_call_arguments.done",
            {
                "arguments": "{}",
                "item_id": call["id"],
                "name": call["name"],
                "output_index": 1,
            },
        ),
        ("response.output_item.done", {"item": call, "output_index": 1}),
        (
            "response.completed",
            {"response": response("completed", [message("msg_5e1a", whole, "completed"), rebuilt])},
        ),
    ]
    return [frame(kind, number, **members) for number, (kind, members) in enumerate(made)]


def text_of(stream: bytes) -> tuple[int, str]:
    """How many text deltas a stream has, and what they say together."""
    deltas = [
        json.loads(line.removeprefix("data:"))["delta"]
        for line in stream.decode(errors="replace").splitlines()
        if line.startswith("data:") and "response.output_text.delta" in line
    ]
    return len(deltas), "".join(deltas)
