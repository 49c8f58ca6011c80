"""Tells which text a delta continues, so that deltas still make the text that they made."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from vllm_stable_ids.check.redact.exact_json import Members

if TYPE_CHECKING:
    from vllm_stable_ids.check.redact.texts import TextMask, TextMasks

CREATED = "response.created"
ADDED = "response.output_item.added"
DONE = "response.output_item.done"
PARTS = {
    "response.content_part.added",
    "response.reasoning_part.added",
    "response.reasoning_summary_part.added",
}
INDICES = ("content_index", "summary_index")


class _Item:
    """An item, with the masks of its texts by what they are and the part they belong to."""

    def __init__(self) -> None:
        self.masks: dict[tuple[str, int], TextMask] = {}
        self.parts: dict[str, int] = {}
        self.numbers = count()
        self.open: int | None = None

    def opens(self, index: str) -> int:
        """A part begins."""
        self.open = self.parts[index] = next(self.numbers)
        return self.open

    def part(self, index: str) -> int:
        """The part of an index; servers that open none may count anything."""
        found = self.parts.get(index, self.open)
        return self.opens(index) if found is None else found


class DeltaMasks:
    """Finds the mask of the text that a delta continues.

    It goes by what the server said, as the checker does: by the item's id where that was announced,
    else by the index.
    """

    def __init__(self, texts: TextMasks) -> None:
        """Begin.

        Args:
            texts: Begins the masks.
        """
        self._texts = texts
        self.begin()

    def begin(self) -> None:
        """A response begins."""
        self._by_id: dict[str, _Item] = {}
        self._by_index: dict[str, _Item] = {}
        self._last = _Item()

    def mask_of(self, event: Members, kind: str) -> TextMask | None:
        """Take note of an event of a type; returns the mask of its delta, if that is a text."""
        if kind == CREATED:
            self.begin()
        elif kind == ADDED:
            self._added(event)
        elif kind == DONE:
            self._by_index.pop(str(event.last("output_index")), None)
        subject, _, verb = kind.rpartition(".")
        if isinstance(event.last("delta"), str):
            item = self._item(event)
            place = (subject, item.part(_index(event)))
            return item.masks.setdefault(place, self._texts.begin())
        if kind in PARTS:
            self._item(event).opens(_index(event))
        elif verb == "done" and kind != DONE:
            self._item(event).open = None
        return None

    def _added(self, event: Members) -> None:
        item = self._last = _Item()
        self._by_index[str(event.last("output_index"))] = item
        announced = event.last("item")
        if isinstance(announced, Members):
            for name in ("id", "call_id"):
                named = announced.last(name)
                if isinstance(named, str) and named:
                    self._by_id[named] = item

    def _item(self, event: Members) -> _Item:
        item_id = event.last("item_id")
        if isinstance(item_id, str) and item_id in self._by_id:
            return self._by_id[item_id]
        index = event.last("output_index")
        if index is None:
            return self._last
        return self._by_index.setdefault(str(index), _Item())


def _index(event: Members) -> str:
    """Which part of its item an event is about."""
    return " ".join(str(event.last(name)) for name in INDICES)
