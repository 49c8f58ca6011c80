"""Drives LiteLLM."""

from __future__ import annotations

import json
from typing import Any

import litellm

from clients.shared.loop import API_KEY, MODEL, QUESTION, TOOL, get_weather, through_all

NAME = f"hosted_vllm/{MODEL}"


def history(url: str) -> str:
    """Send the final response back with the outputs."""
    given: list[Any] = [{"role": "user", "content": QUESTION}]
    while True:
        output = _stream(url, given)[-1].response.output
        calls = [item for item in output if item.type == "function_call"]
        if not calls:
            return _text(output)
        given += [item.model_dump(exclude_none=True) for item in output]
        given += [_answer(call) for call in calls]


def previous_response_id(url: str) -> str:
    """Name the response before, and answer the calls as they were announced."""
    given: list[Any] = [{"role": "user", "content": QUESTION}]
    before = None
    while True:
        events = _stream(url, given, previous_response_id=before)
        before = events[-1].response.id
        calls = [event.item for event in events if event.type == "response.output_item.done"]
        given = [_answer(item) for item in calls if item.type == "function_call"]
        if not given:
            return _text(events[-1].response.output)


def _stream(url: str, given: list[Any], **more: Any) -> list[Any]:
    more |= {"model": NAME, "input": given, "tools": [TOOL], "stream": True}
    return list(litellm.responses(api_base=url, api_key=API_KEY, **more))


def _answer(call: Any) -> dict[str, str]:
    said = get_weather(**json.loads(call.arguments))
    return {"type": "function_call_output", "call_id": call.call_id, "output": said}


def _text(output: list[Any]) -> str:
    messages = [item for item in output if item.type == "message"]
    return "".join(part.text for item in messages for part in item.content)


# Of a model that it does not know it only pretends to stream.
litellm.register_model(
    {NAME: {"litellm_provider": "hosted_vllm", "mode": "chat", "supports_native_streaming": True}}
)
through_all({"history": history, "previous_response_id": previous_response_id})
