"""Splits an event stream into the events that the checker counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FRAME_BYTES = 64 << 20
"""Beyond it the checker reads no further either."""

END = b"\n\n"
BLANK = b" \t\n\f\r"


class Frame(NamedTuple):
    """An event as it was sent: what its `event:` line says, and its data."""

    event: bytes
    data: bytes


class Frames:
    """Splits bytes that come in pieces, cut anywhere; line ends may be LF, CRLF or CR."""

    def __init__(self) -> None:
        """Start a stream."""
        self._rest = bytearray()
        self._after_cr = False
        self._begun = False
        self._over = False

    def feed(self, piece: bytes) -> Iterator[Frame]:
        """The events that are complete with this piece."""
        if not piece or self._over:
            return
        if not self._begun:
            # The checker's head, so a byte order mark is whole in it.
            self._begun = True
            piece = piece.removeprefix(b"\xef\xbb\xbf")
        if self._after_cr:
            piece = b"\r" + piece
        self._after_cr = piece.endswith(b"\r")
        if self._after_cr:
            piece = piece[:-1]
        if b"\r" in piece:
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        looked_at = max(len(self._rest) - 1, 0)
        self._rest += piece
        start = 0
        while (end := self._rest.find(END, max(start, looked_at))) >= 0:
            if end - start > MAX_FRAME_BYTES:
                break
            yield from _read(bytes(self._rest[start:end]))
            start = end + len(END)
        del self._rest[:start]
        if len(self._rest) > MAX_FRAME_BYTES:
            self._over = True
            self._rest.clear()

    def finish(self) -> Iterator[Frame]:
        """The last event, if no blank line came after it."""
        yield from _read(bytes(self._rest))
        self._rest.clear()


def _read(text: bytes) -> Iterator[Frame]:
    """The event of a frame; none where it has no data, or says only that all is over."""
    event = b""
    data: list[bytes] = []
    for line in text.split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            event = value.removeprefix(b" ")
    joined = b"\n".join(data)
    if joined.strip(BLANK) not in {b"", b"[DONE]"}:
        yield Frame(event, joined)
