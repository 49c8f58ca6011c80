"""An independent judge of a Responses API stream, and of what the server says of it afterwards.

Written from the identity contract alone, and sharing no code with what it judges. It trusts
nothing and repairs nothing: it reads a finished stream from the first event to the last, keeps
what was said of each item, and lists every place where something else is said. Rule names are
the contract's (C1 …), and END for how a stream ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Event = Mapping[str, Any]

ADDED = "response.output_item.added"
DONE = "response.output_item.done"
TERMINALS = frozenset({"response.completed", "response.incomplete", "response.failed"})
IDENTITY = ("type", "id", "call_id", "name", "namespace", "server_label")

# Where a piece of an item's payload is: what it is, and which part of the item holds it.
Place = tuple[str, int]

# Events that carry payload: what it is, the field that counts the parts, the field that holds it.
DELTAS: dict[str, tuple[str, str | None]] = {
    "response.output_text.delta": ("text", "content_index"),
    "response.refusal.delta": ("refusal", "content_index"),
    "response.reasoning_text.delta": ("reasoning", "content_index"),
    "response.reasoning_summary_text.delta": ("summary", "summary_index"),
    "response.function_call_arguments.delta": ("arguments", None),
    "response.mcp_call_arguments.delta": ("arguments", None),
    "response.custom_tool_call_input.delta": ("input", None),
    "response.code_interpreter_call_code.delta": ("code", None),
}
DONES: dict[str, tuple[str, str | None, str]] = {
    "response.output_text.done": ("text", "content_index", "text"),
    "response.refusal.done": ("refusal", "content_index", "refusal"),
    "response.reasoning_text.done": ("reasoning", "content_index", "text"),
    "response.reasoning_summary_text.done": ("summary", "summary_index", "text"),
    "response.function_call_arguments.done": ("arguments", None, "arguments"),
    "response.mcp_call_arguments.done": ("arguments", None, "arguments"),
    "response.custom_tool_call_input.done": ("input", None, "input"),
    "response.code_interpreter_call_code.done": ("code", None, "code"),
}
PART_DONES = {
    "response.content_part.done": "content_index",
    "response.reasoning_part.done": "content_index",
    "response.reasoning_summary_part.done": "summary_index",
}
PART_TYPES = {
    "output_text": ("text", "text"),
    "refusal": ("refusal", "refusal"),
    "reasoning_text": ("reasoning", "text"),
    "summary_text": ("summary", "text"),
}


@dataclass(frozen=True)
class Breach:
    """One breach of one rule.

    Attributes:
        rule: The rule's name.
        text: What is wrong, for a human.
        position: The index of the event that shows it; -1 for a stream that lacks something.
    """

    rule: str
    text: str
    position: int


@dataclass
class _Item:
    """What a stream has said of one item so far."""

    index: int
    announced_at: int
    identity: dict[str, Any]
    closed: bool = False
    streamed: dict[Place, str] = field(default_factory=dict)
    finished: set[Place] = field(default_factory=set)

    def label(self) -> str:
        """Name the item in a breach."""
        return f"{self.identity.get('type')} {self.identity.get('id')} at {self.index}"


def judge(events: Sequence[Event], *, first_sequence: int | None = 0) -> list[Breach]:
    """List the breaches of a finished stream.

    Args:
        events: Every event of the stream, in order.
        first_sequence: The `sequence_number` of the first event, from which they must count on
            without gaps; None when the numbers only have to increase.
    """
    found = _Judge()
    for position, event in enumerate(events):
        found.read(position, event)
    found.breaches += _sequence_breaches(events, first_sequence)
    found.breaches += _response_id_breaches(events)
    found.breaches += _end_breaches(events)
    return sorted(found.breaches, key=lambda breach: breach.position)


def judge_store(events: Sequence[Event], stored: Mapping[str, Any]) -> list[Breach]:
    """List where a stored response (C8) is not the response that the stream ended with."""
    last = len(events) - 1
    terminal = events[last].get("response") if events else None
    if not isinstance(terminal, Mapping):
        return [Breach("C8", "the stream ended without a response to compare", last)]
    return [
        Breach("C8", f"stored {name} {stored.get(name)!r}, streamed {terminal.get(name)!r}", last)
        for name in ("id", "status", "output")
        if stored.get(name) != terminal.get(name)
    ]


class _Judge:
    """Reads a stream event by event."""

    def __init__(self) -> None:
        """Start with an empty stream."""
        self.breaches: list[Breach] = []
        self.items: list[_Item] = []

    def read(self, position: int, event: Event) -> None:
        """Judge the next event by all that came before."""
        kind = event.get("type")
        if kind == ADDED:
            self._announce(position, event)
        elif kind == DONE:
            self._close(position, event)
        elif kind in TERMINALS:
            self._end(position, event)
        elif "output_index" in event or "item_id" in event:
            self._mention(position, event)

    def _breach(self, rule: str, text: str, position: int) -> None:
        self.breaches.append(Breach(rule, text, position))

    def _at(self, index: Any) -> _Item | None:
        """Return the item announced last at an index."""
        return next((item for item in reversed(self.items) if item.index == index), None)

    def _announce(self, position: int, event: Event) -> None:
        """Read an announcement: the next index (C2), and ids nobody has (C11)."""
        index, content = event.get("output_index"), event["item"]
        if self._at(index) is not None:
            self._breach("C2", f"output_index {index} announced twice", position)
        elif index != len(self.items):
            self._breach("C2", f"announced at {index}, the next is {len(self.items)}", position)
        identity = {name: content[name] for name in IDENTITY if content.get(name) is not None}
        if "id" not in identity:
            self._breach("C1", f"announced without an id at {index}", position)
        for name in ("id", "call_id"):
            known = [item.identity[name] for item in self.items if name in item.identity]
            if identity.get(name) in known:
                self._breach("C11", f"two items share the {name} {identity[name]}", position)
        self.items.append(_Item(int(index or 0), position, identity))

    def _mention(self, position: int, event: Event) -> None:
        """Read an item-scoped event: of an open item, under its id; take in its payload."""
        item = self._live(position, event)
        if item is None:
            return
        if "item_id" in event and event["item_id"] != item.identity.get("id"):
            text = f"{event['type']} for {event['item_id']}, not {item.label()}"
            self._breach("C1", text, position)
        if event.get("name") is not None:
            self._same(item, {"name": event["name"]}, ("name",), position)
        self._take_payload(item, position, event)

    def _live(self, position: int, event: Event) -> _Item | None:
        """Return the open item that an event is about; a breach (C2) when it is not open."""
        index = event.get("output_index")
        item = self._at(index)
        if item is None:
            self._breach("C2", f"{event['type']} at {index} before an announcement", position)
        elif item.closed:
            self._breach("C2", f"{event['type']} at {index} after the close", position)
        return item

    def _take_payload(self, item: _Item, position: int, event: Event) -> None:
        """Add a delta to what was streamed; compare a summing-up with it (C6)."""
        kind = event["type"]
        if kind in DELTAS:
            what, counter = DELTAS[kind]
            place = (what, event.get(counter, 0) if counter else 0)
            item.streamed[place] = item.streamed.get(place, "") + event["delta"]
        elif kind in DONES:
            what, counter, name = DONES[kind]
            place = (what, event.get(counter, 0) if counter else 0)
            item.finished.add(place)
            self._same_payload(item, {place: event[name]}, kind, position)
        elif kind in PART_DONES:
            stated = dict(_parts([event["part"]], event.get(PART_DONES[kind], 0)))
            self._same_payload(item, stated, kind, position)

    def _close(self, position: int, event: Event) -> None:
        """Read a close: of an open item, with its identity and the payload streamed."""
        item = self._live(position, event)
        if item is None:
            return
        item.closed = True
        self._same(item, event["item"], IDENTITY, position)
        self._same_whole(item, event["item"], "the close", position)
        for place in sorted(item.streamed.keys() - item.finished):
            self._breach("C6", f"deltas of {place} but no done event: {item.label()}", position)

    def _end(self, position: int, event: Event) -> None:
        """Read a terminal event: nothing open (C2), and what was streamed in its output (C4)."""
        for item in self.items:
            if not item.closed:
                self._breach("C2", f"never closed: {item.label()}", position)
        output = event["response"].get("output") or []
        for name in ("id", "call_id"):
            values = [entry[name] for entry in output if entry.get(name) is not None]
            for value in sorted({value for value in values if values.count(value) > 1}):
                self._breach("C11", f"two entries of the output share the {name} {value}", position)
        for index, entry in enumerate(output):
            announced = self._at(index)
            if announced is None:
                text = f"{entry.get('type')} {entry.get('id')} at {index} was never announced"
                self._breach("C4", text, position)
            elif entry.get("type") != announced.identity.get("type"):
                text = f"output[{index}] is a {entry.get('type')}, streamed was {announced.label()}"
                self._breach("C4", text, position)
            else:
                self._same(announced, entry, IDENTITY, position)
                self._same_whole(announced, entry, "the terminal output", position)
        for item in self.items:
            if item.index >= len(output):
                self._breach("C4", f"not in the terminal output: {item.label()}", position)

    def _same(
        self, item: _Item, mention: Mapping[str, Any], names: Sequence[str], position: int
    ) -> None:
        """Compare a mention with the identity known (C1); what was unknown is fixed by it."""
        for name in names:
            value, known = mention.get(name), item.identity.get(name)
            if known is None:
                if value is not None:
                    item.identity[name] = value
            elif value != known:
                self._breach("C1", f"{name} {value!r}, was {known!r}: {item.label()}", position)

    def _same_whole(
        self, item: _Item, content: Mapping[str, Any], where: str, position: int
    ) -> None:
        """Compare all payload of a whole item with what was streamed; missing is empty."""
        stated = dict(_payload(content))
        places = stated.keys() | item.streamed.keys()
        whole = {place: stated.get(place, "") for place in sorted(places)}
        self._same_payload(item, whole, where, position)

    def _same_payload(
        self, item: _Item, stated: Mapping[Place, str], where: str, position: int
    ) -> None:
        """Compare payload with the deltas streamed (C6).

        Generation may be cut inside a character: vLLM streams no piece of one, and sums up with
        U+FFFD for it.
        """
        for place, value in stated.items():
            streamed = item.streamed.get(place, "")
            if value not in {streamed, f"{streamed}\ufffd"}:
                text = f"{place} is {value!r} in {where}, streamed {streamed!r}: {item.label()}"
                self._breach("C6", text, position)


def _payload(content: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Yield the payload of a whole item, piece by piece."""
    yield from _parts(content.get("content") or [], 0)
    yield from _parts(content.get("summary") or [], 0)
    for name in ("arguments", "input", "code"):
        value = content.get(name)
        if isinstance(value, str):
            yield (name, 0), value


