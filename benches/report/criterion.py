"""What criterion left in the folder of what is built."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from benches.results import ROOT

MADE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "criterion"


def collect() -> dict[str, Any]:
    """Every benchmark of the last run, with the seconds that one go took in each sample."""
    found = []
    for about in sorted(MADE.glob("**/new/benchmark.json")):
        benchmark = json.loads(about.read_text())
        sample = json.loads(about.with_name("sample.json").read_text())
        pairs = zip(sample["times"], sample["iters"], strict=True)
        throughput = benchmark["throughput"] or {}
        found.append(
            {
                "name": benchmark["title"].replace("/", ": "),
                "bytes": throughput.get("Bytes"),
                "seconds": [nanoseconds / 1e9 / count for nanoseconds, count in pairs],
            }
        )
    return {"command": "cargo bench -p sse_rewrite", "benchmarks": found}
