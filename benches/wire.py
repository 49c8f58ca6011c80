"""What the wire rewriter costs from Python, as ratios within one run.

A run of delta frames in large chunks against the same done with `json`; one frame a call against
a call that does nothing; a large terminal frame in small chunks against the same in one.

    python benches/wire.py [ROUNDS]
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import TYPE_CHECKING

from vllm_stable_ids.rewriter import SseRewriter

if TYPE_CHECKING:
    from collections.abc import Callable

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


DELTAS = b"".join(delta(number) for number in range(2, FRAMES + 2))


def chunks(data: bytes, size: int) -> list[bytes]:
    """`data` in pieces."""
    return [data[at : at + size] for at in range(0, len(data), size)]


def with_rewriter(pieces: list[bytes]) -> None:
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


def seconds(work: Callable[[], object]) -> float:
    """CPU time that `work` took."""
    began = time.process_time()
    work()
    return time.process_time() - began


def median(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Median CPU seconds of each, taken in turn."""
    taken = [[seconds(work) for work in works] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*taken, strict=True)]


def main() -> None:
    """Print the three comparisons."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    pieces = chunks(DELTAS, CHUNK)
    ours, copied, parsed = median(
        rounds,
        lambda: with_rewriter(pieces),
        lambda: [bytes(bytearray(piece)) for piece in pieces],
        lambda: with_json(DELTAS),
    )
    size = len(DELTAS)
    print(f"{FRAMES:,} delta frames of {size / FRAMES:.0f} bytes in chunks of 64 KiB, CPU time:")
    print(f"  rewriter {size / ours / 1e9:.2f} GB/s, copying alone {size / copied / 1e9:.2f} GB/s,")
    print(
        f"  json {size / parsed / 1e9:.3f} GB/s: the rewriter is {parsed / ours:.0f} times as fast"
    )

    frames = [delta(number) for number in range(2, FRAMES + 2)]
    nothing = [b""] * FRAMES
    one, none = median(rounds, lambda: with_rewriter(frames), lambda: with_rewriter(nothing))
    print(f"one frame a call: {(one - none) / FRAMES * 1e6:.2f} µs above an empty call")

    text = "word " * (TERMINAL_BYTES // 5)
    item = f'"id":"msg_9","type":"message","content":[{{"type":"output_text","text":"{text}"}}]'
    terminal = event(
        "response.completed",
        f'"response":{{"id":"resp_1","output":[{{{item}}}]}},"sequence_number":2',
    )
    small, whole = median(
        rounds,
        lambda: with_rewriter(chunks(terminal, PACKET)),
        lambda: with_rewriter([terminal]),
    )
    print(
        f"a terminal frame of {len(terminal) / 1e6:.1f} MB: in pieces of {PACKET:,} bytes "
        f"{small / whole:.2f} times the cost of one piece"
    )


if __name__ == "__main__":
    main()
