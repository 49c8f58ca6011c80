"""The frames of deltas, by far most of a stream, without a serializer.

What vLLM's router writes for the second delta of an item is learnt, and the deltas after it are
written like it, with their own text and number. All other events pass through vLLM's function,
and so does any delta that is in any way not like the one learnt from.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections import Counter
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError

from vllm_stable_ids._core import DeltaEncoder
from vllm_stable_ids.log import fail_open
from vllm_stable_ids.patches.seam import Call, Method, MisfitError, Patch
from vllm_stable_ids.plugin import ROUTER_MODULE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator

    from vllm_stable_ids.events import Event

FUNCTION = "_convert_stream_to_sse_events"

CLASSES = (
    "ResponseTextDeltaEvent",
    "ResponseReasoningTextDeltaEvent",
    "ResponseReasoningSummaryTextDeltaEvent",
    "ResponseRefusalDeltaEvent",
    "ResponseFunctionCallArgumentsDeltaEvent",
    "ResponseMcpCallArgumentsDeltaEvent",
    "ResponseCodeInterpreterCallCodeDeltaEvent",
    "ResponseCustomToolCallInputDeltaEvent",
)
"""OpenAI's classes of deltas that are text; vLLM has none of its own."""

WRITTEN_BY = BaseModel.model_dump_json
"""What writes an event in vLLM's function, unless something else got in between."""

SAMPLE_TEXTS = (" word", "", "".join(map(chr, range(0x23))) + "\\/", "\x7f é\u2028\ufeff😀")
SAMPLE_NUMBERS = (7, 0, 2**63 - 1, -(2**63))
SAMPLE_FIELDS: dict[str, Any] = {
    "item_id": 'msg_"0"',
    "output_index": 1,
    "content_index": 0,
    "summary_index": 2,
    "logprobs": [],
}

MOST_LESSONS = 64
"""How often a stream's deltas of one class are learnt from; once for an item is enough."""

_proven: list[tuple[type[BaseModel], Any]] = []
"""Classes whose frames are written as vLLM does, with the serializers that was seen with."""


async def _encode(call: Call) -> AsyncGenerator[str]:
    events = aiter(call.arguments["generator"])
    source = _Source(events)
    own = aiter(call.proceed(generator=source))
    write = own.__anext__
    encoder = _open()
    last: type | None = None
    # Learning costs more than writing: where it never pays, it is given up.
    lessons: Counter[type] = Counter()
    try:
        async for event in events:
            try:
                frame = encoder.encode(event)
            except Exception as error:  # noqa: BLE001 - the stream must go on
                encoder, frame = _give_up(error), None
            if frame is None:
                source.given.append(event)
                try:
                    frame = await write()
                except StopAsyncIteration:
                    return
                kind = type(event)
                # An event that stays alone is not worth learning from.
                if kind is last and lessons[kind] < MOST_LESSONS:
                    lessons[kind] += 1
                    try:
                        if not encoder.learn(event, frame):
                            lessons[kind] = MOST_LESSONS
                    except Exception as error:  # noqa: BLE001 - the stream must go on
                        encoder = _give_up(error)
                last = kind
            yield frame
        source.ended = True
        async for frame in own:
            yield frame
    finally:
        if (aclose := getattr(own, "aclose", None)) is not None:
            await aclose()


class _Source:
    """The stream as vLLM's function sees it: the events that it is given to write.

    Attributes:
        given: An event that was read already.
        ended: Whether there are no more.
    """

    __slots__ = ("_events", "ended", "given")

    def __init__(self, events: AsyncIterator[Event]) -> None:
        self._events = events
        self.given: list[Event] = []
        self.ended = False

    def __aiter__(self) -> _Source:
        return self

    async def __anext__(self) -> Event:
        if self.given:
            return self.given.pop()
        if self.ended:
            raise StopAsyncIteration
        # It wants another event before it writes this one.
        return await anext(self._events)


