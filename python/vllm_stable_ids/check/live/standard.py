"""The standard requests: small, and enough to show each fault on any model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MOST_TOKENS = 512
# A model that thinks must come to its calls; an answer cut before them shows none.
MOST_TOKENS_TO_CALL = 2048

GET_WEATHER: dict[str, Any] = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in one city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}


@dataclass(frozen=True, slots=True)
class Standard:
    """One of the standard requests."""

    name: str
    title: str
    body: dict[str, Any]


TEXT = Standard(
    "text",
    "plain text",
    {"input": "Say hello in one short sentence.", "max_output_tokens": MOST_TOKENS},
)
CALL = Standard(
    "call",
    "a call, forced",
    {
        "input": "What is the weather in Paris?",
        "tools": [GET_WEATHER],
        "tool_choice": {"type": "function", "name": "get_weather"},
        "max_output_tokens": MOST_TOKENS_TO_CALL,
    },
)
CALLS = Standard(
    "calls",
    "two calls, by choice",
    {
        "input": "What is the weather in Paris, and what in Rome? Call get_weather once for each.",
        "tools": [GET_WEATHER],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "max_output_tokens": MOST_TOKENS_TO_CALL,
    },
)
BACKGROUND = Standard(
    "background",
    "in the background",
    {
        "input": "Count from one to twenty, in words.",
        "background": True,
        "max_output_tokens": MOST_TOKENS,
    },
)


def answer(response_id: str, call_id: str) -> Standard:
    """The request that answers a call."""
    output = {"type": "function_call_output", "call_id": call_id, "output": "Sunny, 21 degrees."}
    body = {
        "previous_response_id": response_id,
        "input": [output],
        "tools": [GET_WEATHER],
        "max_output_tokens": MOST_TOKENS,
    }
    return Standard("answer", "a call, answered", body)
