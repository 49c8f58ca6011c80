"""Draws the timeline: a lane for each output index, the events in their order.

The events are set like music: so many to a line, and below it the next. That way a page of paper
is as wide as it needs to be.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from vllm_stable_ids.check.page.events import gap, left_out, numbers
from vllm_stable_ids.check.page.markup import Html, tag
from vllm_stable_ids.check.page.places import RESPONSE, first_told, lane_of_mark
from vllm_stable_ids.check.page.shapes import TIMES, compact, shape
from vllm_stable_ids.check.words import plural, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vllm_stable_ids.check.page.places import Lane, Places
    from vllm_stable_ids.check.page.timeline import Mark
    from vllm_stable_ids.check.verdict import Breach

COLUMNS = 20
WIDTH = 1120
LABELS = 190
WIDEST = 72
HEAD = 26
LANE = 40
CALLOUT = 18
CALLOUTS = 6
LANES_OPEN = 12
LABEL_WIDTH = 24
ID_WIDTH = 34

HELP = (
    "A lane for each output_index, events from left to right. Point at a mark, or move to it "
    "with Tab and the arrow keys, to see its frame; follow it to the list of events."
)


def chart_of(places: Places) -> Html:
    """The timeline, with a place below it for the frame under the pointer."""
    spans = _spans(places)
    parts: list[Html] = []
    for line in _lines(places):
        before = places.marks[line.start - 1] if line.start else None
        if before is not None and left_out(before, places.marks[line.start]):
            parts.append(tag("p", gap(before, places.marks[line.start]), class_="gap"))
        drawn = _Staff(places, line, spans).drawn()
        parts.append(tag("div", drawn, class_="staff"))
    panel = tag("aside", id="panel", tabindex=0, aria_label="Frame", hidden="hidden")
    return tag(
        "section",
        tag("h2", "Timeline", id="timeline"),
        tag("p", HELP, class_="help"),
        _key(),
        tag("div", *parts, id="chart"),
        panel,
        aria_labelledby="timeline",
    )


def _key() -> Html:
    """What the marks mean."""
    kinds = {
        "added": "added",
        "delta": "deltas, how many",
        "part": "other events of the item",
        "done": "done",
        "terminal": "final response",
    }
    entries = [
        tag(
            "li",
            tag(
                "svg", shape(kind, 22, 13, 2, wrong=False), viewBox="0 0 44 26", aria_hidden="true"
            ),
            text,
        )
        for kind, text in kinds.items()
    ]
    wrong = tag(
        "svg", shape("done", 22, 13, 1, wrong=True), viewBox="0 0 44 26", aria_hidden="true"
    )
    return tag("ul", *entries, tag("li", wrong, "breaks a rule"), class_="key")


def _lines(places: Places) -> Iterator[range]:
    """The positions of each line's marks."""
    start = 0
    marks = places.marks
    for position in range(1, len(marks) + 1):
        is_end = position == len(marks)
        if is_end or position - start == COLUMNS or left_out(marks[position - 1], marks[position]):
            yield range(start, position)
            start = position


def _spans(places: Places) -> dict[Lane, _Span]:
    """From where to where each lane has marks."""
    spans: dict[Lane, _Span] = {}
    for position, mark in enumerate(places.marks):
        for lane in (lane_of_mark(mark), *places.told_at_end.get(position, ())):
            first, _, done = spans.get(lane, _Span(position, position, None))
            spans[lane] = _Span(first, position, position if mark.kind == "done" else done)
    return spans


class _Span(NamedTuple):
    """Positions of a lane's marks: the first, the last, and the last that closes an item."""

    first: int
    last: int
    done: int | None


