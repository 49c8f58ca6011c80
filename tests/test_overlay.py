"""The overlay on vLLM's own event classes, where a server would add nothing."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from openai.types.responses import (
    ResponseContentPartAddedEvent,
    ResponseFunctionCallArgumentsDeltaEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemAddedEvent,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseReasoningItem,
    ResponseReasoningTextDeltaEvent,
    ResponseTextDeltaEvent,
)
from openai.types.responses.response_content_part_added_event import PartReasoningText
from openai.types.responses.response_output_item import McpCall
from openai.types.responses.response_reasoning_item import Content
from pydantic import ConfigDict

from bed.judge import Breach, judge
from vllm_stable_ids.events import EventClasses
from vllm_stable_ids.overlay import Overlay
from vllm_stable_ids.patches import stream, terminal
from vllm_stable_ids.patches.call import Call
from vllm_stable_ids.patches.patch import Patch, Setup
from vllm_stable_ids.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

CLASSES = EventClasses()
SETUP = Setup(Settings(), CLASSES, is_in_force=lambda _: False, uninstall=pytest.fail)
TERMINAL = "response.completed"


def message(item_id: str, text: str) -> ResponseOutputMessage:
    content = [ResponseOutputText(type="output_text", text=text, annotations=[])] if text else []
    return ResponseOutputMessage(
        id=item_id, type="message", role="assistant", content=content, status="completed"
    )


def thought(item_id: str, text: str) -> ResponseReasoningItem:
    content = [Content(type="reasoning_text", text=text)] if text else None
    return ResponseReasoningItem(id=item_id, type="reasoning", summary=[], content=content)


def call(item_id: str, call_id: str, arguments: str = "{}") -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(
        id=item_id, type="function_call", call_id=call_id, name="f", arguments=arguments
    )


def added(index: int, item: Any) -> Any:
    return ResponseOutputItemAddedEvent(
        type="response.output_item.added", sequence_number=-1, output_index=index, item=item
    )


def done(index: int, item: Any) -> Any:
    return ResponseOutputItemDoneEvent(
        type="response.output_item.done", sequence_number=-1, output_index=index, item=item
    )


def text(index: int, item_id: str, delta: str) -> Any:
    return ResponseTextDeltaEvent(
        type="response.output_text.delta",
        sequence_number=-1,
        output_index=index,
        item_id=item_id,
        content_index=0,
        delta=delta,
        logprobs=[],
    )


def arguments(index: int, item_id: str, delta: str) -> Any:
    return ResponseFunctionCallArgumentsDeltaEvent(
        type="response.function_call_arguments.delta",
        sequence_number=-1,
        output_index=index,
        item_id=item_id,
        delta=delta,
    )


def reasoning(index: int, item_id: str, delta: str) -> Any:
    return ResponseReasoningTextDeltaEvent(
        type="response.reasoning_text.delta",
        sequence_number=-1,
        output_index=index,
        item_id=item_id,
        content_index=0,
        delta=delta,
    )


SERVING = SimpleNamespace(tool_server=None)


def patched_call(patch: Patch, context: Any, proceed: Callable[[], Any]) -> Any:
    """What a patched method of vLLM's returns that without the patch does `proceed`."""
    (spec,) = patch.hooks
    arguments = {"request": SimpleNamespace(store=False), "context": context}
    return spec.make_wrapper(SETUP, None)(Call(SERVING, arguments, proceed))


class Response(SimpleNamespace):
    """A terminal response, as far as the overlay looks at it."""

    def dump(self) -> dict[str, Any]:
        """The response as the client gets it."""
        return {"id": self.id, "output": [item.model_dump() for item in self.output]}