def _parts(parts: Sequence[Mapping[str, Any]], first: int) -> Iterator[tuple[Place, str]]:
    """Yield the payload of content or summary parts."""
    for offset, part in enumerate(parts):
        if part.get("type") in PART_TYPES:
            what, name = PART_TYPES[part["type"]]
            yield (what, first + offset), part.get(name) or ""


def _sequence_breaches(events: Sequence[Event], first: int | None) -> Iterator[Breach]:
    """Yield the breaches of C3."""
    if all(event.get("sequence_number") is None for event in events):
        return
    before: int | None = None if first is None else first - 1
    for position, event in enumerate(events):
        number = event.get("sequence_number")
        if number is None:
            yield Breach("C3", f"{event.get('type')} has no number in a numbered stream", position)
            continue
        if before is not None and number <= before:
            yield Breach("C3", f"sequence_number {number} after {before}", position)
        elif first is not None and before is not None and number != before + 1:
            yield Breach("C3", f"sequence_number {number} leaves a gap after {before}", position)
        before = number


def _response_id_breaches(events: Sequence[Event]) -> Iterator[Breach]:
    """Yield the breaches of C7."""
    known: Any = None
    for position, event in enumerate(events):
        response = event.get("response")
        if not isinstance(response, Mapping):
            continue
        if known is None:
            known = response.get("id")
        if response.get("id") is None or response["id"] != known:
            yield Breach("C7", f"response.id {response.get('id')!r}, was {known!r}", position)


def _end_breaches(events: Sequence[Event]) -> Iterator[Breach]:
    """Yield a breach unless the last event, and only the last, is terminal."""
    ends = [at for at, event in enumerate(events) if event.get("type") in TERMINALS]
    if not ends:
        last = events[-1].get("type") if events else "nothing"
        yield Breach("END", f"no terminal event; the last is {last}", -1)
    for at in ends:
        if at != len(events) - 1:
            yield Breach("END", f"{len(events) - 1 - at} events after {events[at]['type']}", at)
