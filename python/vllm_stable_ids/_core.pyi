"""The identity contract, in Rust: one `Engine` or `SseRewriter` serves one stream of events."""

from typing import Any, TypedDict, final, type_check_only

__all__ = [
    "Checker",
    "DeltaEncoder",
    "Engine",
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
class Engine:
    """Decides what keeps the identity contract in one stream of vLLM's events.

    An event is a pydantic model, and is changed in place. Each change is noted in a list, `undo`,
    as (fields, key, old value), so that it can be taken back. What deltas have said that were not
    shown here is handed over as `said`.

    Methods raise `ValueError` where the stream passes a limit, and what pydantic raises where an
    event is not as it should be; the stream is then to go on as vLLM makes it.
    """

    def __new__(cls, *, openai_vocabulary: bool) -> Engine:
        """Start a stream.

        Args:
            openai_vocabulary: Open and close parts of reasoning text by
                `response.content_part.*`, not by vLLM's `response.reasoning_part.*`.
        """

    def take(
        self, event: object, said: str, undo: list[Any]
    ) -> tuple[list[Any], bool, str | None, tuple[str, int, str, int] | None] | None:
        """Decide on the next event.

        Returns:
            `None` to send it. Else what to send first: events that have waited, and as (type,
            JSON, number) events to insert; whether to send the event; the type to send it under,
            where that is another; and for a delta, what further ones like it have and are to have
            for `item_id` and `output_index`, where they need not be shown here.
        """

    def reconcile(
        self, items: list[Any], said: str, failed: bool, undo: list[Any]
    ) -> tuple[list[tuple[int | None, tuple[int, str] | None]], list[tuple[str, str]]]:
        """Decide on the terminal output, whose items are changed in place.

        Returns:
            For each entry to send, the position in `items`, or the item as it was streamed:
            its `output_index` and its JSON. And the events to insert before the terminal event,
            as (type, JSON); `take` gives them their numbers.
        """

    def break_off(self, said: str, undo: list[Any]) -> list[Any]:
        """Close what is open, as unfinished; returns what to send, as `take` does."""

    def give_up(self) -> list[Any]:
        """The events that wait, in order; from now on none does.

        The last decision was not carried out: `report` has nothing of it.
        """

    def left_out(self, count: int) -> None:
        """So many events of the server's are neither shown here nor sent."""

    @property
    def shift(self) -> int:
        """What to add to the sequence number of an event that is not shown here."""

    def report(self) -> RewriterReport:
        """What was changed so far."""

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
