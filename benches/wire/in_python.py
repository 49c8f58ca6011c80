"""The rewriter as one would write it in Python: read every event, set the identity, write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

TERMINAL = {"response.completed", "response.incomplete", "response.failed"}


class InPython:
    """The least that gives every event of a sound stream the announced identity.

    It has no limits and no answer to what a broken server sends.
    """

    def __init__(self, loads: Callable[[bytes], Any], dumps: Callable[[Any], bytes]) -> None:
        """Read and write JSON with these."""
        self._loads = loads
        self._dumps = dumps
        self._pieces: list[bytes] = []
        self._last = b""
        self._announced: dict[int, dict[str, str]] = {}

    def feed(self, piece: bytes) -> bytes:
        """What can be sent on after one more piece of the stream."""
        self._pieces.append(piece)
        # Looking through all that came at each piece would make long events quadratic.
        complete = b"\n\n" in self._last + piece
        self._last = piece[-1:]
        if not complete:
            return b""
        *frames, rest = b"".join(self._pieces).split(b"\n\n")
        self._pieces = [rest]
        return b"".join([self._rewritten(frame) for frame in frames])

    def _rewritten(self, frame: bytes) -> bytes:
        name, mark, data = frame.partition(b"\ndata: ")
        event = self._loads(data)
        kind = event["type"]
        if kind == "response.output_item.added":
            item = event["item"]
            identity = {key: item[key] for key in ("id", "call_id") if key in item}
            self._announced[event["output_index"]] = identity
        elif kind in TERMINAL:
            for place, item in enumerate(event["response"]["output"]):
                item.update(self._announced.get(place, {}))
        elif "item" in event:
            event["item"].update(self._announced[event["output_index"]])
        elif "item_id" in event:
            event["item_id"] = self._announced[event["output_index"]]["id"]
        return b"".join((name, mark, self._dumps(event), b"\n\n"))