async def served(
    events: Iterable[Any], rebuilt: list[Any], context: Any, *, patched: bool = True
) -> AsyncGenerator[dict[str, Any]]:
    """A stream as vLLM serves it: numbered events, then the full generator's response."""

    async def upstream() -> AsyncGenerator[Any]:
        number = 0
        for event in events:
            event.sequence_number = number
            number += 1
            yield event
        response = Response(id="resp_1", output=list(rebuilt))

        async def full() -> Response:
            return response

        if patched:
            await patched_call(terminal.PATCH, context, full)
        yield SimpleNamespace(type=TERMINAL, sequence_number=number, response=response)

    source = patched_call(stream.PATCH, context, upstream) if patched else upstream()
    async for event in source:
        if event.type == TERMINAL:
            yield {**vars(event), "response": event.response.dump()}
        else:
            yield event.model_dump()


async def collect(
    events: Iterable[Any], rebuilt: list[Any], *, patched: bool = True
) -> list[dict[str, Any]]:
    return [event async for event in served(events, rebuilt, SimpleNamespace(), patched=patched)]


def breaches(sent: list[dict[str, Any]]) -> list[Breach]:
    """What the contract has against a stream; these ones sum up no deltas, so not of C6."""
    return [breach for breach in judge(sent) if breach.rule != "C6"]


def reasoning_part(index: int, item_id: str) -> Any:
    return ResponseContentPartAddedEvent(
        type="response.content_part.added",
        sequence_number=-1,
        output_index=index,
        item_id=item_id,
        content_index=0,
        part=PartReasoningText(type="reasoning_text", text=""),
    )


def two_items() -> list[Any]:
    """Reasoning and a call, as the simple path announces them."""
    return [
        added(0, thought("aa", "")),
        reasoning_part(0, "aa"),
        reasoning(0, "aa", "Th"),
        reasoning(0, "aa", "ink"),
        done(0, thought("aa", "Think")),
        added(1, call("bb", "call_1", "")),
        arguments(1, "bb", "{"),
        arguments(1, "bb", "}"),
        done(1, call("bb", "call_1")),
    ]


REBUILT: list[Any] = [
    thought("rs_x", "Think"),
    call("fc_x", "chatcmpl-tool-x"),
]


async def test_a_whole_stream_keeps_the_announced_identity() -> None:
    events = await collect(two_items(), REBUILT)
    assert breaches(events) == []
    ids = [(item["id"], item.get("call_id")) for item in events[-1]["response"]["output"]]
    assert ids == [("rs_aa", None), ("fc_bb", "call_1")]


async def test_deltas_of_two_open_items_may_alternate() -> None:
    events = [
        added(0, message("aa", "")),
        added(1, message("bb", "")),
        text(0, "aa", "1"),
        text(1, "bb", "2"),
        text(0, "aa", "3"),
        text(1, "bb", "4"),
        done(1, message("bb", "24")),
        done(0, message("aa", "13")),
    ]
    sent = await collect(events, [message("msg_x", "13"), message("msg_y", "24")])
    assert breaches(sent) == []
    deltas = [(event["item_id"], event["delta"]) for event in sent if "delta" in event]
    assert deltas == [("msg_aa", "1"), ("msg_bb", "2"), ("msg_aa", "3"), ("msg_bb", "4")]


async def test_deltas_of_an_item_never_announced_are_announced_and_renumbered() -> None:
    events = [text(3, "aa", "1"), text(3, "aa", "2"), text(3, "aa", "3")]
    events.append(done(3, message("aa", "123")))
    sent = await collect(events, [message("msg_x", "123")])
    assert breaches(sent) == []
    assert [event["type"] for event in sent[:3]] == [
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
    ]
    assert [event["sequence_number"] for event in sent] == list(range(7))


async def test_a_repeated_call_is_dropped_and_the_numbers_close_up() -> None:
    again = [added(1, call("bb", "call_1", "")), done(1, call("bb", "call_1"))]
    sent = await collect([*two_items(), *again], [*REBUILT, call("bb", "call_1")])
    assert breaches(sent) == []
    assert len(sent) == 10