def _open() -> DeltaEncoder:
    """The encoder of one stream, for the classes that are still as they were when proven."""
    return DeltaEncoder(
        [
            cls
            for cls, serializer in _proven
            if cls.model_dump_json is WRITTEN_BY and cls.__pydantic_serializer__ is serializer
        ]
    )


def _give_up(error: Exception) -> DeltaEncoder:
    """Report that something of ours failed; returns an encoder that writes nothing."""
    fail_open("stable_ids: the rest of a stream is written by vLLM alone", error)
    return DeltaEncoder([])


def prove(function: Any) -> None:
    """Compare what is written here with what vLLM's function writes.

    Args:
        function: vLLM's.

    Raises:
        MisfitError: They differ, or there is nothing to compare.
    """
    if hasattr(function, "__wrapped__"):
        raise MisfitError(f"its {FUNCTION} is wrapped by another plugin")
    openai = importlib.import_module("openai.types.responses")
    _proven.clear()
    samples: list[Event] = []
    for name in CLASSES:
        cls = getattr(openai, name, None)
        if cls is None or cls.model_dump_json is not WRITTEN_BY:
            continue
        # A class that has come to need more is vLLM's to write.
        with contextlib.suppress(ValidationError):
            samples += _samples(cls)
            _proven.append((cls, cls.__pydantic_serializer__))
    theirs = list(_frames(function(_stream(samples))))
    if len(theirs) != len(samples):
        raise MisfitError(f"its {FUNCTION} writes {len(samples)} events as {len(theirs)} frames")
    encoder = _open()
    for event, frame in zip(samples, theirs, strict=True):
        ours = encoder.encode(event)
        if ours is None and not encoder.learn(event, frame):
            raise MisfitError(f"its {type(event).__name__} is written in another form")
        if ours not in (None, frame):
            raise MisfitError(f"its {type(event).__name__} is written differently")
    if not samples:
        raise MisfitError("its openai has no class of deltas that is written as known")
    call = Call(None, {"generator": _stream(samples)}, function)
    if list(_frames(_encode(call))) != theirs:
        raise MisfitError(f"its {FUNCTION} does more than to write events")


def _samples(cls: Any) -> Iterator[Event]:
    """Events of a class.

    Raises:
        ValidationError: The class has fields that are not known here.
    """
    (kind,) = get_args(cls.model_fields["type"].annotation)
    fields = {name: value for name, value in SAMPLE_FIELDS.items() if name in cls.model_fields}
    for text, number in zip(SAMPLE_TEXTS, SAMPLE_NUMBERS, strict=True):
        yield cls(type=kind, delta=text, sequence_number=number, **fields)


async def _stream(events: list[Event]) -> AsyncGenerator[Event]:
    for event in events:
        yield event


def _frames(stream: Any) -> Iterator[str]:
    """What a stream that never waits has, outside of any event loop.

    Raises:
        MisfitError: It waits.
    """
    while (frame := _next(stream)) is not None:
        yield frame


def _next(stream: Any) -> str | None:
    try:
        anext(stream).__await__().send(None)
    except StopIteration as step:
        frame: str = step.value
        return frame
    except StopAsyncIteration:
        return None
    raise MisfitError(f"its {FUNCTION} waits for more than events")


METHOD = Method(
    owner=ROUTER_MODULE,
    name=FUNCTION,
    parameters=("generator",),
    fits=inspect.isasyncgenfunction,
    wrapper=_encode,
    proof=prove,
)

PATCH = Patch(
    name="encode",
    what=(
        "Writes the deltas of an item natively from the third on, byte for byte as vLLM does; "
        "with any doubt vLLM writes them."
    ),
    why=(
        "Nothing goes wrong. Keeping identities costs time with every token; the serializer "
        "costs more, and this gives it back."
    ),
    upstream=(),
    versions="0.15 to 0.33",
    delete_when="vLLM writes deltas at less cost than this does",
    not_needed=lambda _module, _settings: None,
    function=METHOD,
)
