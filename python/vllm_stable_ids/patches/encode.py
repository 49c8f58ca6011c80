"""Writes the frames of deltas, by far most of a stream, without a serializer.

What pydantic writes for the second delta of an item is learnt, and the deltas after it are written
like it, with their own text and number. Pydantic writes all other events, as it does for vLLM's
router, and any delta that differs in any way from the one learnt from. An event of a class that was
not verified at start-up passes through vLLM's own function.
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
from vllm_stable_ids.patches.call import Call
from vllm_stable_ids.patches.patch import HookSpec, IncompatibleError, Patch
from vllm_stable_ids.vllm_names import DELTA_CLASSES, OPENAI_MODULE, ROUTER_MODULE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator

    from vllm_stable_ids.events import Event
    from vllm_stable_ids.patches.patch import Setup

FUNCTION = "_convert_stream_to_sse_events"

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


class FrameWriter:
    """Writes the frames of streams as one function of vLLM's does.

    That they are the same is verified when it is made.
    """

    def __init__(self, function: Any) -> None:
        """Compare what is written here with what vLLM's function writes.

        Args:
            function: vLLM's.

        Raises:
            IncompatibleError: They differ, or there is nothing to compare.
        """
        self._arguments: dict[str, Any] = {}
        self._plain: set[type | None] = set()
        self._serializers: dict[type[BaseModel], Any] = {}
        if hasattr(function, "__wrapped__"):
            raise IncompatibleError(f"its {FUNCTION} is wrapped by another plugin")
        samples = self._take_samples()
        frames = list(_frames(function(_stream(samples))))
        _compare(samples, frames)
        self._observe(function)
        call = Call(None, {"generator": _stream(samples)}, function)
        if list(_frames(self.write(call))) != frames:
            raise IncompatibleError(f"its {FUNCTION} does more than to write events")

    async def write(self, call: Call) -> AsyncGenerator[str]:
        """Write a stream; called in place of vLLM's function."""
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
                    _report(error)
            if frame is None:
                kind = type(event)
                if not self._is_plain(kind, event):
                    async for written in call.proceed(generator=_stream([event])):
                        yield written
                    continue
                frame = f"event: {event.type}\ndata: {event.model_dump_json(**self._arguments)}\n\n"
                # An event that stays alone is not worth learning from.
                if kind is last and encoder is not None and lessons[kind] < MOST_LESSONS:
                    lessons[kind] += 1
                    try:
                        if not (self._is_verified(kind) and encoder.learn(event, frame)):
                            lessons[kind] = MOST_LESSONS
                    except Exception as error:  # noqa: BLE001 - the stream must go on
                        encoder = None
                        _report(error)
                last = kind
            yield frame

    def _is_plain(self, kind: type, event: Any) -> bool:
        """Whether vLLM's function writes no more of such an event than its type and its JSON.

        The classes that the overlay makes of vLLM's are written alike.
        """
        return (kind in self._plain or kind.__base__ in self._plain) and "type" in event.__dict__

    def _is_verified(self, cls: Any) -> bool:
        """Whether deltas of a class are still serialized by what was compared at start-up."""
        serializer = self._serializers.get(cls)
        return (
            serializer is not None
            and cls.model_dump_json is WRITTEN_BY
            and cls.__pydantic_serializer__ is serializer
        )

    def _take_samples(self) -> list[Event]:
        """Deltas of every class there is, whose serializers are kept.

        Raises:
            IncompatibleError: There are none.
        """
        openai = importlib.import_module(OPENAI_MODULE)
        samples: list[Event] = []
        for name in DELTA_CLASSES:
            cls = getattr(openai, name, None)
            if cls is None or cls.model_dump_json is not WRITTEN_BY:
                continue
            # vLLM writes a class that has come to need other fields.
            with contextlib.suppress(ValidationError):
                samples += _samples(cls)
                self._serializers[cls] = cls.__pydantic_serializer__
        if not samples:
            raise IncompatibleError("its openai has no class of deltas that is serialized as known")
        return samples

    def _observe(self, function: Any) -> None:
        """Observe how vLLM's function writes an event of every class that it may be given.

        Stand-ins of each class record what they are asked for, and have nothing to read.

        Args:
            function: vLLM's.

        Raises:
            IncompatibleError: It does not just write their types and their JSON.
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
        frames = list(_frames(function(_stream(stand_ins))))
        if frames != plain or asked != asked[:1] * len(classes):
            raise IncompatibleError(f"its {FUNCTION} does more than to write events")
        self._plain.update(classes.values())
        self._arguments.update(asked[0])


def _report(error: Exception) -> None:
    """Report a fault of this plugin's."""
    fail_open("stable_ids: the rest of a stream is written by pydantic alone", error)


def _compare(samples: list[Event], frames: list[str]) -> None:
    """Compare what an encoder writes with what vLLM's function wrote.

    Raises:
        IncompatibleError: They differ.
    """
    if len(frames) != len(samples):
        raise IncompatibleError(
            f"its {FUNCTION} writes {len(samples)} events as {len(frames)} frames"
        )
    encoder = DeltaEncoder()
    for event, frame in zip(samples, frames, strict=True):
        ours = encoder.encode(event)
        if ours is None and not encoder.learn(event, frame):
            raise IncompatibleError(f"its {type(event).__name__} is written in another form")
        if ours not in (None, frame):
            raise IncompatibleError(f"its {type(event).__name__} is written differently")


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
        IncompatibleError: It waits.
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
    raise IncompatibleError(f"its {FUNCTION} waits for more than events")


def make_wrapper(_setup: Setup, original: Any) -> Callable[[Call], AsyncGenerator[str]]:
    """The wrapper of vLLM's function.

    Raises:
        IncompatibleError: It does not do what those tested do.
    """
    try:
        return FrameWriter(original).write
    except IncompatibleError:
        raise
    except Exception as error:
        raise IncompatibleError(f"its {FUNCTION} fails where those tested do not") from error


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
    needed_since="0.15",
    delete_when="vLLM writes deltas at less cost than this does",
    hooks=(
        HookSpec(
            module=ROUTER_MODULE,
            owner=None,
            name=FUNCTION,
            kind=inspect.isasyncgenfunction,
            parameters=("generator",),
            make_wrapper=make_wrapper,
        ),
    ),
)
