"""Takes in what the timeline shows, while the stream passes on its way to the checker."""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from vllm_stable_ids.check.frames import Frames

if TYPE_CHECKING:
    from collections.abc import Iterable

    from vllm_stable_ids.check.frames import Frame

Kind = Literal["response", "added", "part", "delta", "done", "terminal", "error", "unreadable"]

FIRST_MARKS = 1500
LAST_MARKS = 500
"""How much of a stream is shown: what comes between is counted only."""

PARSED_BYTES = 1 << 20
"""A longer event is not read as JSON, which would take many times its size in memory."""

DATA_HEAD = 3000
DATA_TAIL = 1000
SAID = 300
NAMED = 200
KINDS: dict[str, Kind] = {
    "response.output_item.added": "added",
    "response.output_item.done": "done",
    "response.completed": "terminal",
    "response.incomplete": "terminal",
    "response.failed": "terminal",
    "error": "error",
}
TYPE = re.compile(rb'"type"\s*:\s*"(response\.(?:completed|incomplete|failed|[a-z_.]{1,80}))"')


@dataclass(slots=True)
class Mark:
    """An event, or several deltas of one part that came one after the other.

    Attributes:
        first: The number of the event, counted from 1 as the checker counts.
        last: The number of the last one.
        kind: What it is to the timeline.
        type: Its type.
        numbers: The `sequence_number` of the first and of the last.
        output_index: As it says.
        item_id: The id it names its item by, or its item's.
        call_id: Its item's.
        response: Of which response it is, counted from 1.
        data: Its data, or that of the first, shortened in the middle.
        said: What the deltas say together, shortened at the end.
    """

    first: int
    last: int
    kind: Kind
    type: str
    numbers: tuple[int | None, int | None]
    output_index: int | None
    item_id: str | None
    call_id: str | None
    response: int
    data: str
    said: str

    @property
    def count(self) -> int:
        """How many events it stands for."""
        return self.last - self.first + 1


class Timeline:
    """The marks of a stream: its first and its last ones, however long it is."""

    def __init__(self) -> None:
        """Start a stream."""
        self.events = 0
        self._frames = Frames()
        self._first: list[Mark] = []
        self._last: deque[Mark] = deque(maxlen=LAST_MARKS)
        self._open: Mark | None = None
        self._key: tuple[Any, ...] | None = None
        self._said: list[str] = []
        self._response = 0
        self._is_over = True

    def feed(self, piece: bytes) -> None:
        """Take in what the checker is fed."""
        self._take(self._frames.feed(piece))

    def finish(self) -> None:
        """The stream has ended."""
        self._take(self._frames.finish())
        self._close()

    @property
    def marks(self) -> list[Mark]:
        """The marks there are room for."""
        return [*self._first, *self._last]

    def _take(self, frames: Iterable[Frame]) -> None:
        for frame in frames:
            if frame.is_done:
                continue
            self.events += 1
            self._mark(_event(frame), frame)

    def _mark(self, event: dict[str, Any] | None, frame: Frame) -> None:
        name = "" if event is None else event["type"]
        kind = _kind(name, event)
        if name == "response.created" and self._is_over:
            self._response += 1
            self._is_over = False
        self._is_over |= kind == "terminal"
        event = event or {}
        index, number = _whole(event.get("output_index")), _whole(event.get("sequence_number"))
        key = None
        if kind == "delta":
            key = (name, index, event.get("item_id"), event.get("content_index"))
            if self._open is not None and self._key == key:
                self._open.last = self.events
                self._open.numbers = self._open.numbers[0], number
                self._hear(event)
                return
        item = event.get("item")
        item = item if isinstance(item, dict) else {}
        self._close()
        # What a further delta must be like to go with it.
        self._key = key
        self._open = Mark(
            first=self.events,
            last=self.events,
            kind=kind,
            type=name[:NAMED],
            numbers=(number, number),
            output_index=index,
            item_id=_text(event.get("item_id")) or _text(item.get("id")),
            call_id=_text(item.get("call_id")),
            response=max(self._response, 1),
            data=_clipped(frame.data),
            said="",
        )
        self._hear(event)

    def _hear(self, event: dict[str, Any]) -> None:
        delta = event.get("delta")
        # An empty delta says nothing, so as many pieces as there is room for are enough.
        if isinstance(delta, str) and delta and len(self._said) <= SAID:
            self._said.append(delta[: SAID + 1])

    def _close(self) -> None:
        """The open mark is complete."""
        mark, said = self._open, "".join(self._said)
        if mark is None:
            return
        mark.said = said[:SAID] + "…" if len(said) > SAID else said
        self._open, self._said = None, []
        if len(self._first) < FIRST_MARKS:
            self._first.append(mark)
        else:
            self._last.append(mark)


def _event(frame: Frame) -> dict[str, Any] | None:
    """The event, its type as a client takes it; `None` where it cannot be read."""
    line = frame.event.decode(errors="replace")
    if len(frame.data) > PARSED_BYTES:
        # Its own type is at its start or at its end; those of its items are no response's.
        ends = frame.data[:SAID], frame.data[-SAID:]
        named = [found[1].decode() for end in ends for found in TYPE.finditer(end)]
        return {"type": named[-1] if named else line}
    try:
        event = json.loads(frame.data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    named_so = event.get("type")
    if isinstance(named_so, str) and (named_so.startswith("response.") or not line):
        return event
    return {**event, "type": line}


def _kind(name: str, event: dict[str, Any] | None) -> Kind:
    if event is None:
        return "unreadable"
    if name in KINDS:
        return KINDS[name]
    if not name and "error" in event:
        return "error"
    if "output_index" in event or "item_id" in event:
        return "delta" if name.endswith(".delta") else "part"
    return "response"


def _whole(value: Any) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 1 << 63 else None


def _text(value: Any) -> str | None:
    return value[:NAMED] if isinstance(value, str) and value else None


def _clipped(data: bytes) -> str:
    left_out = len(data) - DATA_HEAD - DATA_TAIL
    if left_out <= 0:
        return _decoded(data)
    head, tail = _decoded(data[:DATA_HEAD]), _decoded(data[-DATA_TAIL:])
    return f"{head}\n… {left_out:,} bytes are left out here …\n{tail}"


def _decoded(data: bytes) -> str:
    return data.decode(errors="backslashreplace")
