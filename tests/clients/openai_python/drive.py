"""Drives openai-python through the tool loop."""

from __future__ import annotations

import json

from openai import OpenAI

from clients.shared.loop import API_KEY, MODEL, QUESTION, TOOL, get_weather, through_all


def stream(url: str) -> str:
    """Stream with `responses.stream()`, and send its final response back with the outputs."""
    api = OpenAI(base_url=url, api_key=API_KEY)
    history = [{"role": "user", "content": QUESTION}]
    while True:
        with api.responses.stream(model=MODEL, input=history, tools=[TOOL]) as events:
            for _ in events:
                pass
            response = events.get_final_response()
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return str(response.output_text)
        history += [item.to_dict() for item in response.output]
        history += [output(call.call_id, call.arguments) for call in calls]


def previous_response_id(url: str) -> str:
    """Stream with `responses.create()`, and answer the calls as they were announced."""
    api = OpenAI(base_url=url, api_key=API_KEY)
    given, before = [{"role": "user", "content": QUESTION}], None
    while True:
        calls, text = {}, ""
        for event in api.responses.create(
            model=MODEL, input=given, tools=[TOOL], stream=True, previous_response_id=before
        ):
            if event.type == "response.created":
                before = event.response.id
            elif event.type == "response.output_item.added" and event.item.type == "function_call":
                calls[event.output_index] = [event.item.call_id, ""]
            elif event.type == "response.function_call_arguments.delta":
                calls[event.output_index][1] += event.delta
            elif event.type == "response.output_text.delta":
                text += event.delta
        if not calls:
            return text
        given = [output(*call) for call in calls.values()]


def output(call_id: str, arguments: str) -> dict[str, str]:
    """Run the tool."""
    said = get_weather(**json.loads(arguments))
    return {"type": "function_call_output", "call_id": call_id, "output": said}


through_all({"stream": stream, "previous_response_id": previous_response_id})