async def test_what_only_the_terminal_output_has_is_streamed_before_it() -> None:
    late = [call("fc_y", "call_y", ""), message("msg_y", "Hi"), message("msg_z", "")]
    sent = await collect(two_items(), [*REBUILT, *late])
    assert breaches(sent) == []
    output = sent[-1]["response"]["output"]
    assert [item["id"] for item in output] == ["rs_aa", "fc_bb", "fc_y", "msg_y"]
    assert [event["item"]["id"] for event in sent if event["type"][-11:] == "_item.added"] == [
        item["id"] for item in output
    ]


async def test_an_item_that_the_terminal_output_lacks_is_put_back() -> None:
    sent = await collect(two_items(), [REBUILT[1]])
    assert breaches(sent) == []
    assert [item["id"] for item in sent[-1]["response"]["output"]] == ["rs_aa", "fc_bb"]


async def test_an_item_left_open_is_closed_before_the_end() -> None:
    sent = await collect(two_items()[:-1], REBUILT)
    assert breaches(sent) == []
    assert sent[-2]["type"] == "response.output_item.done"
    assert sent[-2]["item"]["call_id"] == "call_1"


@pytest.mark.parametrize(
    "nameless",
    [
        call("fc_y", "call_y").model_copy(update={"name": ""}),
        McpCall(id="mcp_y", type="mcp_call", name="", server_label="", arguments=""),
    ],
    ids=["function_call", "mcp_call"],
)
async def test_a_call_of_nothing_is_streamed_like_any_other(nameless: Any) -> None:
    sent = await collect(two_items(), [*REBUILT, nameless])
    assert breaches(sent) == []
    assert sent[-1]["response"]["output"][-1]["id"] == nameless.id


class FrozenMessage(ResponseOutputMessage):
    """An item that does not let itself be changed."""

    model_config = ConfigDict(frozen=True)


async def test_an_item_that_cannot_be_changed_leaves_vllms_own_output() -> None:
    frozen = FrozenMessage.model_validate(message("msg_x", "Hi").model_dump())
    events = [added(0, message("aa", "")), done(0, message("aa", "Hi"))]
    sent = await collect(events, [frozen])
    assert sent[-1]["response"]["output"] == [frozen.model_dump()]


async def test_an_iterator_of_another_plugin_need_not_be_closable() -> None:
    class Events:
        """An asynchronous iterator that is no generator."""

        def __init__(self) -> None:
            self._left = [text(0, "aa", "1").model_copy(update={"sequence_number": 0})]

        def __aiter__(self) -> Events:
            return self

        async def __anext__(self) -> Any:
            if not self._left:
                raise StopAsyncIteration
            return self._left.pop()

    source = patched_call(stream.PATCH, SimpleNamespace(), Events)
    assert len([event async for event in source]) == 3


def break_at(monkeypatch: pytest.MonkeyPatch, method: str, call_number: int) -> None:
    """Make the n-th call of an overlay's method fail, after it has done its work."""
    original: Callable[..., Any] = getattr(Overlay, method)
    calls = 0

    def broken(self: Overlay, *args: Any) -> Any:
        nonlocal calls
        calls += 1
        result = original(self, *args)
        if calls == call_number:
            raise RuntimeError("what the user said")
        return result

    monkeypatch.setattr(Overlay, method, broken)


@pytest.mark.parametrize("decision", range(1, 10))
async def test_from_a_fault_on_the_stream_is_vllms_own(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, decision: int
) -> None:
    stock = await collect(two_items(), REBUILT, patched=False)
    break_at(monkeypatch, "_decide", decision)
    with caplog.at_level(logging.WARNING):
        sent = await collect(two_items(), REBUILT)
    assert len(sent) == len(stock)
    # A run of deltas takes one decision, for its first event.
    at = [0, 1, 2, 4, 5, 6, 8, 9, 9][decision - 1]
    assert sent[at:-1] == stock[at:-1]
    if decision <= 7:
        assert sent[-1] == stock[-1]
        assert len(caplog.records) == 1
        assert "what the user said" not in caplog.text


