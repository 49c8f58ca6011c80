"""The events of a stream that was read whole."""

from __future__ import annotations

import json
import re
from typing import Any

from vllm_stable_ids.check.frames import Frames

Event = dict[str, Any]

TERMINALS = {"response.completed", "response.incomplete", "response.failed"}
TERMINAL = re.compile(rb"response\.(?:completed|incomplete|failed)")
DATA = re.compile(rb"^data: ?(.*?)\r?$", re.MULTILINE)


def events_of(raw: bytes | bytearray) -> list[Event]:
    """The events that can be read; the checker reports those that cannot."""
    return [event for data in DATA.findall(raw) for event in _read(data)]


def _read(data: bytes) -> list[Event]:
    """The event that some data is; none where it cannot be read."""
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        return []
    return [event] if isinstance(event, dict) else []


def frames(events: list[Event]) -> bytes:
    """A stream of the events."""
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


class EndOfResponse:
    """Tells of a stream that comes in pieces when its response has ended."""

    def __init__(self) -> None:
        """Begin."""
        self._frames = Frames()

    def after(self, piece: bytes) -> bool:
        """Whether one of the frames that are whole by now ends the response."""
        found = [frame.data for frame in self._frames.feed(piece)]
        return is_terminal(
            [event for data in found if TERMINAL.search(data) for event in _read(data)]
        )


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
