"""What holds for deltas that are like the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Run(NamedTuple):
    """A run of deltas of one item, by far most of a stream: none of them needs a decision.

    Attributes:
        event_class: The class of the run's events; `None` outside a run.
        from_id: The `item_id` that upstream gives them.
        from_index: The `output_index` that upstream gives them.
        item_id: The announced id.
        slot: The `output_index` to send them under.
        shift: What to add to their sequence numbers.
        say: Takes the text of each.
    """

    event_class: type | None
    from_id: str
    from_index: int
    item_id: str
    slot: int
    shift: int
    say: Callable[[str], None]


def _nobody(_text: str) -> None:
    """Outside a run there is no text to take."""


NO_RUN = Run(None, "", 0, "", 0, 0, _nobody)
