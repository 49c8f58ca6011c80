"""Reads what was recorded, and has the core judge it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from vllm_stable_ids._core import Checker
from vllm_stable_ids.check.advice import AGAIN, RESTRICT, advice_on
from vllm_stable_ids.check.recognise import Input, no_stream, recognise
from vllm_stable_ids.check.verdict import Reason, Stream, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from vllm_stable_ids.check.verdict import Status

HEAD_BYTES = 1 << 18
STATUS: dict[str, Status] = {"kept": "kept", "broken": "broken"}


def judge(
    chunks: Iterable[bytes], source: str, onlooker: Callable[[bytes], None] | None = None
) -> Verdict:
    """Judge what comes in pieces, cut anywhere.

    Args:
        chunks: The bytes of an event stream, or of lines of JSON. What iterating raises passes.
        source: What to call it.
        onlooker: Handed what the core is handed, always as frames.

    Returns:
        The verdict; there are no bytes that make this raise.
    """
    counted = _Counted(chunks)
    head = b""
    for piece in counted:
        head += piece
        if len(head) >= HEAD_BYTES:
            break
    else:
        counted.ended = True
    found = recognise(head, whole=counted.ended)
    if isinstance(found, Reason):
        return refused(source, found, size=counted.size)
    checker = Checker()
    feed = _Framer(found).feed
    for piece in itertools.chain((head,), counted):
        framed = feed(piece)
        checker.feed(framed)
        if onlooker is not None:
            onlooker(framed)
    outcome, stream = Stream.of_core(checker.finish())
    if outcome == "no_stream":
        return refused(source, no_stream(head), size=counted.size)
    status = STATUS.get(outcome, "not_judged")
    reason = _reason(stream)
    advice = reason.advice if reason and status == "not_judged" else advice_on(stream)
    return Verdict(source, status, reason, found.format, counted.size, stream, advice)


def refused(source: str, reason: Reason, *, size: int = 0) -> Verdict:
    """The verdict on what cannot be judged."""
    return Verdict(source, "not_judged", reason, None, size, None, reason.advice)


def _reason(stream: Stream) -> Reason | None:
    """Why the stream was not judged to its end, if it was not."""
    if stream.limit is not None:
        return Reason("limit", f"It was not read to its end: {stream.limit}.", RESTRICT)
    if stream.cut:
        return Reason("cut", "It stops before its end: there is no terminal event.", AGAIN)
    return None


class _Counted:
    """Pieces, with how many bytes they were so far."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self.size = 0
        self.ended = False

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self.size += len(chunk)
            yield chunk


class _Framer:
    """Makes frames of lines that are an event each; frames stay as they are."""

    def __init__(self, found: Input) -> None:
        self._lines = found.lines
        self._prefix = b"data: " if found.format == "jsonl" else b""
        self._begun = False

    def feed(self, piece: bytes) -> bytes:
        if not self._lines:
            return piece
        framed = piece.replace(b"\n", b"\n\n" + self._prefix)
        if not self._begun:
            self._begun = True
            framed = self._prefix + framed
        return framed
