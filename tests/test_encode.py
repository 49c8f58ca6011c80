"""Frames of deltas that the plugin writes are, byte for byte, those that vLLM writes."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bed import client
from bed.cases import case, cases_of
from bed.deltas import CLASSES, STOCK, event, frames, stream
from bed.judge import judge
from vllm_stable_ids._core import DeltaEncoder
from vllm_stable_ids.patches import encode
from vllm_stable_ids.patches.call import Call

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from bed.models import ModelPath
    from bed.server import VllmServer


WRITER = encode.FrameWriter(STOCK)


def changed(made: Any, **values: Any) -> Any:
    """The event with fields set as vLLM could not: without being checked."""
    made.__dict__.update(values)
    return made


def ours(events: list[Any], write: Any = STOCK) -> AsyncGenerator[str]:
    """What the plugin makes of events where vLLM's function is `write`."""
    return WRITER.write(Call(None, {"generator": stream(events)}, write))


class Noting:
    """An encoder that notes what it writes."""

    def __init__(self, written: list[Any]) -> None:
        """Note it in `written`."""
        encoder = DeltaEncoder()
        self._encode, self.learn = encoder.encode, encoder.learn
        self._written = written

    def encode(self, made: Any) -> str | None:
        """Write an event, or not."""
        frame = self._encode(made)
        if frame is not None:
            self._written.append(made)
        return frame


