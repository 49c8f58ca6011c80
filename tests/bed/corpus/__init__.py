"""Faulty event streams: sound ones, each with one fault put in, and those that are kept as files.

A fault is one that some server of the Responses API has; what it does to a stream is written once,
in `faults`, and put into every stream of `sound` that it changes.
"""

from __future__ import annotations

import copy
import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING

from bed.corpus.faults import FAULTS
from bed.corpus.sound import SOUND

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bed.corpus.sound import Event

RECORDED = Path(__file__).parents[3] / "rust" / "sse_rewrite" / "tests" / "streams"
"""The streams of the core's own tests."""


def encode(events: Iterable[Event]) -> bytes:
    """Write events as vLLM does."""
    return b"".join(
        f"event: {event['type']}\ndata: {json.dumps(event, separators=(',', ':'))}\n\n".encode()
        for event in events
    )


def numbered(events: Iterable[Event]) -> list[Event]:
    """Number events from 0."""
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


@functools.cache
def faulty() -> Mapping[str, bytes]:
    """Return each sound stream with each fault that changes it."""
    made: dict[str, bytes] = {}
    for name, sound in SOUND.items():
        for fault, put_in in FAULTS.items():
            events: Sequence[Event] = put_in(copy.deepcopy(sound))
            if events != sound:
                made[f"{name}, {fault}"] = encode(numbered(events))
    return made


@functools.cache
def recorded() -> Mapping[str, bytes]:
    """Return the streams that are kept as files."""
    return {path.stem: path.read_bytes() for path in sorted(RECORDED.glob("*.sse"))}
