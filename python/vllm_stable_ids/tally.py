"""What was done to one stream, for the metrics."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vllm_stable_ids._core import RewriterReport


class Tally:
    """Counts what was done to one stream.

    Attributes:
        broken_off: Whether the server failed, or stopped, before the end.
        changed: Whether anything was sent otherwise than the server made it.
        ended: Whether the server brought the stream to its end.
        given_up: Whether a fault of ours left it, or the rest of it, as the server made it.
        inserted: How many events of a type were inserted.
        repaired: How often a field was corrected, by (field, event, item type).
    """

    __slots__ = ("broken_off", "changed", "ended", "given_up", "inserted", "repaired")

    def __init__(self) -> None:
        """Start with nothing done."""
        self.broken_off = False
        self.changed = False
        self.ended = False
        self.given_up = False
        self.inserted: defaultdict[str, int] = defaultdict(int)
        self.repaired: defaultdict[tuple[str, str, str], int] = defaultdict(int)

    def take_report(self, report: RewriterReport) -> None:
        """Count what a rewriter reports of its stream."""
        self.changed |= any(report["changes"].values())
        self.given_up |= report["limit"] is not None
        for kind, count in report["inserted"].items():
            self.inserted[kind] += count
        for field, count in report["repaired"].items():
            self.repaired[field] += count

    @property
    def outcome(self) -> str:
        """What became of the stream, as a metric label."""
        if self.given_up:
            return "failed_open"
        if self.broken_off:
            return "generation_failed"
        if not self.ended:
            return "cancelled"
        return "repaired" if self.changed else "unchanged"
