"""The items of one stream as they were sent: objects that the end of the stream lists again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from vllm_stable_ids.events import Event, EventClasses

ADDED = "response.output_item.added"
DONE = "response.output_item.done"

Item = Any
"""An output item of vLLM's or OpenAI's: a pydantic model with `type` and `id`."""

ListedEntry = tuple[int | None, tuple[int, str] | None]
"""A position in vLLM's output, or the `output_index` and the JSON of an item that was streamed."""


class StreamedItems:
    """Keeps each item as it was announced, then as it was closed."""

    __slots__ = ("_announced", "_closed")

    def __init__(self) -> None:
        """Start with no item."""
        self._announced: dict[int, Item] = {}
        self._closed: dict[int, Item] = {}

    def keep(self, events: Iterable[Event]) -> None:
        """Keep the items of events that are sent."""
        for event in events:
            if event.type == ADDED:
                self._announced[event.output_index] = event.item
            elif event.type == DONE:
                self._closed[event.output_index] = event.item

    def all(self) -> list[Item]:
        """Every item, in order."""
        items = {**self._announced, **self._closed}
        return [items[index] for index in sorted(items)]

    def listed(
        self,
        entries: Sequence[ListedEntry],
        rebuilt: Sequence[Item],
        inserted: Iterable[Event],
        classes: EventClasses,
    ) -> list[Item]:
        """The terminal output.

        Args:
            entries: What to list, as the engine says.
            rebuilt: The output as vLLM has made it.
            inserted: The events that are sent before the terminal event; the items that they
                close are theirs.
            classes: The event classes of the running vLLM.
        """
        closed = {event.output_index: event.item for event in inserted if event.type == DONE}
        closed = {**self._closed, **closed}
        output = []
        for position, streamed in entries:
            if position is not None:
                output.append(rebuilt[position])
            elif streamed is not None:
                index, text = streamed
                output.append(closed[index] if index in closed else classes.item(text))
        return output
