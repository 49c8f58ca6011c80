"""Replays event streams to openai-python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openai import OpenAI

from clients.shared.tools import API_KEY, MODEL, PROMPT, TOOLS, replay_all, run_item

if TYPE_CHECKING:
    from collections.abc import Iterable

REQUEST: dict[str, Any] = {"model": MODEL, "input": PROMPT, "tools": TOOLS}
ENDS = ("response.completed", "response.incomplete")


def responses(url: str) -> Any:
    """Return the client's API of responses."""
    return OpenAI(base_url=url, api_key=API_KEY, max_retries=0).responses


def final(url: str, calls: list[dict[str, Any]]) -> str:
    """Run the calls of the final response."""
    with responses(url).stream(**REQUEST) as events:
        # `get_final_response()` raises for an incomplete response.
        ends = [event.response for event in events if event.type in ENDS]
    if not ends:
        raise RuntimeError("no final response")
    for item in ends[-1].output:
        run_item(item, calls)
    return str(ends[-1].output_text)


def items(url: str, calls: list[dict[str, Any]]) -> str:
    """Run each call when its item is done, with `responses.stream()`."""
    with responses(url).stream(**REQUEST) as events:
        return follow(events, calls)


def create(url: str, calls: list[dict[str, Any]]) -> str:
    """Run each call when its item is done, with `responses.create(stream=True)`."""
    return follow(responses(url).create(**REQUEST, stream=True), calls)


def follow(events: Iterable[Any], calls: list[dict[str, Any]]) -> str:
    """Read the events to their end; return the text of the deltas."""
    text = ""
    for event in events:
        if event.type == "response.output_item.done":
            run_item(event.item, calls)
        elif event.type == "response.output_text.delta":
            text += event.delta
    return text


replay_all({"final": final, "items": items, "create": create})
