"""Splits an event stream into the events that the checker reads."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FRAME_BYTES = 64 << 20
"""Beyond it the checker reads no further either."""

LINE_END = re.compile(rb"\r\n|\n|\r")
BLANK = b" \t\n\f\r"
DONE = b"[DONE]"


class Frame(NamedTuple):
    """An event as it was sent: what its `event:` line says, and its data."""

    event: bytes
    data: bytes

    @property
    def is_done(self) -> bool:
        """Whether it says that nothing more comes; the checker counts no event then."""
        return self.data.strip(BLANK) == DONE


class Frames:
    """Splits bytes that come in pieces, cut anywhere; lines may end with LF, CRLF or CR."""

    def __init__(self) -> None:
        """Start a stream."""
        self._line: list[bytes] = []
        self._lines: list[bytes] = []
        self._size = 0
        self._after_cr = False
        self._begun = False
        self.is_over = False
        """Whether a frame was too long: neither it nor what comes after it is given."""

    def feed(self, piece: bytes) -> Iterator[Frame]:
        """The events that are complete with this piece."""
        if self._after_cr and piece:
            # A CR ends its line at once; an LF still belongs to it.
            piece = piece.removeprefix(b"\n")
            self._after_cr = False
        self._after_cr |= piece.endswith(b"\r")
        *ends, rest = LINE_END.split(piece)
        for end in ends:
            self._take(end)
            if self.is_over:
                return
            if line := self._whole_line():
                self._lines.append(line)
            else:
                yield from self._frame()
        self._take(rest)

    def finish(self) -> Iterator[Frame]:
        """The last event, if no blank line came after it."""
        self._lines.append(self._whole_line())
        yield from self._frame()

    def _take(self, piece: bytes) -> None:
        self._line.append(piece)
        self._size += len(piece)
        if self.is_over or self._size > MAX_FRAME_BYTES:
            self.is_over = True
            self._line.clear()
            self._lines.clear()

    def _whole_line(self) -> bytes:
        line = b"".join(self._line)
        self._line.clear()
        if not self._begun:
            self._begun = True
            line = line.removeprefix(b"\xef\xbb\xbf")
        return line

    def _frame(self) -> Iterator[Frame]:
        """The event of the lines so far; none where they have no data."""
        event = b""
        data: list[bytes] = []
        for line in self._lines:
            field, _, value = line.partition(b":")
            if field == b"data":
                data.append(value.removeprefix(b" "))
            elif field == b"event":
                event = value.removeprefix(b" ")
        self._lines.clear()
        self._size = 0
        joined = b"\n".join(data)
        if joined.strip(BLANK):
            yield Frame(event, joined)