async def test_a_fault_at_the_end_leaves_vllms_own_output(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    stock = await collect(two_items(), REBUILT, patched=False)
    break_at(monkeypatch, "_reconcile", 1)
    with caplog.at_level(logging.WARNING):
        sent = await collect(two_items(), REBUILT)
    assert sent[-1] == stock[-1]
    assert len(caplog.records) == 1


async def test_a_fault_in_making_the_overlay_leaves_the_stock_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stock = await collect(two_items(), REBUILT, patched=False)
    monkeypatch.setattr(stream, "Overlay", lambda *_, **__: 1 / 0)
    assert await collect(two_items(), REBUILT) == stock


async def test_no_overlay_outlives_its_stream() -> None:
    context = SimpleNamespace()
    overlays = [
        weakref.ref(getattr(context, stream.OVERLAY))
        async for _ in served(two_items(), REBUILT, context)
    ]
    gc.collect()
    assert [overlay() for overlay in overlays] == [None] * len(overlays)
    assert not hasattr(context, stream.OVERLAY)


@pytest.mark.parametrize("fault", [False, True])
async def test_a_client_that_leaves_stops_vllm_at_once(
    monkeypatch: pytest.MonkeyPatch, *, fault: bool
) -> None:
    if fault:
        monkeypatch.setattr(stream, "Overlay", lambda *_, **__: 1 / 0)
    stopped = asyncio.Event()

    async def upstream() -> AsyncGenerator[Any]:
        try:
            while True:
                yield text(0, "aa", "on and on")
        finally:
            stopped.set()

    source = patched_call(stream.PATCH, SimpleNamespace(), upstream)
    await anext(source)
    await source.aclose()
    assert stopped.is_set()


async def test_what_upstream_raises_reaches_the_server() -> None:
    async def upstream() -> AsyncGenerator[Any]:
        yield text(0, "aa", "1")
        raise ZeroDivisionError

    source = patched_call(stream.PATCH, SimpleNamespace(), upstream)
    with pytest.raises(ZeroDivisionError):
        _ = [event async for event in source]


async def test_an_answer_that_is_not_streamed_is_not_looked_at() -> None:
    async def full() -> Response:
        return Response(id="resp_1", output="untouched")

    response = await patched_call(terminal.PATCH, SimpleNamespace(), full)
    assert response.output == "untouched"


async def test_a_call_without_a_context_is_vllms_to_refuse(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def upstream() -> AsyncGenerator[Any]:
        yield text(0, "aa", "1")

    with caplog.at_level(logging.WARNING):
        sent = [event async for event in patched_call(stream.PATCH, None, upstream)]
    assert [event.item_id for event in sent] == ["aa"]
    assert len(caplog.records) == 1


BROWSER_CALL = McpCall(
    id="mcp_a", type="mcp_call", name="browser.search", server_label="browser", arguments=""
)


def cut_in_a_browser_call() -> list[Any]:
    return [
        added(0, message("aa", "")),
        done(0, message("aa", "Hi")),
        added(1, BROWSER_CALL.model_copy()),
    ]


async def test_a_fault_at_the_end_leaves_what_was_held_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SERVING, "tool_server", SimpleNamespace(has_tool=lambda _: True))
    stock = await collect(cut_in_a_browser_call(), [], patched=False)
    break_at(monkeypatch, "_reconcile", 1)
    sent = await collect(cut_in_a_browser_call(), [])
    assert sent[2:] == stock[2:]


@pytest.mark.parametrize("rebuilt", [False, True])
async def test_a_browser_call_that_is_cut_is_told_before_the_end(
    monkeypatch: pytest.MonkeyPatch, *, rebuilt: bool
) -> None:
    monkeypatch.setattr(SERVING, "tool_server", SimpleNamespace(has_tool=lambda _: True))
    events = cut_in_a_browser_call()
    late = [BROWSER_CALL.model_copy(update={"id": "mcp_x"})] if rebuilt else []
    sent = await collect(events, [message("msg_x", "Hi"), *late])
    assert breaches(sent) == []
    assert [item["id"] for item in sent[-1]["response"]["output"]] == ["msg_aa", "mcp_a"]
