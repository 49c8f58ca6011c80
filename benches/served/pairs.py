"""Runs in pairs, one of each server."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from benches.served.load import Figures, Generator, Load
    from benches.served.servers import Served

BLOCKS = 8
"""How often servers start anew. What two of them differ by is of the size that is looked for."""


@dataclass(frozen=True)
class Pair:
    """Two runs at the same time."""

    on: Figures
    off: Figures


def measure(
    start: Callable[[bool], Served], generators: tuple[Generator, Generator], load: Load, count: int
) -> list[Pair]:
    """Measure `count` pairs, in blocks with servers of their own.

    The requests of the two runs of a pair are interleaved: one run after the other would be
    compared across what else the machine does, which can weigh ten times what is looked for. Two
    servers of the same kind differ for as long as they live, so each block starts them anew, in the
    other order; two generators do, too, so they take turns.

    Args:
        start: Starts both servers, first the one with the plugin where it is told True.
        generators: What makes the load.
        load: What both are asked.
        count: How many pairs.
    """
    pairs: list[Pair] = []
    blocks = min(BLOCKS, count)
    for block in range(blocks):
        with closing(start(block % 2 == 0)) as served:
            # The first requests fill caches; these runs do not count.
            _pair(served, generators, load)
            while len(pairs) < count * (block + 1) // blocks:
                in_turn = generators if len(pairs) % 2 else generators[::-1]
                pairs.append(_pair(served, in_turn, load))
                ratio = pairs[-1].on.tokens_per_s / pairs[-1].off.tokens_per_s
                told = f"pair {len(pairs)} of {count}: {ratio:.3f} times the tokens a second"
                print(told, flush=True)
    return pairs


def _pair(served: Served, generators: tuple[Generator, Generator], load: Load) -> Pair:
    with ThreadPoolExecutor(len(generators)) as both:
        servers = (served.on, served.off)
        on, off = both.map(lambda made, server: made.run(load, server), generators, servers)
    return Pair(on, off)
