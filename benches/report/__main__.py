"""Gathers what the parts of `make bench` left; writes the report and what documents quote of it.

    python -m benches.report

A part that was not run again keeps what the report had of it.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

from benches.report import criterion, page, quotes
from benches.results import FOLDER, KEPT, ROOT, machine, said

if TYPE_CHECKING:
    from pathlib import Path

PARTS = {
    "per_event": "make bench-event",
    "wire": "make bench-wire",
    "core": "make bench-wire",
    "served": "make bench-served",
    "side_by_side": "make bench-proxy",
    "idle": "make bench-proxy",
}
"""What makes each."""


def gather() -> dict[str, Any]:
    """What every part measured last."""
    results: dict[str, Any] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for part in ("per_event", "served"):
        before = {_of(content): content for content in results.get(part, [])}
        pattern = f"{part.replace('_', '-')}-*.json"
        now = map(_read, FOLDER.glob(pattern))
        merged = {**before, **{_of(content): content for content in now}}
        if merged:
            results[part] = [merged[key] for key in sorted(merged)]
    if (file := FOLDER / "side-by-side.json").exists():
        results["side_by_side"] = _read(file)
    if (file := FOLDER / "wire.json").exists():
        results["wire"] = _wire(_read(file))
    if (file := FOLDER / "idle.txt").exists():
        found = re.search(r"bytes a stream: (\d+) with the proxy, (\d+) without", file.read_text())
        if found:
            command = "cargo test -p vllm-stable-ids-proxy -- --ignored --nocapture two_thousand"
            results["idle"] = {"command": command, "bytes": [int(found[1]), int(found[2])]}
    if core := criterion.collect():
        results["core"] = core
    counted = _read(ROOT / "benches" / "instructions.json")
    results["instructions"] = {"command": "scripts/instructions", **counted}
    return results


def _read(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text())
    return content


def _of(content: dict[str, Any]) -> tuple[str, bool, str]:
    return content.get("device", ""), content.get("in_step", False), content["vllm"]


def _wire(made: dict[str, Any]) -> dict[str, Any]:
    """Of pytest-benchmark's file, what is shown."""
    benchmarks = [
        {
            "extra_info": one["extra_info"],
            "stats": {name: one["stats"][name] for name in ("min", "median", "max", "rounds")},
        }
        for one in made["benchmarks"]
    ]
    command = "python -m pytest benches/wire --benchmark-only --benchmark-timer=time.process_time"
    return {"command": command, "benchmarks": benchmarks}


def about() -> dict[str, str]:
    """Where and of what the report is."""
    commit = said("git", "rev-parse", "--short=12", "HEAD")
    peers = (ROOT / "benches" / "requirements.txt").read_text()
    makefile = (ROOT / "Makefile").read_text()
    versions = [
        said("rustc", "--version").rpartition(" (")[0],
        *(" ".join(found) for found in re.findall(r"^([\w-]+)\S*==(.*)$", peers, re.M)),
        *(f"opencodex {made}" for made in re.findall(r"opencodex@(\S+)", makefile)),
    ]
    if nginx := said("nginx", "-v").partition("nginx/")[2]:
        versions.append(f"nginx {nginx}")
    return {
        "command": "`make bench`",
        "commit": commit
        + (" and changes" if said("git", "status", "-s", "rust", "python") else ""),
        "machine": machine(),
        "versions": ", ".join(versions),
    }


def main() -> int:
    """Write all."""
    results = gather()
    missing = [f"{part}: {made}" for part, made in PARTS.items() if part not in results]
    if missing:
        print("not measured yet:", *missing, sep="\n  ", file=sys.stderr)
        return 1
    results["about"] = about()
    KEPT.write_text(json.dumps(results, indent=1) + "\n")
    page.PAGE.write_text(page.render(results))
    for written in (KEPT, page.PAGE, *quotes.write(results)):
        print(f"written: {written.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