@pytest.fixture
def native(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The events that were written natively."""
    written: list[Any] = []
    monkeypatch.setattr(encode, "DeltaEncoder", lambda: Noting(written))
    return written


any_text = st.text(st.characters(exclude_categories=()))
escaped_text = st.text(st.sampled_from([*map(chr, range(0x23)), "\\", "/", "\x7f", "\u2028", "a"]))
texts = st.one_of(st.just(" word"), st.text(), escaped_text, any_text, st.text(min_size=100))
numbers = st.one_of(
    st.integers(0, 9), st.integers(), st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1])
)


class Text(str):
    """A string that is not only one."""

    __slots__ = ()


LOGPROB = {"token": "a", "logprob": -0.1, "top_logprobs": []}

TWISTS: dict[str, Callable[[Any, str], Any]] = {
    "an extra field": lambda made, text: type(made)(**dict(made) | {"obfuscation": text}),
    "a field more": lambda made, text: changed(made, obfuscation=text),
    "another id": lambda made, text: changed(made, item_id=text),
    "an id of another kind": lambda made, text: changed(made, item_id=Text(text)),
    "no id": lambda made, _text: changed(made, item_id=None),
    "another index": lambda made, text: changed(made, output_index=len(text)),
    "an equal index": lambda made, _text: changed(made, output_index=False),
    "an index with a point": lambda made, _text: changed(made, output_index=0.0),
    "text of another kind": lambda made, text: changed(made, delta=Text(text)),
    "no text": lambda made, _text: changed(made, delta=None),
    "text as bytes": lambda made, text: changed(made, delta=text.encode("utf-8", "replace")),
    "a true number": lambda made, _text: changed(made, sequence_number=True),
    "a number with a point": lambda made, _text: changed(made, sequence_number=1.5),
    "no number": lambda made, _text: changed(made, sequence_number=None),
    "another order": lambda made, _text: _reordered(made),
    "a field less": lambda made, _text: _without(made, "output_index"),
    "no fields": lambda made, _text: _without(made, *dict(made)),
    "a subclass": lambda made, _text: type("Sub", (type(made),), {})(**dict(made)),
    "probabilities": lambda made, text: changed(made, logprobs=[LOGPROB] * (len(text) % 3)),
    "no probabilities": lambda made, _text: changed(made, logprobs=None),
    "no list of probabilities": lambda made, _text: changed(made, logprobs=()),
    "another type": lambda made, text: changed(made, type=text),
    "no event": lambda _made, text: SimpleNamespace(type=text),
    "no type": lambda _made, _text: object(),
}


def _reordered(made: Any) -> Any:
    fields = dict(reversed(made.__dict__.items()))
    made.__dict__.clear()
    return changed(made, **fields)


def _without(made: Any, *names: str) -> Any:
    for name in names:
        made.__dict__.pop(name, None)
    return made


@st.composite
def streams(draw: st.DrawFn) -> list[Any]:
    """Runs of deltas, some of them with something unexpected about them."""
    events: list[Any] = []
    for _ in range(draw(st.integers(1, 4))):
        cls = draw(st.sampled_from(CLASSES))
        fields: dict[str, Any] = {
            "item_id": draw(st.text()),
            "output_index": draw(st.integers(-3, 2**40)),
        }
        for _ in range(draw(st.integers(1, 6))):
            made = event(
                cls, number=0, **{k: v for k, v in fields.items() if k in cls.model_fields}
            )
            changed(made, delta=draw(texts), sequence_number=draw(numbers))
            if draw(st.integers(0, 4)) == 0:
                made = TWISTS[draw(st.sampled_from(sorted(TWISTS)))](made, draw(texts))
            events.append(made)
    return events


@settings(max_examples=300, deadline=None)
@given(events=streams())
async def test_any_stream_is_written_as_vllm_writes_it(events: list[Any]) -> None:
    assert await frames(ours(events)) == await frames(STOCK(stream(events)))


@pytest.mark.parametrize("twist", TWISTS)
@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
async def test_one_odd_event_in_a_run_is_written_as_vllm_writes_it(cls: Any, twist: str) -> None:
    events = [event(cls, f"{number}", number) for number in range(9)]
    events[4] = TWISTS[twist](events[4], "odd")
    wanted = await frames(STOCK(stream(events)))
    assert await frames(ours(events)) == wanted
    assert len(wanted) in (5, 9)


@pytest.mark.parametrize("text", ["\ud800", "a\udfff", "\udc80" * 40])
async def test_half_a_surrogate_pair_fails_as_it_does_in_vllm(text: str) -> None:
    events = [changed(event(CLASSES[0]), delta=each) for each in ("a", "b", "c", text, "d")]
    told = await frames(ours(events))
    assert told == await frames(STOCK(stream(events)))
    assert len(told) == 4
    assert "Error" in told[-1]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
async def test_a_run_is_written_natively_from_its_third_delta_on(
    cls: Any, native: list[Any]
) -> None:
    events = [event(cls, f"{number}é\n", number) for number in range(50)]
    assert await frames(ours(events)) == await frames(STOCK(stream(events)))
    assert native == events[2:]


async def test_what_stands_alone_is_not_learnt_from(native: list[Any]) -> None:
    events = [event(cls, "alone") for cls in CLASSES] * 2
    assert await frames(ours(events)) == await frames(STOCK(stream(events)))
    assert native == []


async def test_a_class_that_something_else_writes_is_left_to_it(
    monkeypatch: pytest.MonkeyPatch, native: list[Any]
) -> None:
    cls = CLASSES[0]
    monkeypatch.setattr(cls, "model_dump_json", lambda self, **_: f'{{"delta":"{self.delta}"}}')
    events = [event(cls, "text") for _ in range(5)]
    written = await frames(ours(events))
    assert written == [f'event: {events[0].type}\ndata: {{"delta":"text"}}\n\n'] * 5
    assert native == []


async def test_a_class_with_another_serializer_is_left_to_it(
    monkeypatch: pytest.MonkeyPatch, native: list[Any]
) -> None:
    cls = CLASSES[0]
    other: Any = type("Other", (cls,), {})
    monkeypatch.setattr(cls, "__pydantic_serializer__", other.__pydantic_serializer__)
    events = [event(cls, f"{number}", number) for number in range(5)]
    assert await frames(ours(events)) == await frames(STOCK(stream(events)))
    assert native == []


async def test_what_is_no_event_of_a_known_class_is_left_to_vllm() -> None:
    asked: list[Any] = []

    async def write(generator: AsyncGenerator[Any]) -> AsyncGenerator[str]:
        async for made in generator:
            asked.append(made)
            yield "data: of another kind\n\n"

    odd = SimpleNamespace(type="response.output_text.delta", delta="text")
    events = [event(CLASSES[0], f"{number}", number) for number in range(6)]
    written = await frames(ours([*events[:4], odd, *events[4:]], write))
    assert asked == [odd]
    assert written.pop(4) == "data: of another kind\n\n"
    assert written == await frames(STOCK(stream(events)))


class Faulty:
    """An encoder that fails from some call on."""

    def __init__(self, failing: str) -> None:
        """Fail in the method `failing`."""
        self._encoder = DeltaEncoder()
        self._failing = failing
        self._calls = 0

    def encode(self, made: Any) -> str | None:
        """Fail at the fourth."""
        self._calls += 1
        if self._failing == "encode" and self._calls > 3:
            raise RuntimeError("a secret of the user's")
        return self._encoder.encode(made)

    def learn(self, made: Any, frame: str) -> bool:
        """Fail at once."""
        if self._failing == "learn":
            raise RuntimeError("a secret of the user's")
        return self._encoder.learn(made, frame)


@pytest.mark.parametrize("failing", ["encode", "learn"])
async def test_a_fault_of_the_encoder_leaves_the_stream_whole_and_is_told_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, failing: str
) -> None:
    monkeypatch.setattr(encode, "DeltaEncoder", lambda: Faulty(failing))
    events = [event(CLASSES[0], f"{number}", number) for number in range(20)]
    assert await frames(ours(events)) == await frames(STOCK(stream(events)))
    (line,) = caplog.messages
    assert line.startswith("stable_ids: the rest of a stream is written by pydantic alone (Runtime")
    assert "secret" not in line


def _as_pydantic_writes(frame: str) -> str:
    """A frame of a delta, read and written again by the class it is of."""
    told = json.loads(frame.split("\ndata: ", 1)[1])
    by_type = {get_args(cls.model_fields["type"].annotation)[0]: cls for cls in CLASSES}
    made = by_type[told["type"]].model_validate(told)
    return f"event: {made.type}\ndata: {made.model_dump_json(by_alias=True)}\n\n"


def _deltas(stream: client.Stream) -> list[str]:
    return re.findall(r"event: response\.\w+\.delta\ndata: .*\n\n", stream.raw.decode())


def test_the_deltas_of_a_server_are_as_pydantic_writes_them(
    fixed: VllmServer, path: ModelPath
) -> None:
    count = 0
    for scripted in cases_of(path)[:6]:
        deltas = _deltas(client.stream(fixed, scripted))
        assert deltas == list(map(_as_pydantic_writes, deltas)), scripted.name
        count += len(deltas)
    assert count > 30


CALL: dict[ModelPath, str] = {"simple": "q-two-calls", "harmony": "h-call"}


def test_a_fault_of_the_encoder_in_a_server_leaves_the_stream_whole(
    fixed: VllmServer, path: ModelPath
) -> None:
    whole = client.stream(fixed, case(CALL[path]))
    before = fixed.log_text().count("the rest of a stream is written by pydantic alone")
    faulty = client.stream(fixed, case(CALL[path]), headers={"x-fault": "encode:9"})
    told = fixed.log_text().count(
        "the rest of a stream is written by pydantic alone (InjectedError"
    )
    assert told == before + 1
    assert judge(faulty.events) == []
    assert list(map(_said, client.merged(faulty.events))) == list(
        map(_said, client.merged(whole.events))
    )


def _said(event: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(event.get(key) for key in ("type", "output_index", "delta", "text", "arguments"))
