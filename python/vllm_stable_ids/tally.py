"""What was done to one stream, for the metrics."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vllm_stable_ids._core import RewriterReport
    from vllm_stable_ids.edits import Edits


class Tally:
    """Counts what was done to one stream; no delta of a run comes here.

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
        self.inserted: Counter[str] = Counter()
        self.repaired: Counter[tuple[str, str, str]] = Counter()

    def take(self, edits: Edits, *, as_it_came: bool = True) -> None:
        """Count changes that stand.

        Args:
            edits: The changes.
            as_it_came: Whether upstream's own event is sent, and nothing else.
        """
        self.changed = self.changed or not as_it_came or edits.made_any
        # Nearly always there is none, and for that `update` takes long.
        if edits.inserted:
            self.inserted.update(edits.inserted)
        if edits.repaired:
            self.repaired.update(edits.repaired)

    def take_report(self, report: RewriterReport) -> None:
        """Count what a rewriter reports of its stream."""
        self.changed = any(report["changes"].values())
        self.given_up = report["limit"] is not None
        self.inserted.update(report["inserted"])
        self.repaired.update(report["repaired"])

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
