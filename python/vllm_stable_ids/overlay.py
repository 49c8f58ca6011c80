"""Overlays the announced identity on vLLM's own event objects, one stream at a time."""

from __future__ import annotations

from operator import is_not
from typing import TYPE_CHECKING, Any

from vllm_stable_ids._core import Engine
from vllm_stable_ids.events import is_event
from vllm_stable_ids.log import fail_open
from vllm_stable_ids.run import NO_RUN, Run
from vllm_stable_ids.streamed_items import StreamedItems
from vllm_stable_ids.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vllm_stable_ids.events import Event, EventClasses

FAILED = "response.failed"
TERMINAL = frozenset({"response.completed", "response.incomplete", FAILED})


class Overlay:
    """What one stream's events are to carry: a thin layer between vLLM's objects and the engine.

    Where anything goes wrong the stream goes on as vLLM made it, with one warning (C10).

    Attributes:
        classes: The event classes of the running vLLM.
        run: What holds for further events like the last one.
        held: Gives up the events that are still held back when the end is made.
        response: The response as it was at the start; `None` before.
        tally: What was done to the stream.
    """

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
        self.classes = classes
        self._engine = Engine(openai_vocabulary=openai_vocabulary)
        self._is_reconciled = False
        self._items = StreamedItems()
        self._last: Event = None
        self._late: list[Event] = []
        self._misfit = misfit
        self._next_number = 0
        self._prepared: list[Event] = []
        self.response: Any = None
        self._said: list[str] = []
        self._undo: list[tuple[dict[str, Any], str, Any]] = []

    @property
    def is_cut(self) -> bool:
        """Whether the stream, as far as it came, has a start and no end."""
        return not self.tally.given_up and self.response is not None and not self.tally.ended

    def dropped(self, count: int) -> bool:
        """Ask to leave out `count` events of upstream's that were not shown here.

        Returns:
            Whether they may be; not where the stream is to be as vLLM makes it.
        """
        if self.tally.given_up:
            return False
        self._engine.left_out(count)
        self.tally.changed = True
        return True

    def send(self, event: Event) -> Sequence[Event]:
        """The events to send for one of upstream's: it, and what belongs before it."""
        if self.tally.given_up:
            late, self._late = self._late, []
            return (*late, event)
        try:
            if self._last is None and not (self.classes.has(event) or is_event(event)):
                self.tally.given_up = True
                self._misfit(f"its streams are made of {type(event).__name__}, not of events")
                return (event,)
            self._last = event
            sent = self._ended(event) if event.type in TERMINAL else self._decide(event)
            self._undo.clear()
            return sent
        except Exception as error:  # noqa: BLE001 - the stream must go on
            return (*self._give_up(error), event)

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
            self._undo.clear()
        except Exception as error:  # noqa: BLE001 - the stream must go on
            self._late = [*self._give_up(error), *held]

    def break_off(self, last: Event) -> tuple[list[Event], list[Any], int]:
        """Close what is open: vLLM has broken off after `last`, its last event.

        Returns:
            The events that do so, all items of the stream, and the number of the next event.

        Raises:
            Exception: The events cannot be made of this vLLM's classes.
        """
        number = self._next_number if last is self._last else last.sequence_number + 1
        events = self._made(self._engine.break_off(self._flush(), self._undo))
        for event in events:
            event.sequence_number = number
            number += 1
        self._items.keep(events)
        self.tally.ended = True
        return events, self._items.all(), number

    def settle(self) -> None:
        """Count what was done to the stream; it is over."""
        self.tally.take_report(self._engine.report())

    def _decide(self, event: Event) -> Sequence[Event]:
        self.run = NO_RUN
        if self.response is None and event.type == "response.created":
            self.response = event.response
        decided = self._engine.take(event, self._flush(), self._undo)
        sent: Sequence[Event] = (event,)
        if decided is not None:
            before, is_sent, name, run = decided
            if name is not None:
                self.classes.rename(event, name, self._undo)
            if before or not is_sent:
                sent = [*self._made(before), event] if is_sent else self._made(before)
            if run is not None:
                self.run = Run(type(event), *run, self._engine.shift, self._said.append)
        if sent:
            self._items.keep(sent)
            self._next_number = sent[-1].sequence_number + 1
        return sent

    def _ended(self, event: Event) -> Sequence[Event]:
        if not self._is_reconciled:
            self._reconcile(event.response)
        self.tally.ended = True
        late, self._late = self._late, []
        return (*late, *self._decide(event))

    def _reconcile(self, response: Any) -> None:
        rebuilt = response.output
        has_failed = getattr(response, "status", None) == "failed"
        entries, inserted = self._engine.reconcile(rebuilt, self._flush(), has_failed, self._undo)
        self._is_reconciled = True
        self._prepared = [self.classes.build(kind, text) for kind, text in inserted]
        output = self._items.listed(entries, rebuilt, self._prepared, self.classes)
        if len(output) != len(rebuilt) or any(map(is_not, output, rebuilt)):
            self._undo.append((response.__dict__, "output", rebuilt))
            response.__dict__["output"] = output

    def _made(self, steps: Sequence[Any]) -> list[Event]:
        """Events that are sent besides upstream's: those that have waited, and inserted ones."""
        events = []
        for step in steps:
            event = step
            if type(step) is tuple:
                kind, text, number = step
                event = self._prepared.pop(0) if self._prepared else self.classes.build(kind, text)
                event.__dict__["sequence_number"] = number
            events.append(event)
        return events

    def _flush(self) -> str:
        """What the deltas have said that were not shown to the engine."""
        said = "".join(self._said)
        self._said.clear()
        return said

    def _give_up(self, error: Exception) -> Sequence[Event]:
        """Leave the rest as vLLM makes it; returns the events that still wait."""
        self.tally.given_up = True
        self.run = NO_RUN
        while self._undo:
            fields, name, value = self._undo.pop()
            fields[name] = value
        fail_open("stable_ids: a stream goes on with vLLM's own ids", error)
        return self._engine.give_up()
