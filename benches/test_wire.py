"""What the wire rewriter costs from Python, each group of figures next to what it is held against.

    pytest benches --benchmark-only --benchmark-timer=time.process_time

pytest-benchmark prints every figure with its ratio to the best of the group in the same run.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from vllm_stable_ids.rewriter import SseRewriter

if TYPE_CHECKING:
    from collections.abc import Sequence

Benchmark = Any

CHUNK = 64 << 10
FRAMES = 20_000
PACKET = 1_400
TERMINAL_BYTES = 4_400_000


def event(kind: str, members: str) -> bytes:
    """One frame as vLLM writes it."""
    return f'event: {kind}\ndata: {{{members},"type":"{kind}"}}\n\n'.encode()


HEAD = event("response.created", '"response":{"id":"resp_1","output":[]},"sequence_number":0')
HEAD += event(
    "response.output_item.added",
    '"item":{"id":"msg_1","type":"message","content":[],"role":"assistant"},"output_index":0,'
    '"sequence_number":1',
)


def delta(number: int) -> bytes:
    """A delta frame of about 160 bytes."""
    return event(
        "response.output_text.delta",
        f'"content_index":0,"delta":" word","item_id":"msg_1","output_index":0,'
        f'"sequence_number":{number}',
    )


FRAME_LIST = [delta(number) for number in range(2, FRAMES + 2)]
DELTAS = b"".join(FRAME_LIST)
TERMINAL = event(
    "response.completed",
    '"response":{"id":"resp_1","output":[{"id":"msg_9","type":"message","content":'
    f'[{{"type":"output_text","text":"{"word " * (TERMINAL_BYTES // 5)}"}}]}}]}},'
    '"sequence_number":2',
)


def chunks(data: bytes, size: int) -> list[bytes]:
    """`data` in pieces."""
    return [data[at : at + size] for at in range(0, len(data), size)]


def with_rewriter(pieces: Sequence[bytes]) -> None:
    """Feed a whole stream."""
    rewriter = SseRewriter()
    rewriter.feed(HEAD)
    for piece in pieces:
        rewriter.feed(piece)
    rewriter.finish()


def with_json(data: bytes) -> None:
    """Read and write every event, as a rewriter of a few lines does."""
    out = []
    for frame in data.split(b"\n\n"):
        name, _, content = frame.partition(b"\n")
        if content:
            value = json.loads(content.removeprefix(b"data: "))
            value["item_id"] = "msg_1"
            out.append(name + b"\ndata: " + json.dumps(value).encode())
    b"\n\n".join(out)


def copied(pieces: Sequence[bytes]) -> None:
    """Copy every piece, which any rewriter must."""
    for piece in pieces:
        bytes(bytearray(piece))


@pytest.mark.benchmark(group=f"{FRAMES:,} delta frames, {len(DELTAS):,} bytes, chunks of 64 KiB")
class TestChunks:
    """A run of deltas as a proxy reads it."""

    def test_rewriter(self, benchmark: Benchmark) -> None:
        benchmark(with_rewriter, chunks(DELTAS, CHUNK))

    def test_json(self, benchmark: Benchmark) -> None:
        benchmark(with_json, DELTAS)

    def test_copying_alone(self, benchmark: Benchmark) -> None:
        benchmark(copied, chunks(DELTAS, CHUNK))


@pytest.mark.benchmark(group=f"{FRAMES:,} calls")
class TestCalls:
    """One frame a call, as a middleware gets them, against a call that has nothing to do."""

    def test_one_frame(self, benchmark: Benchmark) -> None:
        benchmark(with_rewriter, FRAME_LIST)

    def test_nothing(self, benchmark: Benchmark) -> None:
        benchmark(with_rewriter, [b""] * FRAMES)


@pytest.mark.benchmark(group=f"a terminal frame of {len(TERMINAL):,} bytes")
class TestTerminal:
    """A large frame, whole and as packets bring it."""

    def test_whole(self, benchmark: Benchmark) -> None:
        benchmark(with_rewriter, [TERMINAL])

    def test_in_packets(self, benchmark: Benchmark) -> None:
        benchmark(with_rewriter, chunks(TERMINAL, PACKET))
