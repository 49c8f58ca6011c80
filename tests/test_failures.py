"""A generation that fails midway: the client is told so, under the identities it knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from bed import client
from bed.cases import Case
from bed.judge import TERMINALS, judge, judge_store
from bed.release import vllm_release

if TYPE_CHECKING:
    from bed.models import ModelPath
    from bed.server import VllmServer

# Long, since a busy vLLM takes several tokens in one step.
THOUGHT = "It is sunny in Paris. " * 12
LONG: dict[ModelPath, Case] = {
    "simple": Case(
        "long",
        "simple",
        f"<think>\n{THOUGHT}\n</think>\n\n{THOUGHT}<tool_call>\n"
        '{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call><|im_end|>',
    ),
    "harmony": Case(
        "long",
        "harmony",
        f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant"
        f"<|channel|>commentary<|message|>{THOUGHT}<|end|><|start|>assistant"
        "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
        '{"city": "Paris"}<|call|>',
    ),
}

# vLLM 0.29 cannot build the terminal response of this one: its action is of no known type.
FIND = '<|channel|>commentary to=browser.find code<|message|>{"pattern": "a"}<|call|>'

INTERNAL = "Internal server error"


def said(events: list[dict[str, Any]]) -> str:
    """All deltas of a stream."""
    return "".join(event["delta"] for event in events if "delta" in event)


def failed(events: list[dict[str, Any]], message: str) -> dict[str, Any]:
    """Check how a stream ends; returns its terminal response."""
    error, terminal = events[-2:]
    assert error == {
        "type": "error",
        "code": "server_error",
        "message": message,
        "param": None,
        "sequence_number": len(events) - 2,
    }
    assert terminal["type"] == "response.failed"
    response: dict[str, Any] = terminal["response"]
    assert response["status"] == "failed"
    assert response["error"] == {"code": "server_error", "message": message}
    return response


@pytest.mark.parametrize("step", [0, 2, 5, 12, 30])
def test_the_engine_fails(fixed: VllmServer, stock: VllmServer, path: ModelPath, step: int) -> None:
    headers = {"x-fault": f"generation:{step}"}
    cut = client.stream(stock, LONG[path], headers=headers).events
    assert not {event["type"] for event in cut} & TERMINALS
    events = client.stream(fixed, LONG[path], headers=headers).events
    assert judge(events) == []
    response = failed(events, INTERNAL)
    assert client.retrieve(fixed, response["id"]) == response
    whole = client.stream(fixed, LONG[path]).events
    assert said(whole).startswith(said(events))
    if step >= 5:
        assert said(events)
        assert response["output"][-1]["status"] in ("incomplete", "completed", None)


def test_the_server_says_where(fixed: VllmServer, path: ModelPath) -> None:
    before = fixed.log_text().count("stable_ids: generation failed midway")
    client.stream(fixed, LONG[path], headers={"x-fault": "generation:3"})
    new = fixed.log_text().split("stable_ids: generation failed midway")[before + 1 :]
    assert len(new) == 1
    assert "responses_stream_generator" in new[0]


@pytest.mark.skipif(
    vllm_release() >= (0, 30),
    reason="vLLM 0.30 and later build the action of browser.find as openai has it",
)
def test_a_terminal_response_that_vllm_cannot_build(servers: Any) -> None:
    scripted = Case("find", "harmony", FIND)
    stock = client.stream(servers.get("harmony", fixed=False), scripted).events
    assert stock[-1]["type"] != "response.completed"
    server = servers.get("harmony", fixed=True)
    events = client.stream(server, scripted).events
    assert judge(events) == []
    response = failed(events, INTERNAL)
    assert [item["type"] for item in response["output"]] == ["mcp_call"]
    assert judge_store(events, client.retrieve(server, response["id"])) == []


@pytest.mark.parametrize("stored", [True, False])
def test_without_a_store_nothing_is_stored(
    fixed: VllmServer, path: ModelPath, *, stored: bool
) -> None:
    fault = {"x-fault": "generation:3"}
    events = client.stream(fixed, LONG[path], headers=fault, store=stored).events
    answer = httpx.get(f"{fixed.url}/v1/responses/{events[-1]['response']['id']}", timeout=60)
    assert answer.status_code == (200 if stored else 404)


def test_a_background_stream_that_failed_can_be_joined_again(
    fixed: VllmServer, path: ModelPath
) -> None:
    fault = {"x-fault": "generation:9"}
    events = client.stream(fixed, LONG[path], headers=fault, background=True).events
    response = failed(events, INTERNAL)
    assert client.retrieve(fixed, response["id"]) == response
    again = client.replay(fixed, response["id"], starting_after=3)
    assert again.events == events[4:]
