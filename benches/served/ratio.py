"""Ratios of paired runs, with an interval that assumes nothing about how they are distributed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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
