"""Overlays the announced identity on vLLM's own event objects, one stream at a time."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from vllm_stable_ids._core import Ledger
from vllm_stable_ids.edits import Edits
from vllm_stable_ids.events import REASONING_PART
from vllm_stable_ids.log import fail_open
from vllm_stable_ids.open_item import OpenItem
from vllm_stable_ids.run import NO_RUN, Run
from vllm_stable_ids.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vllm_stable_ids.events import Event, EventClasses

TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})

ERROR_CODE = "server_error"
"""What the API calls a failure that is not the client's."""

Item = Any
"""An output item of vLLM's or OpenAI's: a pydantic model with `type` and `id`."""


def is_event(event: object) -> bool:
    """Whether `event` is one as vLLM up to 0.33 makes them."""
    return (
        isinstance(event, BaseModel)
        and isinstance(getattr(event, "type", None), str)
        and isinstance(getattr(event, "sequence_number", None), int)
    )


class Overlay:
    """What one stream's events are to carry.

    Where anything goes wrong the stream goes on as vLLM made it, with one warning (C10).

    Attributes:
        run: What holds for further events like the last one.
        held: Gives up the events that are still held back when the end is made.
        tally: What was done to the stream.
    """

    __slots__ = (
        "__weakref__",
        "_classes",
        "_edits",
        "_last",
        "_late",
        "_ledger",
        "_misfit",
        "_next_number",
        "_open",
        "_openai_vocabulary",
        "_owed",
        "_pending",
        "_response",
        "_shift",
        "_streamed",
        "held",
        "run",
        "tally",
    )

    def __init__(
        self, classes: EventClasses, *, openai_vocabulary: bool, misfit: Callable[[str], None]
    ) -> None:
        """Start the overlay of one stream.

        Args:
            classes: The event classes of the running vLLM.
            openai_vocabulary: Whether parts of reasoning text are sent as OpenAI sends them.
            misfit: Told, in a clause, in what the stream is not as this plugin knows it.
        """
        self.run = NO_RUN
        self.held: Callable[[], Sequence[Event]] = tuple
        self.tally = Tally()
        self._classes = classes
        self._edits = Edits()
        self._last: Event = None
        self._late: list[Event] = []
        self._ledger = Ledger(conventional_ids=True, openai_vocabulary=openai_vocabulary)
        self._misfit = misfit
        self._next_number = 0
        self._open: dict[int, OpenItem] = {}
        self._openai_vocabulary = openai_vocabulary
        self._owed: set[int] = set()
        self._pending: list[Event] = []
        self._response: Any = None
        self._shift = 0
        self._streamed: list[Item] = []

    @property
    def is_cut(self) -> bool:
        """Whether the stream, as far as it came, has a start and no end."""
        return not self.tally.given_up and self._response is not None and not self.tally.ended

    def dropped(self, count: int) -> bool:
        """Ask to leave out `count` events of upstream's that were not shown here.

        Returns:
            Whether they may be; not where the stream is to be as vLLM makes it.
        """
        if self.tally.given_up:
            return False
        for _ in range(count):
            self._ledger.dropped()
        self._shift = self._ledger.shift
        self.tally.changed = True
        return True

    def send(self, event: Event) -> Sequence[Event]:
        """The events to send for one of upstream's: it, and what belongs before it."""
        if self.tally.given_up:
            late, self._late = self._late, []
            return (*late, event)
        try:
            if self._last is None and not (self._classes.has(event) or is_event(event)):
                self.tally.given_up = True
                self._misfit(f"its streams are made of {type(event).__name__}, not of events")
                return (event,)
            self._last = event
            sent = self._decide(event)
            if self._edits.made or len(sent) != 1 or sent[0] is not event:
                self.tally.take(self._edits)
            return sent
        except Exception as error:  # noqa: BLE001 - the stream must go on
            self._give_up(error)
            return (event,)

    def reconcile(self, response: Any) -> None:
        """Make the output of the terminal response the list of the items streamed.

        The response is changed in place: it is the object that vLLM has put into its store and
        will send, so that all of them say the same (C8).
        """
        if self.tally.given_up:
            return
        held = self.held()
        try:
            for event in held:
                self._late += self._decide(event)
            self._reconcile(response)
            if self._edits.made:
                self.tally.take(self._edits)
        except Exception as error:  # noqa: BLE001 - the stream must go on
            self._late, self._pending = list(held), []
            self._give_up(error)

    def fail(self, last: Event, message: str) -> tuple[Sequence[Event], Any]:
        """End a stream that upstream has broken off.

        Args:
            last: Upstream's last event.
            message: What the client is told.

        Returns:
            The events that close what is open, `error` and `response.failed`; and the response
            of the latter: vLLM's as it was at the start, failed, with the items announced.

        Raises:
            Exception: The events cannot be made of this vLLM's classes.
        """
        number = self._next_number if last is self._last else last.sequence_number + 1
        events: list[Event] = []
        output = list(self._streamed)
        for slot in self._open:
            events += self._cut(slot)
            output[slot] = events[-1].item
        response = self._response.model_copy()
        response.output = [item for item in output if item is not None]
        response.status = "failed"
        response.error = {"code": ERROR_CODE, "message": message}
        events += [self._classes.error(ERROR_CODE, message), self._classes.failed(response)]
        for offset, event in enumerate(events):
            event.sequence_number = number + offset
        self.tally.ended = True
        return events, response

    def _give_up(self, error: Exception) -> None:
        self.tally.given_up = True
        self.run = NO_RUN
        self._edits.undo()
        fail_open("stable_ids: a stream goes on with vLLM's own ids", error)

    def _decide(self, event: Event) -> Sequence[Event]:
        self.run = NO_RUN
        return _DECIDED_BY.get(event.type, Overlay._mentioned)(self, event)

    def _created(self, event: Event) -> Sequence[Event]:
        self._ledger.created(event.response.id)
        self._response = event.response
        return self._numbered(event)

    def _ended(self, event: Event) -> Sequence[Event]:
        self.tally.ended = True
        late, before = self._late, self._pending
        self._late, self._pending = [], []
        return (*late, *self._numbered(event, before))

    def _added(self, event: Event) -> Sequence[Event]:
        slot, _, corrections = self._ledger.added(event.output_index, _json(event.item))
        if slot is None:
            return self._dropped(event)
        self._edits.correct(event.item, corrections, "added")
        self._streamed.append(event.item)
        self._open[slot] = OpenItem(event.output_index)
        return self._numbered(event, slot=slot)

    def _done(self, event: Event) -> Sequence[Event]:
        for unfinished in self._open.values():
            if unfinished.index == event.output_index:
                unfinished.restore(event, self._edits)
        slot, unannounced, corrections = self._ledger.done(event.output_index, _json(event.item))
        if slot is None:
            return self._dropped(event)
        self._edits.correct(event.item, corrections, "done")
        before: list[Event] = []
        if unannounced or slot in self._owed:
            *before, _ = self._built(self._ledger.whole(slot, _json(event.item)))
        if unannounced:
            self._streamed.append(event.item)
        self._owed.discard(slot)
        self._streamed[slot] = event.item
        self._open.pop(slot, None)
        return self._numbered(event, before, slot)

    def _mentioned(self, event: Event) -> Sequence[Event]:
        kind, fields = event.type, event.__dict__
        index, item_id = fields.get("output_index"), fields.get("item_id")
        text = fields.get("text")
        part_type = None
        if (part := fields.get("part")) is not None:
            part_type, text = getattr(part, "type", None), getattr(part, "text", None)
        said = fields.get("content_index")
        mention = self._ledger.mentioned(kind, part_type, index, item_id, said, text)
        if mention is None:
            return self._numbered(event)
        slot, announced, place, announcement = mention
        if slot is None:
            return self._dropped(event)
        before = self._announced(announcement, slot, index) if announcement else []
        if slot in self._owed:
            return self._dropped(event)
        if item_id != announced:
            self._edits.set(event, "item_id", announced)
        if place != said:
            self._edits.set(event, "content_index", place)
        unfinished = self._open.get(slot)
        if unfinished is not None:
            unsaid = unfinished.take_in(event, self._edits)
            if unsaid:
                before.append(self._classes.delta_before(event, slot, unsaid))
        sent = self._numbered(event, before, slot)
        if unfinished is not None and kind.endswith(".delta") and place == said:
            say = unfinished.said.append
            self.run = Run(type(event), item_id, index, announced, slot, self._shift, say)
        elif self._openai_vocabulary and kind.startswith(REASONING_PART):
            self._classes.make_content_part(event, self._edits)
        return sent

    def _built(self, events: Sequence[tuple[str, str]]) -> list[Event]:
        return [self._classes.build(kind, text) for kind, text in events]

    def _announced(self, events: Sequence[tuple[str, str]], slot: int, index: int) -> list[Event]:
        """The announcement of an item that upstream did not announce, taken in."""
        try:
            before = self._built(events)
        except ValidationError:
            # vLLM before 0.25 sums up a call that it did not announce, and closes it. Its class
            # wants a name and a call_id, which come with the close: all of it is sent then.
            self._owed.add(slot)
            self._streamed.append(None)
            return []
        for extra in before:
            if extra.type == "response.output_item.added":
                self._streamed.append(extra.item)
                self._open[slot] = OpenItem(index)
            else:
                self._open[slot].take_in(extra, self._edits)
        return before

    def _numbered(
        self, event: Event, before: Sequence[Event] = (), slot: int | None = None
    ) -> Sequence[Event]:
        """An event, numbered, after those before it; of the item in `slot` where it is of one."""
        number = event.sequence_number
        for extra in before:
            extra.sequence_number = self._ledger.inserted(number)
            self._edits.inserted.append(extra.type)
            self._shift = self._ledger.shift
        if slot is not None and event.output_index != slot:
            self._edits.set(event, "output_index", slot)
        if self._shift:
            self._edits.set(event, "sequence_number", number + self._shift)
        self._next_number = number + self._shift + 1
        return (*before, event) if before else (event,)

    def _dropped(self, event: Event) -> Sequence[Event]:
        self._ledger.dropped()
        self._shift = self._ledger.shift
        self._next_number = event.sequence_number + self._shift + 1
        return ()

    def _reconcile(self, response: Any) -> None:
        rebuilt = response.output
        sources, corrections_of, inserts = self._ledger.terminal(list(map(_json, rebuilt)))
        output = []
        for slot, source in enumerate(sources):
            if source is not None:
                item = rebuilt[source]
                self._edits.correct(item, corrections_of[slot], "terminal")
            elif slot in self._open:
                self._pending += self._cut(slot)
                item = self._pending[-1].item
            else:
                item = self._streamed[slot]
                if item is not None:
                    corrections = self._ledger.corrections(slot, _json(item))
                    self._edits.correct(item, corrections, "terminal")
            output.append(item)
        for slot, whole in inserts:
            if output[slot] is None or (sources[slot] is None and slot in self._open):
                continue
            events = self._ledger.whole(slot, _json(output[slot]))
            if not whole and slot not in self._owed:
                events = self._open[slot].rest(events)
            self._pending += self._built(events)
        output = [item for item in output if item is not None]
        if len(output) != len(rebuilt) or any(map(operator.is_not, output, rebuilt)):
            self._edits.set(response, "output", output)

    def _cut(self, slot: int) -> Sequence[Event]:
        """The events that close the open item in `slot` with what it has said."""
        unfinished = self._open[slot]
        whole = self._ledger.whole(slot, unfinished.cut(self._streamed[slot]))
        return self._built(unfinished.rest(whole))


_DECIDED_BY: dict[str, Callable[[Overlay, Event], Sequence[Event]]] = {
    "response.created": Overlay._created,
    "response.in_progress": Overlay._numbered,
    "response.output_item.added": Overlay._added,
    "response.output_item.done": Overlay._done,
    **dict.fromkeys(TERMINAL, Overlay._ended),
}
"""What decides about an event that is not one of an item's own."""


class StockOverlay(Overlay):
    """Leaves a stream as vLLM makes it."""

    __slots__ = ()

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


def _json(item: Item) -> str:
    """The item as the client will get it: pydantic does not ask its methods inside an event."""
    text: bytes = item.__pydantic_serializer__.to_json(item, by_alias=True)
    return text.decode()
