"""Runs in pairs, one of each server, in turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benches.served.load import Figures, Load
    from benches.served.servers import Served


@dataclass(frozen=True)
class Pair:
    """Two runs right after one another."""

    on: Figures
    off: Figures


def measure(served: Served, load: Load, count: int) -> list[Pair]:
    """Measure `count` pairs; which of the two comes first changes from pair to pair.

    Each server has one run before that does not count: the first requests fill caches.
    """
    for server in (served.on, served.off):
        load.run(server)
    pairs = []
    for number in range(count):
        if number % 2:
            off, on = load.run(served.off), load.run(served.on)
        else:
            on, off = load.run(served.on), load.run(served.off)
        pairs.append(Pair(on, off))
        ratio = on.tokens_per_s / off.tokens_per_s
        print(f"pair {number + 1} of {count}: {ratio:.3f} times the tokens a second", flush=True)
    return pairs
