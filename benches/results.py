"""Where the parts of `make bench` leave what they measured, and how a figure is shown."""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".build" / "bench"
KEPT = ROOT / "benches" / "results.json"
"""What the report was made of; it comes with the report."""


def leave(name: str, content: Mapping[str, Any], at: Path | None = None) -> Path:
    """Write what one part measured, in place of what it measured before.

    Args:
        name: Of the part.
        content: What it measured; when and on what is added.
        at: Where to, if not to the folder that the report is made of.
    """
    file = at or FOLDER / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    stamp = {"date": time.strftime("%Y-%m-%d"), "machine": machine()}
    file.write_text(json.dumps({**stamp, **content}, indent=1) + "\n")
    return file


def machine() -> str:
    """What is measured on: cores, memory, and a GPU where there is one."""
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    gpu = said("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
    parts = [
        f"{os.cpu_count()} cores of {cpu[1] if cpu else platform.machine()}",
        f"{memory:.0f} GiB",
        platform.system(),
    ]
    return ", ".join([*parts, *([gpu] if gpu else [])])


def said(*command: str) -> str:
    """The first line of what a program says; nothing where it is not there or fails."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return ""
    return (done.stdout or done.stderr).partition("\n")[0].strip()


def spread(values: Sequence[float], form: str = ",.4g") -> str:
    """The median, with the extremes."""
    low, middle, high = (
        format(value, form) for value in (min(values), statistics.median(values), max(values))
    )
    return f"{middle} ({low} to {high})"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
