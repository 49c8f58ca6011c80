"""What a replayed stream is, and the events that streams are built from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bed.corpus import encode, numbered

if TYPE_CHECKING:
    from collections.abc import Sequence

Event = dict[str, Any]
Item = dict[str, Any]

GIVEN = {"path": "notes.txt", "content": "Buy tea."}
PIECES = ('{"path":"notes.txt",', '"content":"Buy tea."}')
ARGUMENTS = "".join(PIECES)
SCRIPT = ("print(", "'tea')\n")
ANSWER = ("Two ", "files.")
THOUGHT = ("Look at ", "the files.")


@dataclass(frozen=True)
class Call:
    """One execution of a tool.

    Attributes:
        call_id: The id that the tool's output is sent under.
        name: The tool.
        given: The parsed arguments, or the input of a custom tool.
    """

    call_id: str
    name: str = "write_file"
    given: Any = field(default_factory=lambda: GIVEN)


@dataclass(frozen=True)
class Stream:
    """An event stream, and what a client should do with it.

    Attributes:
        name: A short name.
        fault: What is wrong with it, as the page says it.
        events: The events, without sequence numbers.
        calls: The tool executions that are expected.
        text: The text that is expected.
        optional: Whether a client may leave the calls alone. None runs with other arguments.
        fails: Whether the response fails: a client may then report an error.
    """

    name: str
    fault: str
    events: Sequence[Event]
    calls: tuple[Call, ...] = ()
    text: str = ""
    optional: bool = False
    fails: bool = False

    @property
    def raw(self) -> bytes:
        """Return the bytes that the server sends."""
        return encode(numbered(self.events))

    @property
    def custom(self) -> bool:
        """Whether it calls a custom tool."""
        return any(call.name == "run_script" for call in self.calls)


def call(number: int = 1, arguments: str = "", **fields: Any) -> Item:
    """Return a call of `write_file`."""
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": "write_file",
        "arguments": arguments,
        "status": "completed" if arguments else "in_progress",
    } | fields


def message(text: str = "", item_id: str = "msg_1") -> Item:
    """Return a message."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {
        "type": "message",
        "id": item_id,
        "role": "assistant",
        "content": [part] if text else [],
        "status": "completed" if text else "in_progress",
    }


def reasoning(**fields: Any) -> Item:
    """Return an item of reasoning."""
    return {"type": "reasoning", "id": "rs_1", "summary": [], **fields}


def added(item: Item, index: int = 0) -> Event:
    """Return the announcement of an item."""
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(item: Item, index: int = 0) -> Event:
    """Return the close of an item."""
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def arguments(number: int = 1, index: int = 0) -> list[Event]:
    """Return the arguments of a call, in deltas."""
    at = {"item_id": f"fc_{number}", "output_index": index}
    kind = "response.function_call_arguments.delta"
    return [{"type": kind, **at, "delta": piece} for piece in PIECES]


def arguments_done(number: int = 1, index: int = 0) -> Event:
    """Return the event with the whole arguments."""
    at = {"item_id": f"fc_{number}", "output_index": index}
    return {"type": "response.function_call_arguments.done", **at, "arguments": ARGUMENTS}


def whole_call(number: int = 1, index: int = 0, **fields: Any) -> list[Event]:
    """Return all events of a call."""
    return [
        added(call(number, **fields), index),
        *arguments(number, index),
        arguments_done(number, index),
        done(call(number, ARGUMENTS, **fields), index),
    ]


def texts(kind: str, pieces: Sequence[str], **at: Any) -> list[Event]:
    """Return a text in deltas, and the event with the whole text."""
    extra: dict[str, Any] = {"logprobs": []} if kind == "output_text" else {}
    return [
        *({"type": f"response.{kind}.delta", **at, "delta": piece, **extra} for piece in pieces),
        {"type": f"response.{kind}.done", **at, "text": "".join(pieces), **extra},
    ]


def whole_message(index: int = 0, item_id: str = "msg_1", *, parts: bool = True) -> list[Event]:
    """Return all events of a message; `parts=False` leaves out those that open and end its part."""
    at = {"item_id": item_id, "output_index": index, "content_index": 0}
    item = message("".join(ANSWER), item_id)
    part = item["content"][0]
    opened = {"type": "response.content_part.added", **at, "part": {**part, "text": ""}}
    ended = {"type": "response.content_part.done", **at, "part": part}
    return [
        added(message(item_id=item_id), index),
        *([opened] if parts else []),
        *texts("output_text", ANSWER, **at),
        *([ended] if parts else []),
        done(item, index),
    ]


def response(*events: Event, output: Sequence[Item] = (), end: str = "completed") -> list[Event]:
    """Return a response with these events, whose last event lists this output."""
    head = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "metadata": {},
        "error": {"code": "server_error", "message": "Out of memory."} if end == "failed" else None,
        "incomplete_details": {"reason": "max_output_tokens"} if end == "incomplete" else None,
    }
    usage = {
        "input_tokens": 9,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 18,
    }
    start = {**head, "status": "in_progress", "output": [], "error": None}
    start["incomplete_details"] = None
    last = {**head, "status": end, "output": list(output), "usage": usage}
    return [
        {"type": "response.created", "response": start},
        {"type": "response.in_progress", "response": start},
        *events,
        {"type": f"response.{end}", "response": last},
    ]
