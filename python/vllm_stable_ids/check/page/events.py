"""The list of events, each with its frame."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vllm_stable_ids.check.page.markup import Html, joined, tag
from vllm_stable_ids.check.page.places import RESPONSE, lane_of_mark
from vllm_stable_ids.check.words import plural, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vllm_stable_ids.check.page.places import Places
    from vllm_stable_ids.check.page.timeline import Mark

ALL_ENTRIES = 2_000_000
"""How long the entries may become before they go without what their events say."""

WIDTH = 40
IDENTITY = re.compile(
    r'"(?:id|item_id|call_id|type|name|output_index|content_index|sequence_number)"'
    r'\s*:\s*(?:"(?:[^"\\]|\\.)*"|\d+)'
)


def events_of(places: Places) -> Html:
    """Every mark of the timeline as an entry that opens to its frame."""
    return tag(
        "section",
        tag("h2", "Events", id="events"),
        tag("ol", *_entries(places), class_="events"),
        aria_labelledby="events",
    )


def numbers(mark: Mark) -> str:
    """The number of a mark's event, or of its first and last."""
    return str(mark.first) if mark.count == 1 else f"{mark.first} to {mark.last}"


def left_out(before: Mark | None, mark: Mark) -> int:
    """How many events there are between two marks that have no mark."""
    return mark.first - before.last - 1 if before is not None else 0


def gap(before: Mark, mark: Mark) -> str:
    """Says which events have no mark."""
    count = plural(left_out(before, mark), "event")
    return f"{count} left out here: {before.last + 1:,} to {mark.first - 1:,}"


def _entries(places: Places) -> Iterator[Html]:
    room = ALL_ENTRIES
    before = None
    for position, mark in enumerate(places.marks):
        if before is not None and left_out(before, mark):
            yield tag("li", gap(before, mark), class_="gap")
        entry = tag("li", _entry(places, position, mark, with_data=room > 0))
        room -= len(entry)
        yield entry
        before = mark


def _entry(places: Places, position: int, mark: Mark, *, with_data: bool) -> Html:
    breaches = places.breaches[position]
    _, index = lane_of_mark(mark)
    rules = sorted({breach.rule for breach in breaches})
    summary = tag(
        "summary",
        tag("span", tag("span", "event ", class_="unseen"), numbers(mark), class_="number"),
        tag("span", mark.type or "not readable", class_="type"),
        tag("span", "" if index == RESPONSE else f"item {index}", class_="lane"),
        tag("code", shortened(mark.item_id or "", WIDTH)),
        tag("span", f"breaks {', '.join(rules)}", class_="badge") if rules else None,
    )
    links = (
        tag(
            "li", tag("a", breach.rule, href=f"#b{places.number[id(breach)]}"), " ", breach.sentence
        )
        for breach in breaches
    )
    body = tag(
        "div",
        tag("p", f"Event {numbers(mark)}: {', '.join(_facts(mark))}", class_="facts"),
        tag("ul", *links, class_="broken") if breaches else None,
        *(_data(mark) if with_data else [tag("p", "What it says is left out here.")]),
        class_="frame",
        id=f"e{mark.first}",
    )
    return tag("details", summary, body, class_="is-broken" if breaches else None)


def _data(mark: Mark) -> Iterator[Html]:
    if mark.said:
        yield tag("p", "Says: ", tag("q", mark.said), class_="said")
    yield tag("pre", _highlighted(mark.data))


def _facts(mark: Mark) -> Iterator[str]:
    yield mark.type or "not readable"
    first, last = mark.numbers
    if first is not None:
        yield f"sequence_number {first}" + (f" to {last}" if mark.count > 1 else "")
    if mark.output_index is not None:
        yield f"output_index {mark.output_index}"
    if mark.count > 1:
        yield f"{mark.count:,} events like this one, of which the first is shown"


def _highlighted(data: str) -> Html:
    """A frame's data, with the fields set off that name things."""
    parts: list[str] = []
    at = 0
    for found in IDENTITY.finditer(data):
        parts += (data[at : found.start()], tag("b", found[0]))
        at = found.end()
    return joined(*parts, data[at:])
