"""One truth in the server: the store, polling, the replay and the next turn (C8)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from bed import client
from bed.cases import Case, case
from bed.judge import judge, judge_store

if TYPE_CHECKING:
    from bed.models import ModelPath
    from bed.server import VllmServer

CALL: dict[ModelPath, str] = {"simple": "q-call", "harmony": "h-call"}
TEXT: dict[ModelPath, str] = {"simple": "q-text", "harmony": "h-final-only"}


@pytest.fixture
def scripted(path: ModelPath) -> Case:
    """An output with reasoning and one call."""
    return case(CALL[path])


def call_of(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The call as it was announced."""
    for event in events:
        if event["type"] == "response.output_item.added" and event["item"]["type"][-5:] == "_call":
            item: dict[str, Any] = event["item"]
            return item
    raise AssertionError("no call was announced")


def answer(call_id: str) -> list[dict[str, str]]:
    """The input that answers a call."""
    return [{"type": "function_call_output", "call_id": call_id, "output": "sunny"}]


def test_the_streamed_call_id_can_be_answered(
    fixed: VllmServer, scripted: Case, path: ModelPath
) -> None:
    first = client.stream(fixed, scripted)
    second = client.stream(
        fixed,
        case(TEXT[path]),
        input=answer(call_of(first.events)["call_id"]),
        previous_response_id=first.terminal["id"],
    )
    assert second.status == 200
    assert judge(second.events) == []
    assert second.terminal["output"][-1]["type"] == "message"
    assert second.terminal["previous_response_id"] == first.terminal["id"]


@pytest.mark.parametrize("path", ["harmony"])
def test_without_the_plugin_nobody_knows_it(
    stock: VllmServer, scripted: Case, path: ModelPath
) -> None:
    first = client.stream(stock, scripted)
    call_id = call_of(first.events)["call_id"]
    request = client.body(
        case(TEXT[path]), input=answer(call_id), previous_response_id=first.terminal["id"]
    )
    refused = client.post(stock, request)
    assert refused.status_code == 400
    assert f"No call message found for {call_id}" in refused.text


def test_a_stored_response_is_the_streamed_one(fixed: VllmServer, scripted: Case) -> None:
    stream = client.stream(fixed, scripted)
    stored = client.retrieve(fixed, stream.terminal["id"])
    assert stored == stream.terminal
    assert judge_store(stream.events, stored) == []


def poll(server: VllmServer, response_id: str) -> dict[str, Any]:
    """Ask for a background response until it has ended."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        stored = client.retrieve(server, response_id)
        if stored["status"] not in {"queued", "in_progress"}:
            return stored
        time.sleep(0.1)
    raise AssertionError(f"{response_id} did not end")


def test_a_background_response_polled_can_be_answered(
    fixed: VllmServer, scripted: Case, path: ModelPath
) -> None:
    queued = client.create(fixed, scripted, background=True)
    stored = poll(fixed, queued["id"])
    (call,) = [item for item in stored["output"] if item["type"] == "function_call"]
    assert stored["output"][0]["type"] == "reasoning"
    second = client.create(
        fixed, case(TEXT[path]), input=answer(call["call_id"]), previous_response_id=stored["id"]
    )
    assert second["status"] == "completed"


def test_a_background_stream_rejoined_goes_on_as_it_was(fixed: VllmServer, scripted: Case) -> None:
    stream = client.stream(fixed, scripted, background=True)
    events = stream.events
    assert judge(events) == []
    for event in events[:-1]:
        number = event["sequence_number"]
        rest = client.replay(fixed, stream.terminal["id"], starting_after=number)
        assert rest.events == events[number + 1 :]
    assert poll(fixed, stream.terminal["id"])["output"] == stream.terminal["output"]


def test_a_background_stream_with_late_items_is_numbered_without_a_gap(
    fixed: VllmServer, path: ModelPath
) -> None:
    """A call that vLLM never announces moves what follows; the replay counts by position."""
    scripted = case("q-two-calls" if path == "simple" else "h-empty-args")
    stream = client.stream(fixed, scripted, background=True)
    assert [event["sequence_number"] for event in stream.events] == list(range(len(stream.events)))
    middle = len(stream.events) - 3
    rest = client.replay(fixed, stream.terminal["id"], starting_after=middle)
    assert rest.events == stream.events[middle + 1 :]
