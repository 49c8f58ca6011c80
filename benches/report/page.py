"""The page `benches/report.md`, of what was measured."""

from __future__ import annotations

from typing import Any

from benches.report import tables
from benches.report.aims import aims, in_step, release
from benches.results import ROOT, table

PAGE = ROOT / "benches" / "report.md"

HEAD = """\
# What it costs

Made by `make bench` of `benches/results.json`; do not edit. Every cell is a median, with the
minimum and the maximum behind it. Only figures of one table can be compared: machines differ, and
so do hours on one machine. [What is measured, and how](../docs/benchmarks.md).
"""

NO_GPU = """\
Not run on a GPU: there was none on the machine that this was made on. Where there is one, with a
vLLM that is built for it,

    python benches/gpu.py
    python -m benches.report

put its figures here. It is the same program as for the figures without a GPU.
"""


def render(results: dict[str, Any]) -> str:
    """Return the page."""
    return "\n".join([HEAD, *_sections(results)])


def _sections(results: dict[str, Any]) -> list[str]:
    about = results["about"]
    parts = [table(["", ""], [[name, value] for name, value in about.items()]), ""]
    parts += ["## What was aimed at", ""]
    rows = [[aim, value, "met" if met else "**missed**"] for aim, value, met in aims(results)]
    parts += [table(["aim", "measured", ""], rows), "", "## An event, in process", ""]
    parts.append(
        "vLLM's own event classes and its own writing, with the plugin and without. *items* are\n"
        "events about an identity: announcements, closes, and one delta an item.\n"
    )
    for content in results["per_event"]:
        parts += [f"### vLLM {release(content)}", "", _made_by(content)]
        versions = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
        parts.append(f"{content['rounds']} rounds of {content['count']:,} events; {versions}.\n")
        parts += [tables.per_event(content), ""]
    parts += ["## The bytes of a stream", "", _made_by(results["wire"])]
    parts.append(
        "The rewriter called from Python, beside the least in Python that does the same to a\n"
        "sound stream, with three readers of JSON, and beside copying every piece. CPU time.\n"
    )
    for mix in dict.fromkeys(one["extra_info"]["mix"] for one in results["wire"]["benchmarks"]):
        parts += [f"### {mix.capitalize()}", "", tables.wire(results["wire"], mix), ""]
    parts += ["## The core by itself", "", _made_by(results["core"])]
    parts += [tables.core(results["core"]), "", "## Instructions", ""]
    parts += [_made_by(results["instructions"]), f"{results['instructions']['made_by']}.\n"]
    parts += [tables.instructions(results["instructions"]), ""]
    parts += ["## Whole servers without a GPU", ""]
    parts.append(
        "`vllm serve` with the plugin and without, under vLLM's own load generator; the requests\n"
        "to both interleave. The interval assumes nothing about how ratios are distributed.\n"
    )
    for content in results["served"]:
        if content["device"] == "cpu":
            parts += _served(content)
    parts += ["## Whole servers on a GPU", ""]
    on_gpu = [content for content in results["served"] if content["device"] == "gpu"]
    for content in on_gpu:
        parts += _served(content)
    if not on_gpu:
        parts.append(NO_GPU)
    parts += ["## Proxies, side by side", "", _made_by(results["side_by_side"])]
    before, after = results["side_by_side"]["load"]
    parts.append(f"Load of the machine: {before:.1f} before, {after:.1f} after.\n")
    parts += [tables.side_by_side(results["side_by_side"]), ""]
    parts += [tables.to_others(results["side_by_side"]), "", "## An idle stream", ""]
    parts += [_made_by(results["idle"])]
    through, direct = results["idle"]["bytes"]
    row = [f"{through / 1024:.0f}", f"{direct / 1024:.0f}", f"{(through - direct) / 1024:.0f}"]
    head = ["KiB a stream, through the proxy", "without", "what the proxy takes"]
    parts += [table(head, [row]), ""]
    return parts


def _made_by(content: dict[str, Any]) -> str:
    when = f", {content['date']}" if "date" in content else ""
    return f"`{content['command']}`{when}\n"


def _lengths(content: dict[str, Any]) -> str:
    tokens = content["tokens"]
    if content["in_step"]:
        return f"{tokens} tokens each"
    return f"{tokens // 2} to {tokens + tokens // 2} tokens"


def _served(content: dict[str, Any]) -> list[str]:
    asked = (
        f"{len(content['pairs'])} pairs of runs, {content['prompts']} requests of"
        f" {_lengths(content)}, {content['at_once']} at once; model:"
        f" {content['model']}; {content['machine']}.\n"
    )
    return [
        f"### vLLM {release(content)}{in_step(content)}",
        "",
        _made_by(content),
        asked,
        tables.served(content),
        "",
    ]
