"""Faults, each as a change to the events of a sound stream."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from bed.corpus.sound import Event

    Fault = Callable[[list[Event]], list[Event]]

ADDED = "response.output_item.added"
DONE = "response.output_item.done"
ID_FIELDS = ("id", "call_id")


def _output(events: list[Event]) -> list[dict[str, Any]]:
    """The terminal output, which ends every sound stream."""
    output: list[dict[str, Any]] = events[-1]["response"]["output"]
    return output


def _renamed(item: dict[str, Any], suffix: str) -> dict[str, Any]:
    return {name: value + suffix if name in ID_FIELDS else value for name, value in item.items()}


def the_end_has_other_ids(events: list[Event]) -> list[Event]:
    """Every item of the terminal output has ids of its own."""
    events[-1]["response"]["output"] = [_renamed(item, "_end") for item in _output(events)]
    return events


def the_close_has_other_ids(events: list[Event]) -> list[Event]:
    """An item is closed under ids that it was not announced under."""
    for event in events:
        if event["type"] == DONE:
            event["item"] = _renamed(event["item"], "_close")
    return events


def every_mention_has_an_id_of_its_own(events: list[Event]) -> list[Event]:
    """Deltas and what follows name their item by ids that nobody has heard of."""
    numbers = count()
    return [
        {**event, "item_id": f"new_{next(numbers)}"} if "item_id" in event else event
        for event in events
    ]


def mentions_have_empty_ids(events: list[Event]) -> list[Event]:
    """Deltas and what follows have an `item_id` without content."""
    return [{**event, "item_id": ""} if "item_id" in event else event for event in events]


def nothing_is_announced(events: list[Event]) -> list[Event]:
    """Items begin with their first delta."""
    return [event for event in events if event["type"] != ADDED]


def nothing_is_closed(events: list[Event]) -> list[Event]:
    """Items end with their last summing-up."""
    return [event for event in events if event["type"] != DONE]


def one_index_for_all(events: list[Event]) -> list[Event]:
    """Everything is at 0."""
    return [{**event, "output_index": 0} if "output_index" in event else event for event in events]


def a_gap_in_the_indices(events: list[Event]) -> list[Event]:
    """The first item is at 1."""
    return [
        {**event, "output_index": event["output_index"] + 1} if "output_index" in event else event
        for event in events
    ]


def parts_count_over_the_response(events: list[Event]) -> list[Event]:
    """The content part of the second item has the index 1, and so on."""
    return [
        {**event, "content_index": event["output_index"]} if "content_index" in event else event
        for event in events
    ]


def the_end_has_no_output(events: list[Event]) -> list[Event]:
    """The terminal output is empty."""
    events[-1]["response"]["output"] = []
    return events


def the_end_lacks_an_item(events: list[Event]) -> list[Event]:
    """The first item is not in the terminal output, and what follows has moved up."""
    events[-1]["response"]["output"] = _output(events)[1:]
    return events


def the_end_is_in_another_order(events: list[Event]) -> list[Event]:
    """The terminal output is reversed."""
    events[-1]["response"]["output"] = _output(events)[::-1]
    return events


def the_end_has_an_item_more(events: list[Event]) -> list[Event]:
    """A call is in the terminal output that was never streamed."""
    item = {"type": "function_call", "id": "fc_z", "call_id": "call_z", "name": "f"}
    events[-1]["response"]["output"] = [*_output(events), {**item, "arguments": "{}"}]
    return events


def all_is_announced_twice(events: list[Event]) -> list[Event]:
    """Each announcement comes once more."""
    return [event for event in events for _ in range(1 + (event["type"] == ADDED))]


def one_id_for_all(events: list[Event]) -> list[Event]:
    """Every item is called as the first."""
    first = _output(events)[0]["id"]
    for event in events:
        if "item_id" in event:
            event["item_id"] = first
        if "item" in event:
            event["item"] = {**event["item"], "id": first}
    events[-1]["response"]["output"] = [{**item, "id": first} for item in _output(events)]
    return events


def all_is_closed_twice(events: list[Event]) -> list[Event]:
    """Each close comes once more."""
    return [event for event in events for _ in range(1 + (event["type"] == DONE))]


FAULTS: dict[str, Fault] = {
    fault.__name__.replace("_", " "): fault
    for fault in (
        the_end_has_other_ids,
        the_close_has_other_ids,
        every_mention_has_an_id_of_its_own,
        mentions_have_empty_ids,
        nothing_is_announced,
        nothing_is_closed,
        one_index_for_all,
        a_gap_in_the_indices,
        parts_count_over_the_response,
        the_end_has_no_output,
        the_end_lacks_an_item,
        the_end_is_in_another_order,
        the_end_has_an_item_more,
        all_is_announced_twice,
        one_id_for_all,
        all_is_closed_twice,
    )
}
