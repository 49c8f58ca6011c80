"""The wire rewriter from Python, beside rewriters in Python and beside copying alone.

    python -m pytest benches/wire --benchmark-only --benchmark-timer=time.process_time

Every stream comes in pieces of several sizes. Only figures of one run can be compared.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import orjson
import pytest
from benches.wire.in_python import InPython
from benches.wire.mixes import MIXES

from vllm_stable_ids._core import Checker
from vllm_stable_ids.rewriter import SseRewriter

if TYPE_CHECKING:
    from collections.abc import Callable

Benchmark = Any
Feed = Any

PIECES = {"64 bytes": 64, "one event": None, "1,400 bytes": 1_400, "64 KiB": 64 << 10}
"""What is handed over at once; a packet has about 1,400 bytes."""

FRAMES = {mix: make() for mix, make in MIXES.items()}


def dumped(value: Any) -> bytes:
    """As vLLM writes it: short, and text as it is."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def copying() -> Feed:
    """A copy of every piece, which any rewriter must make."""
    return bytearray


REWRITERS: dict[str, Callable[[], Feed]] = {
    "copying alone": copying,
    "this": lambda: SseRewriter().feed,
    "msgspec": lambda: InPython(msgspec.json.decode, msgspec.json.encode).feed,
    "orjson": lambda: InPython(orjson.loads, orjson.dumps).feed,
    "json": lambda: InPython(json.loads, dumped).feed,
}


def pieces_of(mix: str, size: int | None) -> list[bytes]:
    """A stream in pieces of so many bytes, or one for each event."""
    if size is None:
        return FRAMES[mix]
    stream = b"".join(FRAMES[mix])
    return [stream[at : at + size] for at in range(0, len(stream), size)]


def check(mix: str, rewriter: str) -> None:
    """What a rewriter sends on must keep the contract, or its time says nothing."""
    feed = REWRITERS[rewriter]()
    checker = Checker()
    checker.feed(b"".join(feed(piece) for piece in pieces_of(mix, 1_400)))
    outcome = json.loads(checker.finish())["outcome"]
    assert outcome == ("broken" if rewriter == "copying alone" else "kept"), (mix, rewriter)


@pytest.mark.parametrize("rewriter", REWRITERS)
@pytest.mark.parametrize("size", PIECES)
@pytest.mark.parametrize("mix", MIXES)
def test_rewriting(benchmark: Benchmark, mix: str, size: str, rewriter: str) -> None:
    check(mix, rewriter)
    pieces = pieces_of(mix, PIECES[size])
    benchmark.group = f"{mix}, {size} at once"
    benchmark.extra_info.update(
        mix=mix,
        size=size,
        rewriter=rewriter,
        frames=len(FRAMES[mix]),
        bytes=sum(map(len, pieces)),
        pieces=len(pieces),
    )

    def rewrite() -> None:
        feed = REWRITERS[rewriter]()
        for piece in pieces:
            feed(piece)

    benchmark(rewrite)
