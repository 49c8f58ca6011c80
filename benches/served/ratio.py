"""Ratios of paired runs, with an interval that assumes nothing about how they are distributed."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CONFIDENCE = 0.95

FIGURES = {
    "tokens_per_s": "tokens a second",
    "ttft_ms": "time to first token, ms",
    "itl_ms": "time between tokens, ms",
    "cpu_s_per_1000": "API server's CPU seconds for 1,000 tokens",
}


def interval(ratios: Sequence[float]) -> tuple[float, float]:
    """The narrowest interval between two of the ratios that has their median in it at 95 %.

    The order statistics of the sign test: how many of n ratios lie below their true median is
    binomial, whatever their distribution. With fewer than six it is all of them, at less.
    """
    ordered = sorted(ratios)
    count = len(ordered)
    outside = 0.0
    left_out = 0
    while left_out < count // 2:
        outside += 2 * math.comb(count, left_out) / 2**count
        if outside > 1 - CONFIDENCE:
            break
        left_out += 1
    place = max(left_out - 1, 0)
    return ordered[place], ordered[count - 1 - place]


def table(content: Mapping[str, Any]) -> str:
    """The figures of a result file as a table of Markdown."""
    lines = [
        "| figure | off: min, median, max | on: min, median, max | on / off | 95 % interval |",
        "|---|---|---|---|---|",
    ]
    for name, title in FIGURES.items():
        on, off = ([pair[side][name] for pair in content["pairs"]] for side in ("on", "off"))
        ratios = [a / b for a, b in zip(on, off, strict=True)]
        low, high = interval(ratios)
        lines.append(
            f"| {title} | {_spread(off)} | {_spread(on)} | {statistics.median(ratios):.3f} "
            f"| {low:.3f} to {high:.3f} |"
        )
    return "\n".join(lines)


def _spread(values: Sequence[float]) -> str:
    shown = (min(values), statistics.median(values), max(values))
    return ", ".join(f"{value:.4g}" for value in shown)
