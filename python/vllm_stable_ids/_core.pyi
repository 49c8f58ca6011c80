"""The identity contract, in Rust. One `Ledger` serves one stream of events.

Items are handed over as their JSON text. Positions (`slot`) are the `output_index` an item is
sent under, counted from 0 in order of announcement.
"""

from typing import TypedDict, final, type_check_only

__all__ = [
    "Checker",
    "DeltaEncoder",
    "Ledger",
    "SseRewriter",
    "run_proxy",
]

@type_check_only
class RewriterReport(TypedDict):
    """What a rewriter did to its stream."""

    changes: dict[str, int]
    """How often each kind of change was made."""

    repaired: dict[tuple[str, str, str], int]
    """How often fields of whole items were corrected, by (field, `added`/`done`/`terminal`, type).

    A type is one that has a conventional prefix, or `other`.
    """

    inserted: dict[str, int]
    """How many events were inserted, by type."""

    gave_up: str | None
    """Why the stream passes unchanged from some frame on; `None` while it does not."""

    limit: str | None
    """The same as a name, fit for a metric label."""

@final
class SseRewriter:
    """Rewrites the bytes of one event stream so that every item keeps its identity.

    It does no I/O and does not raise for anything a server sends. How the bytes are cut into
    pieces makes no difference to what comes out, all pieces together.
    """

    def __new__(
        cls,
        *,
        max_items: int | None = None,
        max_identity_bytes: int | None = None,
        max_frame_bytes: int | None = None,
        max_held_bytes: int | None = None,
        openai_vocabulary: bool = False,
    ) -> SseRewriter:
        """Start a stream. Beyond a limit it passes unchanged from there on.

        Args:
            max_items: Output items of one response; 4096 if left out.
            max_identity_bytes: Length of an id, name or label; 8192 if left out.
            max_frame_bytes: Length of one event; 64 MiB if left out.
            max_held_bytes: Items kept for the terminal event, together; 64 MiB if left out.
            openai_vocabulary: Send `response.reasoning_part.*`, which vLLM before 0.32 has, as the
                `response.content_part.*` that the OpenAI API has.
        """

    def feed(self, data: bytes) -> bytes:
        """Take in what has come; returns what can be sent on, whole frames only."""

    def finish(self) -> bytes:
        """End the stream; returns what was still held back, such as a cut frame."""

    def report(self) -> RewriterReport:
        """What was changed so far."""

@final
class Ledger:
    """Learns what was announced and says which identity a later mention must carry.

    Every method that takes an event's values raises `ValueError` where the stream passes a
    limit on its items or on the length of an identity; it is then to pass unchanged.
    """

    def __new__(cls, *, conventional_ids: bool, openai_vocabulary: bool) -> Ledger:
        """Start a ledger.

        Args:
            conventional_ids: Announce ids under the conventional prefix of their type.
            openai_vocabulary: Open and close parts of reasoning text by
                `response.content_part.*`, not by vLLM's `response.reasoning_part.*`.
        """

    def created(self, response_id: str | None) -> bool:
        """`response.created`; returns whether it begins a response or continues one."""

    def added(
        self, output_index: int | None, item: str
    ) -> tuple[int | None, list[tuple[str, str]], dict[str, str]]:
        """`response.output_item.added`.

        Returns:
            The `output_index` to send it under, `None` for not to send it; events to send first,
            as (type, JSON), whose sequence number is 0; and the identity fields of its item to
            replace, with their announced values.
        """

    def done(
        self, output_index: int | None, item: str
    ) -> tuple[int | None, list[tuple[str, str]], dict[str, str]]:
        """`response.output_item.done`; returns the same as `added`."""

    def mentioned(
        self,
        event_type: str,
        part_type: str | None,
        output_index: int | None,
        item_id: str | None,
        content_index: int | None,
        text: str | None,
    ) -> tuple[int | None, str, int | None, list[tuple[str, str]]] | None:
        """Any other event.

        Args:
            event_type: Its type.
            part_type: The type of its part, where it has one.
            output_index: Where it says that its item is.
            item_id: What it calls its item.
            content_index: Where in its item it says that its part is.
            text: What it sums up, where it does: its text, or that of its part.

        Returns:
            The `output_index` to send it under, `None` for not to send it; the announced id of
            its item; the `content_index` to send it under, which counts from 0 in each item; and
            events to send first, as of `added`. `None` where its type concerns no item.
        """

    def terminal(
        self, items: list[str]
    ) -> tuple[list[int | None], list[dict[str, str]], list[tuple[int, bool]]]:
        """`response.completed`, `.incomplete` or `.failed` with the output upstream rebuilt.

        Returns:
            For each slot, the position of its item in the rebuilt output, `None` for the one
            that was streamed; for each slot, the identity fields to replace of an item that was
            rebuilt; and the items to close before the event, in order, as (slot, whole). A whole
            one was never announced: it is announced and streamed, too.

        Raises:
            ValueError: Also where an element of `items` is no item.
        """

    def corrections(self, slot: int, item: str) -> dict[str, str]:
        """The identity fields of `item` to replace so that it is the one in `slot`.

        Raises:
            ValueError: `item` is no item.
        """

    def whole(self, slot: int, item: str) -> list[tuple[str, str]]:
        """The events that announce, stream and close `item`, as (type, JSON).

        Raises:
            IndexError: Nothing was announced there.
        """

    def inserted(self, before: int) -> int:
        """The sequence number for an event inserted before the one upstream numbered `before`."""

    def dropped(self) -> None:
        """Upstream's event was not sent on: what follows moves down by one."""

    @property
    def shift(self) -> int:
        """What to add to the sequence number of an event of upstream's."""

    def report(self) -> dict[str, int]:
        """How often each kind of change was made."""

@final
class Checker:
    """Judges the bytes of one event stream by the decisions of the rewriter.

    It does no I/O and does not raise for anything a server sends. How the bytes are cut into
    pieces makes no difference to the verdict.
    """

    def __new__(cls) -> Checker:
        """Start a stream."""

    def feed(self, data: bytes) -> None:
        """Take in what has come.

        Raises:
            ValueError: The stream has ended.
        """

    def finish(self) -> str:
        """End the stream; returns the verdict as JSON, `stream` of `docs/check.md`.

        It has one member more: `outcome`, which is `kept`, `broken`, `cut`, `limit` or
        `no_stream`.

        Raises:
            ValueError: The stream has ended.
        """

@final
class DeltaEncoder:
    """Writes the frames of a run of deltas like the first of it, which the server wrote.

    It writes only what it can be sure of: an event of the class of the one learnt from, whose
    fields are the same but for `delta`, a `str`, and `sequence_number`, an `int` of 64 bits.
    """

    def __new__(cls) -> DeltaEncoder:
        """Start with nothing learnt."""

    def encode(self, event: object) -> str | None:
        """The frame of `event`; `None` where it is not like the one learnt from."""

    def learn(self, event: object, frame: str) -> bool:
        """Learn that `frame` is how the server writes `event`.

        Args:
            event: A pydantic model, of a class that is written as pydantic writes it.
            frame: What the server has written.

        Returns:
            Whether that can be said of further ones; if not, nothing is learnt any more.
        """

def run_proxy(args: list[str]) -> int:
    """Run the reverse proxy until it is told to end; returns its exit status.

    Args:
        args: The name of the program, then its arguments; see `docs/proxy.md`.
    """
