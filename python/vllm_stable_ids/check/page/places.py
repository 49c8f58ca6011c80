"""Where in the page a thing is told: which mark an event is in, and which lane an item has."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vllm_stable_ids.check.page.timeline import Mark
    from vllm_stable_ids.check.verdict import Breach, Item, Stream, Told

Lane = tuple[int, int]
"""A response, counted from 1, and an `output_index` of it; `RESPONSE` is the response itself."""

RESPONSE = -1


class Places:
    """Brings together what the core found and what the timeline took in."""

    def __init__(self, marks: Sequence[Mark], stream: Stream) -> None:
        """Sort what was found by where it is shown.

        Args:
            marks: The timeline.
            stream: What the core found.
        """
        self.marks = marks
        self.items: dict[Lane, Item] = {}
        self.told_at_end: defaultdict[int, list[Lane]] = defaultdict(list)
        self.breaches: defaultdict[int, list[Breach]] = defaultdict(list)
        self.number = {id(breach): number for number, breach in enumerate(stream.breaches, 1)}
        self._starts = [mark.first for mark in marks]
        self._lanes = {(item.response, item.output_index): _lane(item) for item in stream.items}
        for item in stream.items:
            lane = _lane(item)
            self.items.setdefault(lane, item)
            if item.terminal is not None and (at := self.position(item.terminal.event)) is not None:
                self.told_at_end[at].append(lane)
        for breach in stream.breaches:
            if (at := self.position(breach.event)) is not None:
                self.breaches[at].append(breach)

    def position(self, event: int) -> int | None:
        """Which mark has the event; `None` where it was left out."""
        at = bisect_right(self._starts, event) - 1
        return at if at >= 0 and event <= self.marks[at].last else None

    def link(self, event: int) -> str | None:
        """The address of an event in the page."""
        at = self.position(event)
        return None if at is None else f"#e{self.marks[at].first}"

    def lane_of(self, breach: Breach, mark: Mark) -> Lane:
        """The lane in which a breach is drawn that an event of this mark shows."""
        if breach.output_index is None:
            return lane_of_mark(mark)
        place = breach.response, breach.output_index
        return self._lanes.get(place, place)


def lane_of_mark(mark: Mark) -> Lane:
    """The lane in which a mark is drawn."""
    if mark.output_index is None or mark.kind in {"response", "terminal", "error"}:
        return mark.response, RESPONSE
    return mark.response, mark.output_index


def first_told(item: Item) -> Told | None:
    """The first time that an item is told of as a whole."""
    return item.added or item.done or item.terminal


def _lane(item: Item) -> Lane:
    """An item's lane is that of the index it was announced under."""
    told = item.added or item.done
    index = item.output_index if told is None or told.output_index is None else told.output_index
    return item.response, index
