"""Streams as vLLM before 0.32 sends them: announced under one identity, ended under another."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

TERMINAL_BYTES = 4_400_000
"""The longest terminal event that was seen of a real server has about as many."""


def frame(kind: str, number: int, **members: Any) -> bytes:
    """One event as vLLM writes it."""
    event = {**members, "sequence_number": number, "type": kind}
    return f"event: {kind}\ndata: {json.dumps(event, separators=(',', ':'))}\n\n".encode()


def message(identity: str, text: str) -> dict[str, Any]:
    """An item of the output."""
    content: list[Any] = [
        {"annotations": [], "text": text, "type": "output_text", "logprobs": None}
    ]
    role = {"role": "assistant", "status": "completed", "type": "message"}
    return {"id": identity, "content": content, **role}


def call(identity: str, place: int, arguments: str) -> dict[str, Any]:
    """An item of the output."""
    return {
        "arguments": arguments,
        "call_id": f"call_{identity}{place}",
        "name": "get_weather",
        "type": "function_call",
        "id": f"fc_{identity}{place}",
        "status": "completed",
    }


def ended(number: int, output: list[dict[str, Any]]) -> bytes:
    """The terminal event."""
    return frame("response.completed", number, response={"id": "resp_1", "output": output})


CREATED = frame("response.created", 0, response={"id": "resp_1", "output": []})


def text(deltas: int = 20_000) -> list[bytes]:
    """One long message: nearly all of it deltas."""
    item = message("msg_announced", "")
    frames = [CREATED, frame("response.output_item.added", 1, item=item, output_index=0)]
    for number in range(2, deltas + 2):
        place = {"item_id": "msg_announced", "output_index": 0}
        delta = frame("response.output_text.delta", number, content_index=0, delta=" word", **place)
        frames.append(delta)
    item = message("msg_announced", " word" * deltas)
    frames.append(frame("response.output_item.done", deltas + 2, item=item, output_index=0))
    frames.append(ended(deltas + 3, [message("msg_rebuilt", " word" * deltas)]))
    return frames


def calls(count: int = 500, deltas: int = 6) -> list[bytes]:
    """Calls of a few deltas each: as many events about an identity as under one."""
    frames = [CREATED]
    for place in range(count):
        item = call("announced", place, "")
        events: list[tuple[str, dict[str, Any]]] = [("response.output_item.added", {"item": item})]
        under = {"item_id": item["id"]}
        argument = "response.function_call_arguments"
        events += [(f"{argument}.delta", {"delta": '"Rome",', **under})] * deltas
        whole = '"Rome",' * deltas
        events.append((f"{argument}.done", {"arguments": whole, "name": item["name"], **under}))
        events.append(("response.output_item.done", {"item": call("announced", place, whole)}))
        for kind, members in events:
            frames.append(frame(kind, len(frames), **members, output_index=place))
    rebuilt = [call("rebuilt", place, '"Rome",' * deltas) for place in range(count)]
    frames.append(ended(len(frames), rebuilt))
    return frames


def terminal() -> list[bytes]:
    """A short stream whose last two events are very long."""
    words = "word " * (TERMINAL_BYTES // 5)
    item = message("msg_announced", "")
    whole = message("msg_announced", words)
    return [
        CREATED,
        frame("response.output_item.added", 1, item=item, output_index=0),
        frame("response.output_item.done", 2, item=whole, output_index=0),
        ended(3, [message("msg_rebuilt", words)]),
    ]


MIXES: dict[str, Callable[[], list[bytes]]] = {
    "text": text,
    "calls": calls,
    "long terminal event": terminal,
}
