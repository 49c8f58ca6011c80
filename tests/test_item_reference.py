"""An announced id is a handle: an input item may name an item of a stored response by it."""

from __future__ import annotations

import logging
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bed import client
from bed.cases import case
from bed.client import QUESTION
from bed.judge import ADDED, judge
from vllm_stable_ids.patches import item_reference
from vllm_stable_ids.patches.call import Call

if TYPE_CHECKING:
    from bed.models import ModelPath
    from bed.server import VllmServer

CALL: dict[ModelPath, str] = {"simple": "q-two-calls", "harmony": "h-call"}
TEXT: dict[ModelPath, str] = {"simple": "q-text", "harmony": "h-preamble-final"}
REFUSED: dict[ModelPath, tuple[int, str]] = {
    "simple": (500, "'role'"),
    "harmony": (400, "Unknown input type: item_reference"),
}


def reference(item: dict[str, Any]) -> dict[str, str]:
    """An input item that names another."""
    return {"type": "item_reference", "id": item["id"]}


def client_item(item: dict[str, Any]) -> dict[str, Any]:
    """An item as a client sends it back itself."""
    return {"type": "message", "role": "user", "content": "Hm.", "id": item["id"]}


def announced(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items of a stream as they were announced, in order."""
    return [event["item"] for event in events if event["type"] == ADDED]


def turn(items: list[dict[str, Any]], calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The input of a second turn: the question, items, and the answers of calls."""
    answers = [
        {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}
        for call in calls
        if call["type"] == "function_call"
    ]
    return [{"role": "user", "content": QUESTION}, *items, *answers]


def refused(server: VllmServer, items: list[Any], **fields: Any) -> dict[str, Any]:
    """The error that an input gets; it must be one of the client's."""
    answer = client.post(server, client.body(None, input=items, **fields))
    assert answer.status_code == 400, answer.text
    error: dict[str, Any] = answer.json()["error"]
    return error


@pytest.fixture
def first(fixed: VllmServer, path: ModelPath) -> list[dict[str, Any]]:
    """The items of a stream that has ended, as they were announced."""
    return announced(client.stream(fixed, case(CALL[path])).events)


def test_references_and_the_items_themselves_make_the_same_prompt(
    fixed: VllmServer, path: ModelPath
) -> None:
    stream = client.stream(fixed, case(CALL[path]))
    items = announced(stream.events)
    assert len(items) > 1
    wanted: dict[str, Any] = {"enable_response_messages": True, "store": False}
    named, whole = (
        client.create(fixed, case(TEXT[path]), input=turn(sent, items), **wanted)
        for sent in (list(map(reference, items)), stream.terminal["output"])
    )
    assert named["input_messages"] == whole["input_messages"] != []
    assert "Paris" in str(named["input_messages"])


def test_a_tool_loop_by_references_keeps_the_contract(
    fixed: VllmServer, path: ModelPath, first: list[dict[str, Any]]
) -> None:
    second = client.stream(fixed, case(TEXT[path]), input=turn(list(map(reference, first)), first))
    assert second.status == 200
    assert judge(second.events) == []
    both = [*first, *announced(second.events)]
    third = client.stream(fixed, case(TEXT[path]), input=turn(list(map(reference, both)), first))
    assert third.status == 200
    assert judge(third.events) == []


def test_stock_vllm_knows_no_references(stock: VllmServer, path: ModelPath) -> None:
    items = announced(client.stream(stock, case(CALL[path])).events)
    answer = client.post(stock, client.body(None, input=turn(list(map(reference, items)), items)))
    status, message = REFUSED[path]
    assert (answer.status_code, answer.json()["error"]["message"]) == (status, message)


def test_a_reference_may_go_without_its_type(
    fixed: VllmServer, path: ModelPath, first: list[dict[str, Any]]
) -> None:
    bare: list[dict[str, Any]] = [{"id": item["id"]} for item in first]
    bare[0] |= {"type": None}
    second = client.stream(fixed, case(TEXT[path]), input=turn(bare, first))
    assert second.status == 200


def test_an_answer_that_was_not_streamed_has_items_to_refer_to(
    fixed: VllmServer, path: ModelPath
) -> None:
    items = client.create(fixed, case(CALL[path]))["output"]
    second = client.stream(fixed, case(TEXT[path]), input=turn(list(map(reference, items)), items))
    assert second.status == 200


def test_a_background_response_has_items_to_refer_to(fixed: VllmServer, path: ModelPath) -> None:
    response = client.create(fixed, case(CALL[path]), background=True)
    for _ in range(600):
        if response["status"] not in {"queued", "in_progress"}:
            break
        time.sleep(0.1)
        response = client.retrieve(fixed, response["id"])
    items = response["output"]
    second = client.stream(fixed, case(TEXT[path]), input=turn(list(map(reference, items)), items))
    assert second.status == 200


def test_a_failed_response_has_items_to_refer_to(fixed: VllmServer, path: ModelPath) -> None:
    stream = client.stream(fixed, case(CALL[path]), headers={"x-fault": "generation:7"})
    items = announced(stream.events)
    assert stream.terminal["status"] == "failed"
    assert items
    second = client.stream(fixed, case(TEXT[path]), input=turn([reference(items[0])], []))
    assert second.status == 200


def test_an_unknown_id_is_named(fixed: VllmServer, first: list[dict[str, Any]]) -> None:
    error = refused(fixed, [*turn([reference(first[0])], []), {"id": "rs_nobody"}])
    assert error["message"].startswith(
        "input[2] refers to item 'rs_nobody', which is in no response stored on this server."
    )
    assert (error["param"], error["type"]) == ("input", "invalid_request_error")
    assert "x" * 101 not in refused(fixed, [{"id": "x" * 5000}])["message"]


def test_what_was_not_stored_cannot_be_referred_to(fixed: VllmServer, path: ModelPath) -> None:
    items = announced(client.stream(fixed, case(CALL[path]), store=False).events)
    error = refused(fixed, turn([reference(items[0])], []))
    assert items[0]["id"] in error["message"]
    assert "store set to false" in error["message"]


def test_an_item_is_referred_to_once(fixed: VllmServer, first: list[dict[str, Any]]) -> None:
    error = refused(fixed, turn([reference(first[0])] * 2, []))
    assert error["message"].startswith(
        f"input[2] refers to item '{first[0]['id']}', which the input"
    )
    error = refused(fixed, turn([client_item(first[0]), reference(first[0])], []))
    assert error["message"].startswith(
        f"input[2] refers to item '{first[0]['id']}', which the input"
    )


def test_what_a_previous_response_brings_along_is_not_there_twice(
    fixed: VllmServer, path: ModelPath
) -> None:
    stream = client.stream(fixed, case(TEXT[path]))
    message = stream.terminal["output"][-1]
    again = {"role": "user", "content": "And in Rome?"}
    wanted: dict[str, Any] = {"enable_response_messages": True, "store": False}
    wanted["previous_response_id"] = stream.terminal["id"]
    plain, named = (
        client.create(fixed, case(TEXT[path]), input=given, **wanted)["input_messages"]
        for given in ([again], [reference(message), again])
    )
    assert plain == named


@pytest.mark.parametrize("path", ["harmony"])
def test_a_call_of_the_servers_own_tool_is_left_out(fixed: VllmServer, path: ModelPath) -> None:
    items = announced(client.stream(fixed, case("h-python")).events)
    assert "code_interpreter_call" in {item["type"] for item in items}
    second = client.stream(fixed, case(TEXT[path]), input=turn(list(map(reference, items)), []))
    assert second.status == 200


def test_a_reference_with_more_members_is_one(
    fixed: VllmServer, path: ModelPath, first: list[dict[str, Any]]
) -> None:
    more = [reference(item) | {"status": "completed"} for item in first]
    second = client.stream(fixed, case(TEXT[path]), input=turn(more, first))
    assert second.status == 200


def test_a_response_in_the_place_of_another_takes_its_items() -> None:
    setup: Any = SimpleNamespace(is_in_force=lambda name: name == "item_reference")
    serving = SimpleNamespace()
    for round_ in range(5):
        items = [SimpleNamespace(id=f"msg_{round_}")]
        response = SimpleNamespace(id="resp_1", output=items)
        item_reference.remember(setup, serving, response, stored=True)
    directory = vars(serving)[item_reference.DIRECTORY]
    assert directory.place("msg_3") is None
    assert directory.place("msg_4") == ("resp_1", 0)


def test_nothing_is_kept_where_references_are_not_resolved() -> None:
    setup: Any = SimpleNamespace(is_in_force=lambda name: name != "item_reference")
    serving = SimpleNamespace()
    response = SimpleNamespace(id="resp_1", output=[SimpleNamespace(id="msg_1")])
    item_reference.remember(setup, serving, response, stored=True)
    assert vars(serving) == {}


def test_other_input_stays_as_it_is(fixed: VllmServer, path: ModelPath) -> None:
    question = [{"type": "message", "role": "user", "content": QUESTION}]
    wanted: dict[str, Any] = {"enable_response_messages": True}
    plain, listed = (
        client.create(fixed, case(TEXT[path]), input=sent, **wanted)["input_messages"]
        for sent in (QUESTION, question)
    )
    assert plain == listed


async def given_up(serving: Any) -> tuple[list[Any], Any]:
    """What vLLM reads, and what comes of it, where vLLM's serving object is not all there."""
    request = SimpleNamespace(input=[{"id": "rs_1", "type": "item_reference"}])
    request.previous_response_id = None

    async def proceed() -> str:
        return "vLLM's own answer"

    answer = await item_reference._create(Call(serving, {"request": request}, proceed))
    return request.input, answer


async def test_a_store_that_is_off_is_said_to_be() -> None:
    def create_error_response(**fields: Any) -> str:
        return str(fields["message"])

    serving = SimpleNamespace(enable_store=False, create_error_response=create_error_response)
    _, message = await given_up(serving)
    assert "'rs_1'" in message
    assert "VLLM_ENABLE_RESPONSES_API_STORE=1" in message


async def test_after_a_fault_vllm_reads_what_was_sent(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "vllm.plugins.stable_ids"):
        sent, answer = await given_up(SimpleNamespace())
    assert sent == [{"id": "rs_1", "type": "item_reference"}]
    assert answer == "vLLM's own answer"
    (warning,) = caplog.messages
    assert "references in an input are not resolved (AttributeError" in warning
