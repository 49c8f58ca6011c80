"""The interval that the bench of whole servers gives for its ratios."""

from __future__ import annotations

import json
import math
import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benches.report.tables import served
from benches.served.load import Load
from benches.served.ratio import FIGURES, interval


@pytest.mark.parametrize(
    ("count", "left_out"), [(1, 0), (5, 0), (6, 0), (8, 0), (9, 1), (10, 1), (12, 2), (20, 5)]
)
def test_the_interval_leaves_out_as_many_as_the_sign_test_allows(count: int, left_out: int) -> None:
    ratios = [1 + place / 100 for place in range(count)]
    assert interval(ratios) == (ratios[left_out], ratios[count - 1 - left_out])


def test_it_has_the_true_median_in_it_as_often_as_it_says() -> None:
    rng = random.Random(7)
    hits = 0
    for _ in range(2000):
        low, high = interval([math.exp(rng.gauss(0, 0.05)) for _ in range(10)])
        hits += low <= 1 <= high
    assert hits / 2000 > 0.95


def test_the_table_shows_the_spread_and_the_ratio() -> None:
    pairs = [
        {side: dict.fromkeys(FIGURES, value * (1 + place)) for side, value in sides}
        for place, sides in enumerate([(("on", 2.0), ("off", 1.0))] * 10)
    ]
    lines = served({"pairs": pairs}).splitlines()
    assert len(lines) == 2 + len(FIGURES)
    cells = "| 5.5 (1 to 10) | 11 (2 to 20) | 2.000 (2.000 to 2.000) | 2.000 to 2.000 |"
    assert cells in lines[2]


@pytest.mark.parametrize(("in_step", "spread"), [(False, 0.5), (True, 0)])
def test_answers_have_one_length_in_step_only(in_step: bool, spread: float) -> None:
    server: Any = SimpleNamespace(url="http://127.0.0.1:1")
    asked = Load("a model", prompts=2, tokens=8, at_once=1, in_step=in_step).arguments(server)
    ratio = json.loads(asked[asked.index("--random-range-ratio") + 1])
    assert ratio == {"input": 0, "output": spread}
