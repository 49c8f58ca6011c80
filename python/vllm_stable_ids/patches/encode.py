"""The frames of deltas, by far most of a stream, without a serializer.

What pydantic writes for the second delta of an item is learnt, and the deltas after it are written
like it, with their own text and number. All other events are written by pydantic, as vLLM's router
has them written, and so is any delta that is in any way not like the one learnt from. What is no
event of a class that was there when that was proven passes through vLLM's function.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections import defaultdict
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError

from vllm_stable_ids._core import DeltaEncoder
from vllm_stable_ids.events import by_type
from vllm_stable_ids.log import fail_open
from vllm_stable_ids.patches.seam import Call, Method, MisfitError, Patch
from vllm_stable_ids.plugin import ROUTER_MODULE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

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

JSON_OF_STAND_IN = '{"an": "event"}'

MOST_LESSONS = 64
"""How often a stream's deltas of one class are learnt from; once for an item is enough."""

_plain: set[type | None] = set()
"""Classes of events of which vLLM's function was seen to write type and JSON, and no more."""

_arguments: dict[str, Any] = {}
"""What it asks for their JSON with."""

_proven: dict[type[BaseModel], Any] = {}
"""Classes of deltas that are written natively as by it, with the serializers it was seen with."""


async def _encode(call: Call) -> AsyncGenerator[str]:
    encoder: DeltaEncoder | None = DeltaEncoder()
    last: type | None = None
    # Learning costs more than writing: where it never pays, it is given up.
    lessons: defaultdict[type, int] = defaultdict(int)
    async for event in call.arguments["generator"]:
        frame = None
        if encoder is not None:
            try:
                frame = encoder.encode(event)
            except Exception as error:  # noqa: BLE001 - the stream must go on
                encoder = None
                _tell(error)
        if frame is None:
            kind = type(event)
            if not _is_plain(kind, event):
                async for written in call.proceed(generator=_stream([event])):
                    yield written
                continue
            frame = f"event: {event.type}\ndata: {event.model_dump_json(**_arguments)}\n\n"
            # An event that stays alone is not worth learning from.
            if kind is last and encoder is not None and lessons[kind] < MOST_LESSONS:
                lessons[kind] += 1
                try:
                    if not (_is_as_proven(kind) and encoder.learn(event, frame)):
                        lessons[kind] = MOST_LESSONS
                except Exception as error:  # noqa: BLE001 - the stream must go on
                    encoder = None
                    _tell(error)
            last = kind
        yield frame


def _is_plain(kind: type, event: Any) -> bool:
    """Whether an event is one that vLLM's function just writes, or is made from one here."""
    return (kind in _plain or kind.__base__ in _plain) and "type" in event.__dict__


def _is_as_proven(cls: Any) -> bool:
    """Whether a class was proven, and its events are still written by what was seen then."""
    serializer = _proven.get(cls)
    return (
        serializer is not None
        and cls.model_dump_json is WRITTEN_BY
        and cls.__pydantic_serializer__ is serializer
    )


def _tell(error: Exception) -> None:
    """Report that something of ours failed."""
    fail_open("stable_ids: the rest of a stream is written by pydantic alone", error)


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
            _proven[cls] = cls.__pydantic_serializer__
    theirs = list(_frames(function(_stream(samples))))
    if len(theirs) != len(samples):
        raise MisfitError(f"its {FUNCTION} writes {len(samples)} events as {len(theirs)} frames")
    encoder = DeltaEncoder()
    for event, frame in zip(samples, theirs, strict=True):
        ours = encoder.encode(event)
        if ours is None and not encoder.learn(event, frame):
            raise MisfitError(f"its {type(event).__name__} is written in another form")
        if ours not in (None, frame):
            raise MisfitError(f"its {type(event).__name__} is written differently")
    if not samples:
        raise MisfitError("its openai has no class of deltas that is written as known")
    _see_plain(function)
    call = Call(None, {"generator": _stream(samples)}, function)
    if list(_frames(_encode(call))) != theirs:
        raise MisfitError(f"its {FUNCTION} does more than to write events")


def _see_plain(function: Any) -> None:
    """See how vLLM's function writes an event of any class that it can be given.

    Stand-ins of each class tell what they are asked for, and have nothing that could be read.

    Args:
        function: vLLM's.

    Raises:
        MisfitError: It does not just write their types and their JSON.
    """
    asked: list[dict[str, Any]] = []

    def model_dump_json(**arguments: Any) -> str:
        asked.append(arguments)
        return JSON_OF_STAND_IN

    classes = by_type()
    stand_ins = []
    for event_type, cls in classes.items():
        stand_ins.append(cls.__new__(cls))
        stand_ins[-1].__dict__.update(type=event_type, model_dump_json=model_dump_json)
    plain = [f"event: {event_type}\ndata: {JSON_OF_STAND_IN}\n\n" for event_type in classes]
    if list(_frames(function(_stream(stand_ins)))) != plain or asked != asked[:1] * len(classes):
        raise MisfitError(f"its {FUNCTION} does more than to write events")
    _plain.clear()
    _plain.update(classes.values())
    _arguments.clear()
    _arguments.update(asked[0])


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
        "with any doubt they are written as without it."
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
