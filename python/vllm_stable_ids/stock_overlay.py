"""Stands in for the overlay of a stream where none can be made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_stable_ids.overlay import Overlay
from vllm_stable_ids.run import NO_RUN
from vllm_stable_ids.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vllm_stable_ids.events import Event


class StockOverlay(Overlay):
    """Leaves a stream as vLLM makes it."""

    def __init__(self) -> None:
        """Start, and do nothing more."""
        self.run = NO_RUN
        self.held = tuple
        self.tally = Tally()
        self.tally.given_up = True

    def dropped(self, count: int) -> bool:  # noqa: ARG002 - none may be
        """Whether events may be left out: no."""
        return False

    def send(self, event: Event) -> Sequence[Event]:
        """The event."""
        return (event,)

    def settle(self) -> None:
        """Nothing was done."""
