"""The figures that the documents quote: each stands between two marks, and is written anew.

<!-- figures: NAME, from benches/report.md -->
<!-- end of figures -->
"""

from __future__ import annotations

import re
import statistics
import textwrap
from typing import TYPE_CHECKING, Any

from benches.report.aims import added, in_step, ratios, release
from benches.report.tables import OURS, compared, side_by_side
from benches.results import ROOT, table
from benches.served.ratio import interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
QUOTE = re.compile(
    r"(<!-- figures: ([a-z ]+), from benches/report.md -->\n).*?(<!-- end of figures -->)", re.S
)


def renewed(text: str, results: dict[str, Any]) -> str:
    """A document with its figures as they are in the results."""

    def quote(found: re.Match[str]) -> str:
        return f"{found[1]}{QUOTES[found[2]](results)}\n{found[3]}"

    return QUOTE.sub(quote, text)


def without(text: str) -> str:
    """A document without the figures it quotes."""
    return QUOTE.sub("", text)


def write(results: dict[str, Any]) -> list[Path]:
    """Renew the figures of every document; returns those that quote some."""
    quoting = [document for document in DOCUMENTS if QUOTE.search(document.read_text())]
    for document in quoting:
        document.write_text(renewed(document.read_text(), results))
    return quoting


def _events(results: dict[str, Any]) -> str:
    rows = []
    for content in results["per_event"]:
        deltas = [content["events"][kind]["stock"] for kind in ("text", "reasoning", "arguments")]
        took = [statistics.median(values) for values in deltas]
        more = statistics.median(content["events"]["items"]["added"])
        rows.append(
            [
                release(content),
                _range(took, ".2f"),
                _range(added(content), "+,.2f"),
                f"{more:+,.2f}",
            ]
        )
    head = [
        *("vLLM", "a delta event in stock vLLM, µs of CPU", "with the plugin, µs more"),
        "an event about an identity, µs more",
    ]
    return f"{table(head, rows)}\n\nMedians of `python benches/per_event.py`."


def _servers(results: dict[str, Any]) -> str:
    rows = []
    for content in results["served"]:
        cells = [f"{release(content)}, {content['device'].upper()}{in_step(content)}"]
        for figure in ("tokens_per_s", "ttft_ms", "itl_ms", "cpu_s_per_1000"):
            of_pairs = ratios(content, figure)
            low, high = interval(of_pairs)
            cells.append(f"{statistics.median(of_pairs):.3f} ({low:.3f} to {high:.3f})")
        rows.append(cells)
    head = [
        *("vLLM", "tokens a second", "time to first token", "time between tokens"),
        "API server's CPU for a token",
    ]
    words = _filled(
        "With the plugin to without, median of the pairs of runs and its 95 % interval:"
        " `python benches/gpu.py --cpu`, and with `--in-step`, where the answers to all requests"
        " have one length."
    )
    return f"{table(head, rows)}\n\n{words}"


def _bytes(results: dict[str, Any]) -> str:
    took = {
        (one["extra_info"]["size"], one["extra_info"]["rewriter"]): one
        for one in results["wire"]["benchmarks"]
        if one["extra_info"]["mix"] == "text"
    }
    ours, json = took["64 KiB", "this"], took["64 KiB", "json"]
    single = took["one event", "this"]
    speed = ours["extra_info"]["bytes"] / ours["stats"]["median"] / 1e6
    times = json["stats"]["median"] / ours["stats"]["median"]
    each = 1e9 * single["stats"]["median"] / single["extra_info"]["frames"]
    return _filled(
        f"Called from Python, the rewriter passes text deltas at {speed:,.4g} MB/s in pieces of"
        f" 64 KiB, {times:,.3g} times as fast as the same with Python's `json`, and takes"
        f" {each:,.4g} ns for one that comes by itself: `make bench-wire`."
    )


def _proxies(results: dict[str, Any]) -> str:
    content = results["side_by_side"]
    shown = side_by_side(content, lambda values, form: format(statistics.median(values), form))
    others = [name for name in content["servers"] if name not in {"direct", OURS}]
    to_others = (
        f"{statistics.median(compared(content, OURS, other)):,.3g} times those of {other}"
        for other in others
    )
    rounds = len(content["servers"]["direct"]["rounds"])
    words = _filled(
        f"Medians of {rounds} rounds of `{content['command']}`, fewer of LiteLLM. Of the events of"
        f" {content['streams']} streams this proxy passed, in the same rounds,"
        f" {', '.join(to_others)}."
    )
    return f"{shown}\n\n{words}"


def _idle(results: dict[str, Any]) -> str:
    through, direct = results["idle"]["bytes"]
    return _filled(
        f"An idle stream takes {(through - direct) / 1024:.0f} KiB, in a build without"
        f" optimisation: `{results['idle']['command']}`."
    )


def _filled(words: str) -> str:
    return textwrap.fill(words, 100, break_long_words=False, break_on_hyphens=False)


def _range(values: Sequence[float], form: str) -> str:
    return f"{min(values):{form}} to {max(values):{form}}"


QUOTES: dict[str, Callable[[dict[str, Any]], str]] = {
    "events": _events,
    "whole servers": _servers,
    "bytes": _bytes,
    "proxies": _proxies,
    "an idle stream": _idle,
}
