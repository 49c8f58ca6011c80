"""What a strict client expects of a stream beyond the identities: see `judge` for those.

OpenAI's API has a fixed vocabulary of events, ids with conventional prefixes, and announces each
part of an item before it streams into it. A stream can keep every identity and still stop a
client here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bed.judge import ADDED, Breach, Event

if TYPE_CHECKING:
    from collections.abc import Sequence

PREFIXES = {
    "message": "msg_",
    "reasoning": "rs_",
    "function_call": "fc_",
    "custom_tool_call": "ctc_",
    "mcp_call": "mcp_",
    "code_interpreter_call": "ci_",
    "web_search_call": "ws_",
}

# Public events, by what follows "response.": the object, and what can happen to it.
_LIFE = ("in_progress", "completed")
VOCABULARY = frozenset({"error", "keepalive"}) | {
    f"response.{thing}.{change}" if thing else f"response.{change}"
    for thing, changes in {
        "": ("created", "queued", "in_progress", "completed", "incomplete", "failed"),
        "output_item": ("added", "done"),
        "content_part": ("added", "done"),
        "output_text": ("delta", "done"),
        "output_text.annotation": ("added",),
        "refusal": ("delta", "done"),
        "reasoning_text": ("delta", "done"),
        "reasoning_summary_part": ("added", "done"),
        "reasoning_summary_text": ("delta", "done"),
        "function_call_arguments": ("delta", "done"),
        "custom_tool_call_input": ("delta", "done"),
        "mcp_call_arguments": ("delta", "done"),
        "mcp_call": (*_LIFE, "failed"),
        "mcp_list_tools": (*_LIFE, "failed"),
        "code_interpreter_call_code": ("delta", "done"),
        "code_interpreter_call": (*_LIFE, "interpreting"),
        "web_search_call": (*_LIFE, "searching"),
        "file_search_call": (*_LIFE, "searching"),
        "image_generation_call": (*_LIFE, "generating", "partial_image"),
        "audio": ("delta", "done"),
        "audio.transcript": ("delta", "done"),
    }.items()
    for change in changes
}

# Events that stream into a part: the events that may have announced it, and the part's counter.
_CONTENT = ("response.content_part.added", "response.reasoning_part.added")
_SUMMARY = ("response.reasoning_summary_part.added",)
PARTS = {
    "response.output_text.delta": (_CONTENT, "content_index"),
    "response.output_text.done": (_CONTENT, "content_index"),
    "response.refusal.delta": (_CONTENT, "content_index"),
    "response.reasoning_text.delta": (_CONTENT, "content_index"),
    "response.reasoning_text.done": (_CONTENT, "content_index"),
    "response.reasoning_summary_text.delta": (_SUMMARY, "summary_index"),
    "response.reasoning_summary_text.done": (_SUMMARY, "summary_index"),
}


def vocabulary_breaches(events: Sequence[Event]) -> list[Breach]:
    """List the events whose type OpenAI's public API does not have."""
    return [
        Breach("VOCABULARY", f"no public event {event.get('type')}", position)
        for position, event in enumerate(events)
        if event.get("type") not in VOCABULARY
    ]


def prefix_breaches(events: Sequence[Event]) -> list[Breach]:
    """List the announcements whose id lacks the conventional prefix of the item's type."""
    found = []
    for position, event in enumerate(events):
        if event.get("type") == ADDED:
            kind, item_id = event["item"].get("type"), event["item"].get("id")
            prefix = PREFIXES.get(kind, "")
            if not str(item_id).startswith(prefix):
                found.append(Breach("PREFIX", f"{kind} {item_id}, not {prefix}…", position))
    return found


def part_breaches(events: Sequence[Event]) -> list[Breach]:
    """List the events that stream into a part of an item before the part is announced."""
    known: set[tuple[object, str, object]] = set()
    found = []
    for position, event in enumerate(events):
        kind = str(event.get("type"))
        for counter in ("content_index", "summary_index"):
            if kind in _CONTENT + _SUMMARY and counter in event:
                known.add((event.get("item_id"), counter, event[counter]))
        if kind in PARTS:
            counter = PARTS[kind][1]
            if (event.get("item_id"), counter, event.get(counter)) not in known:
                found.append(Breach("PART", f"{kind} into a part never announced", position))
    return found
