"""What was aimed at, and whether a run met it."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

from benches.report.tables import OURS, compared
from benches.served.ratio import interval

if TYPE_CHECKING:
    from collections.abc import Iterator

DELTAS = ("text", "reasoning", "arguments")
ADDED_US = {"0.29": 0.5, "0.32": 0.2}
"""How much a delta event may cost more with the plugin, by the release of vLLM."""

CPU_RATIO = 1.01

Aim = tuple[str, str, bool]
"""What was aimed at, what was measured, whether that meets it."""


def aims(results: dict[str, Any]) -> Iterator[Aim]:
    """Every aim, with what a run says to it."""
    for content in results["per_event"]:
        yield from _delta(content)
    for content in results["served"]:
        yield from _served(content)
    yield from _proxy(results["side_by_side"])


def release(content: dict[str, Any]) -> str:
    """Which vLLM it was, without the mark of its build."""
    version: str = content["vllm"].partition("+")[0]
    return version


def in_step(content: dict[str, Any]) -> str:
    """What to add to a title where all answers have one length."""
    return ", in step" if content["in_step"] else ""


def added(content: dict[str, Any]) -> list[float]:
    """What the plugin adds to each kind of delta, in µs: medians."""
    return [statistics.median(content["events"][kind]["added"]) for kind in DELTAS]


def ratios(content: dict[str, Any], figure: str) -> list[float]:
    """A figure of whole servers, with the plugin to without, pair by pair."""
    return [pair["on"][figure] / pair["off"][figure] for pair in content["pairs"]]


def _delta(content: dict[str, Any]) -> Iterator[Aim]:
    version = release(content)
    most = max(added(content))
    limit = ADDED_US[version.rpartition(".")[0]]
    yield f"a delta event of {version}: at most {limit} µs more", f"{most:+.2f} µs", most <= limit
    yield f"a delta event of {version}: no more than without", f"{most:+.2f} µs", most <= 0


def _served(content: dict[str, Any]) -> Iterator[Aim]:
    where = f"{release(content)} on a {content['device'].upper()}{in_step(content)}"
    for figure, title, more_is_better in (
        ("tokens_per_s", "tokens a second", True),
        ("ttft_ms", "time to first token", False),
        ("itl_ms", "time between tokens", False),
    ):
        low, high = interval(ratios(content, figure))
        met = high >= 1 if more_is_better else low <= 1
        side = "above" if more_is_better else "below"
        aim = f"{where}, {title}: the interval has 1 in it or lies {side}"
        yield aim, f"{low:.3f} to {high:.3f}", met
    cpu = statistics.median(ratios(content, "cpu_s_per_1000"))
    aim = f"{where}, CPU of the API server for a token: at most {CPU_RATIO} times"
    yield aim, f"{cpu:.3f}", cpu <= CPU_RATIO


def _proxy(content: dict[str, Any]) -> Iterator[Aim]:
    if OURS not in content["servers"]:
        return
    rounds = zip(
        content["servers"][OURS]["rounds"], content["servers"]["direct"]["rounds"], strict=True
    )
    took = statistics.median(one["one_stream"] / to["one_stream"] for one, to in rounds)
    yield "the proxy, one stream: at most 1.15 times no proxy", f"{took:.2f}", took <= 1.15
    for other, least in (("nginx", 0.8), ("LiteLLM", 10)):
        if other in content["servers"]:
            ratio = statistics.median(compared(content, OURS, other))
            aim = (
                f"the proxy, {content['streams']} streams: at least {least} times {other}'s events"
            )
            yield aim, f"{ratio:,.3g}", ratio >= least
