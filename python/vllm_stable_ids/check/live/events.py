"""The events of a stream that was read whole."""

from __future__ import annotations

import json
import re
from typing import Any

Event = dict[str, Any]

TERMINALS = {"response.completed", "response.incomplete", "response.failed"}
DATA = re.compile(rb"^data: ?(.*?)\r?$", re.MULTILINE)


def events_of(raw: bytes | bytearray) -> list[Event]:
    """The events that can be read; the checker reports those that cannot."""
    found = []
    for data in DATA.findall(raw):
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            found.append(event)
    return found


def frames(events: list[Event]) -> bytes:
    """A stream of the events."""
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def is_terminal(events: list[Event]) -> bool:
    """Whether one of them ends the response."""
    return any(event.get("type") in TERMINALS for event in events)


def response_id(events: list[Event]) -> str | None:
    """What the response is called."""
    for event in events:
        response = event.get("response")
        if isinstance(response, dict) and isinstance(response.get("id"), str):
            named: str = response["id"]
            return named
    return None


def call_id(events: list[Event]) -> str | None:
    """The `call_id` under which the first call of a function was announced."""
    for event in events:
        item = event.get("item")
        if (
            event.get("type") == "response.output_item.added"
            and isinstance(item, dict)
            and item.get("type") == "function_call"
            and isinstance(item.get("call_id"), str)
        ):
            announced: str = item["call_id"]
            return announced
    return None
