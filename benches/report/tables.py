"""Each part's figures as a table of Markdown: every cell a median, with the extremes."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from benches.results import spread, table
from benches.served.ratio import FIGURES, interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OURS = "this proxy"

Content = Any
"""What the part left in its file."""


def per_event(content: Content) -> str:
    """What an event costs in process, in µs of CPU."""
    rows = []
    for kind, measured in content["events"].items():
        stock, added = measured["stock"], measured["added"]
        ratios = [1 + more / less for less, more in zip(stock, added, strict=True)]
        cells = (spread(values, "+,.2f") for values in (measured["identities"], added))
        rows.append([kind, spread(stock, ".2f"), *cells, spread(ratios, ".3f")])
    return table(
        ["events", "stock, µs", "identities kept, µs more", "in all, µs more", "in all, ratio"],
        rows,
    )


def wire(content: Content, mix: str) -> str:
    """What rewriting one stream takes, in pieces of each size, in ns of CPU for an event."""
    found = [one for one in content["benchmarks"] if one["extra_info"]["mix"] == mix]
    ours = {
        one["extra_info"]["size"]: one["stats"]["median"]
        for one in found
        if one["extra_info"]["rewriter"] == "this"
    }
    rows = []
    for one in found:
        about, took = one["extra_info"], one["stats"]
        times = [1e9 * took[name] / about["frames"] for name in ("min", "median", "max")]
        speed = about["bytes"] / took["median"] / 1e6
        ratio = took["median"] / ours[about["size"]]
        rows.append(
            [about["size"], about["rewriter"], spread(times), f"{speed:,.4g}", f"{ratio:,.3g}"]
        )
    return table(["at once", "rewriter", "ns an event", "MB/s", "times this one's"], rows)


def core(content: Content) -> str:
    """What criterion measured: µs for one go, and MB/s where bytes were counted."""
    rows = []
    for one in content["benchmarks"]:
        times = [1e6 * seconds for seconds in one["seconds"]]
        speed = one["bytes"] / statistics.median(one["seconds"]) / 1e6 if one["bytes"] else None
        rows.append([one["name"], spread(times), f"{speed:,.4g}" if speed else ""])
    return table(["what", "µs", "MB/s"], rows)


def served(content: Content) -> str:
    """Whole servers: both sides, and the ratio of the pairs with its interval."""
    rows = []
    for name, title in FIGURES.items():
        on, off = ([pair[side][name] for pair in content["pairs"]] for side in ("on", "off"))
        ratios = [a / b for a, b in zip(on, off, strict=True)]
        low, high = interval(ratios)
        row = [title, spread(off), spread(on), spread(ratios, ".3f"), f"{low:.3f} to {high:.3f}"]
        rows.append(row)
    return table(["figure", "off", "on", "on / off", "95 % interval of it"], rows)


def side_by_side(content: Content, show: Callable[[Sequence[float], str], str] = spread) -> str:
    """The proxies before one server, each figure beside that of no proxy in the same round.

    Args:
        content: What was measured.
        show: How a cell shows the rounds, in which form.
    """
    servers = content["servers"]
    direct = servers["direct"]["rounds"]

    def cell(name: str, figure: Callable[[Any, Any], float], form: str) -> str:
        return show(_each(servers[name]["rounds"], direct, figure), form)

    columns: list[tuple[str, Callable[[Any, Any], float], str]] = [
        (
            f"{content['deltas']:,} deltas, one stream, ms",
            lambda one, _: 1e3 * one["one_stream"],
            ",.4g",
        ),
        ("to direct", lambda one, to: one["one_stream"] / to["one_stream"], ".2f"),
        (
            f"events/s, {content['streams']} streams",
            lambda one, _: one["events_per_second"],
            ",.0f",
        ),
        (
            "to direct",
            lambda one, to: one["events_per_second"] / to["events_per_second"],
            ".3f",
        ),
        ("CPU per event, µs", lambda one, _: 1e6 * one["cpu_per_event"], ",.1f"),
        (
            "first event, ms later",
            lambda one, to: 1e3 * (one["first_event"] - to["first_event"]),
            "+.2f",
        ),
    ]
    head = ["", *(title for title, _, _ in columns), "contract", "characters cut by chunks"]
    rows = [
        [
            name,
            *(cell(name, figure, form) for _, figure, form in columns),
            *(of["contract"], of["split"]),
        ]
        for name, of in servers.items()
    ]
    rows += [[name, why, *[""] * (len(head) - 2)] for name, why in content["missing"].items()]
    return table(head, rows)


def to_others(content: Content) -> str:
    """The events that this proxy passed, beside those that each other did in the same round."""
    rows = [
        [name, spread(compared(content, OURS, name), ",.3g")]
        for name in content["servers"]
        if OURS in content["servers"] and name not in {"direct", OURS}
    ]
    return table(["another proxy", f"events of {OURS} to those of it"], rows)


def compared(content: Content, ours: str, other: str) -> list[float]:
    """Events a second of one proxy to those of another, round by round."""
    of, to = (content["servers"][name]["rounds"] for name in (ours, other))
    return _each(of, to, lambda one, two: one["events_per_second"] / two["events_per_second"])


def _each(of: Sequence[Any], to: Sequence[Any], figure: Callable[[Any, Any], float]) -> list[float]:
    # A slow one has fewer rounds than the one it is compared to.
    return [figure(one, two) for one, two in zip(of, to, strict=False)]


def instructions(content: Content) -> str:
    """How many instructions the hot paths take."""
    rows = [[name, f"{count:,}"] for name, count in content["instructions"].items()]
    return table(["path", "instructions"], rows)