class _Staff:
    """One line of the timeline."""

    def __init__(self, places: Places, line: range, spans: dict[Lane, _Span]) -> None:
        self._places = places
        self._line = line
        self._spans = spans
        self._step = min((WIDTH - LABELS) / min(len(places.marks), COLUMNS), WIDEST)
        self._wrong: defaultdict[Lane, list[tuple[int, Breach]]] = defaultdict(list)
        self._at: defaultdict[Lane, list[int]] = defaultdict(list)
        for position in line:
            for breach in places.breaches.get(position, ()):
                self._wrong[places.lane_of(breach, places.marks[position])].append(
                    (position, breach)
                )
            told = places.told_at_end.get(position, ())
            for lane in dict.fromkeys((lane_of_mark(places.marks[position]), *told)):
                self._at[lane].append(position)

    def drawn(self) -> Html:
        marks = [self._places.marks[position] for position in self._line]
        rows: list[Html] = []
        top = HEAD
        lanes, more = self._lanes()
        for lane in lanes:
            row, height = self._row(lane, top)
            rows.append(row)
            top += height
        if more:
            text = f"and {plural(more, 'more item')} open, without events here"
            rows.append(tag("text", text, x=0, y=top + 12, class_="faint"))
            top += 20
        grid = [
            tag("line", x1=x, x2=x, y1=HEAD - 4, y2=top, class_=_grid(mark))
            for mark, x in zip(marks, map(self._x, self._line), strict=True)
        ]
        heads = [
            tag("text", f"{mark.first:,}", x=self._x(position), y=14, class_="head")
            for mark, position in zip(marks, self._line, strict=True)
        ]
        return tag(
            "svg",
            tag("g", *grid, *heads, aria_hidden="true"),
            *rows,
            viewBox=f"0 0 {WIDTH} {top + 6}",
            role="group",
            aria_label=f"Events {marks[0].first} to {marks[-1].last}",
        )

    def _x(self, position: int) -> float:
        return round(LABELS + (position - self._line.start + 0.5) * self._step, 1)

    def _lanes(self) -> tuple[list[Lane], int]:
        """The lanes that have something here, some of those that only pass, and how many more."""
        here = {*self._at, *self._wrong}
        passing = [
            lane
            for lane, span in self._spans.items()
            if lane not in here
            and lane[1] != RESPONSE
            and span.first < self._line.start
            and (span.last if span.done is None else span.done) >= self._line.stop
        ]
        return sorted({*here, *passing[:LANES_OPEN]}), max(len(passing) - LANES_OPEN, 0)

    def _row(self, lane: Lane, top: int) -> tuple[Html, int]:
        """A lane, and how high it is."""
        middle = top + LANE // 2
        wrong = self._wrong.get(lane, [])
        below = [
            (position, breach, middle + LANE // 2 + number * CALLOUT)
            for number, (position, breach) in enumerate(wrong[:CALLOUTS])
        ]
        leaders = [self._leader(position, middle, y) for position, _, y in below]
        callouts = [self._callout(*called) for called in below]
        if more := len(wrong) - CALLOUTS:
            y = middle + LANE // 2 + CALLOUTS * CALLOUT
            if more > 0:
                text = f"and {plural(more, 'more breach')}"
                callouts.append(tag("text", text, x=LABELS, y=y, class_="faint"))
        is_wrong = {position for position, _ in wrong}
        here = self._at.get(lane, [])
        marks = [
            self._mark(position, lane, middle, wrong=position in is_wrong) for position in here
        ]
        # What is wrong there is that the item is not told.
        marks += [
            shape("absent", self._x(position), middle, 1, wrong=True)
            for position in is_wrong.difference(here)
        ]
        behind = self._label(lane, middle), self._rail(lane, middle), *leaders
        row = tag("g", *behind, *callouts, *marks)
        return row, LANE + CALLOUT * min(len(wrong), CALLOUTS + 1)

    def _label(self, lane: Lane, middle: int) -> Html:
        response, index = lane
        item = self._places.items.get(lane)
        several = any(other != response for other, _ in self._spans)
        if index == RESPONSE:
            name = f"response {response}" if several else "response"
            return tag("text", name, x=0, y=middle + 4, class_="lane-name")
        told = None if item is None else first_told(item)
        name = f"{response}:{index}" if several else str(index)
        kind = "" if told is None else f" {shortened(told.type, LABEL_WIDTH - 5)}"
        told_id = "" if told is None else shortened(told.id or "no id", LABEL_WIDTH)
        return tag(
            "g",
            tag("text", name, kind, x=0, y=middle - 2, class_="lane-name"),
            tag("text", told_id, x=0, y=middle + 13, class_="lane-id"),
        )

    def _rail(self, lane: Lane, middle: int) -> Html | None:
        span = self._spans.get(lane)
        if span is None:
            return None
        if lane[1] == RESPONSE:
            return self._line_between(span.first, span.last, middle, "rail of-response")
        closed = span.last if span.done is None else span.done
        return tag(
            "g",
            self._line_between(closed, span.last, middle, "rail closed"),
            self._line_between(span.first, closed, middle, "rail"),
        )

    def _line_between(self, first: int, last: int, y: int, kind: str) -> Html | None:
        """The part of a line between two positions that lies here."""
        left = self._x(first) if first >= self._line.start else LABELS
        is_within = last < self._line.stop
        right = self._x(last) if is_within else self._x(self._line.stop - 1) + self._step / 2
        if left >= right or first >= self._line.stop:
            return None
        return tag("line", x1=left, x2=round(right, 1), y1=y, y2=y, class_=kind)

    def _mark(self, position: int, lane: Lane, middle: int, *, wrong: bool) -> Html:
        mark = self._places.marks[position]
        x = self._x(position)
        return tag(
            "a",
            tag("rect", x=x - 20, y=middle - 16, width=40, height=32, class_="target"),
            shape(mark.kind, x, middle, mark.count, wrong=wrong),
            href=f"#e{mark.first}",
            class_="mark",
            aria_label=_spoken(mark, lane, wrong=wrong),
        )

    def _leader(self, position: int, middle: int, y: int) -> Html:
        x = self._x(position)
        return tag("line", x1=x, x2=x, y1=middle, y2=y + 3, class_="leader")

    def _callout(self, position: int, breach: Breach, y: int) -> Html:
        x = self._x(position)
        is_left = x > (LABELS + WIDTH) / 2
        text = tag(
            "text",
            *_called(breach),
            x=x - 8 if is_left else x + 8,
            y=y + 4,
            text_anchor="end" if is_left else "start",
        )
        link = f"#b{self._places.number[id(breach)]}"
        return tag("a", text, href=link, class_="callout")


def _grid(mark: Mark) -> str:
    return "grid end" if mark.kind == "terminal" else "grid"


def _called(breach: Breach) -> list[Html]:
    """What a breach says in its place: the value announced and the one said, or what it is."""
    times = f" {TIMES}{breach.times:,}" if breach.times > 1 else ""
    if breach.field is None:
        return [tag("tspan", f"{breach.rule} {breach.breach.replace('_', ' ')}{times}")]
    said = shortened(breach.said or "none", ID_WIDTH)
    parts = [tag("tspan", f"{breach.rule} {breach.field} ")]
    if breach.announced is not None:
        announced = shortened(breach.announced, ID_WIDTH)
        parts += [tag("tspan", announced, class_="announced"), tag("tspan", " → ")]
    return [*parts, tag("tspan", f"{said}{times}", class_="said")]


def _spoken(mark: Mark, lane: Lane, *, wrong: bool) -> str:
    parts = [f"event {numbers(mark)}", mark.type or "not readable"]
    if mark.count > 1:
        parts.append(f"{compact(mark.count)} events")
    if lane[1] != RESPONSE:
        parts.append(f"item {lane[1]}")
    if wrong:
        parts.append("breaks a rule")
    return ", ".join(parts)
