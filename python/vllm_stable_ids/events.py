"""vLLM's and OpenAI's event classes, by event type.

Neither library is imported before vLLM itself has: the classes are those of the running server.
"""

from __future__ import annotations

import importlib
import json
from typing import Any, Literal, get_args

from pydantic import BaseModel, create_model

from vllm_stable_ids.vllm_names import OPENAI_MODULE, PROTOCOL_MODULE

REASONING_PART = "response.reasoning_part."
CONTENT_PART = "response.content_part."
ITEM_DONE = "response.output_item.done"
FAILED: Literal["response.failed"] = "response.failed"

Event = Any
"""An event of vLLM's or OpenAI's: a pydantic model with `type` and `sequence_number`."""


def is_event(event: object) -> bool:
    """Whether `event` is one as vLLM up to 0.33 makes them."""
    return (
        isinstance(event, BaseModel)
        and isinstance(getattr(event, "type", None), str)
        and isinstance(getattr(event, "sequence_number", None), int)
    )


class EventClasses:
    """Builds events of the classes that the running vLLM sends."""

    def __init__(self) -> None:
        """Collect the classes.

        Raises:
            ImportError: vLLM or openai has no such module.
        """
        self._by_type = by_type()
        self._known = frozenset(self._by_type.values())
        # vLLM has no such event of its own, and OpenAI's does not take vLLM's response.
        self._failed = _under_type(self._by_type["response.completed"], FAILED)
        self._content_parts = {
            event_class: _under_type(event_class, event_type.replace(REASONING_PART, CONTENT_PART))
            for event_type, event_class in self._by_type.items()
            if event_type.startswith(REASONING_PART)
        }

    def has(self, event: object) -> bool:
        """Whether an event is of one of the classes; subclasses are others."""
        return type(event) in self._known

    def build(self, event_type: str, text: str) -> Event:
        """The event whose JSON is `text`.

        Raises:
            KeyError: Neither library knows the type.
            pydantic.ValidationError: The JSON does not fit the class.
        """
        return self._by_type[event_type].model_validate_json(text)

    def item(self, text: str) -> Any:
        """The output item whose JSON is `text`.

        Raises:
            pydantic.ValidationError: The JSON is not that of an item.
        """
        event = f'{{"type":"{ITEM_DONE}","sequence_number":0,"output_index":0,"item":{text}}}'
        return self.build(ITEM_DONE, event).item

    def error(self, code: str, message: str) -> Event:
        """The API's `error` event; its sequence number is 0."""
        fields = {"type": "error", "code": code, "message": message, "param": None}
        return self.build("error", json.dumps({**fields, "sequence_number": 0}))

    def failed(self, response: Any) -> Event:
        """`response.failed` with a response of vLLM's; its sequence number is 0."""
        return self._failed(type=FAILED, sequence_number=0, response=response)

    def rename(
        self, event: Event, event_type: str, undo: list[tuple[dict[str, Any], str, Any]]
    ) -> None:
        """Make vLLM's `response.reasoning_part.*` the `response.content_part.*` of OpenAI's API.

        The event itself is changed: one made anew would be checked again, which takes longer than
        all else that is done with it. vLLM 0.32 and later send the same.

        Args:
            event: The event.
            event_type: The type to send it under.
            undo: Takes what can be taken back: (fields, key, old value).

        Raises:
            KeyError: It is not of vLLM's class.
        """
        event_class = self._content_parts[type(event)]
        undo.append((event.__dict__, "type", event.type))
        event.__dict__["type"] = event_type
        # Of pydantic's own way to set attributes, with its checks, it is the slowest.
        object.__setattr__(event, "__class__", event_class)


def by_type() -> dict[str, Any]:
    """The classes of events, vLLM's where it has one, by the `type` of their events.

    Raises:
        ImportError: vLLM or openai has no such module.
    """
    openai = importlib.import_module(OPENAI_MODULE)
    vllm = importlib.import_module(PROTOCOL_MODULE)
    return {
        event_type: member
        for union in (openai.ResponseStreamEvent, vllm.StreamingResponsesResponse)
        for member in _members(union)
        for event_type in get_args(member.model_fields["type"].annotation)
    }


def _under_type(event_class: Any, event_type: str) -> Any:
    """The class of events that are like those of `event_class`, under another type."""
    fields: dict[str, Any] = {"type": (Literal[event_type], ...)}
    return create_model(event_class.__name__, __base__=event_class, **fields)


def _members(union: Any) -> list[Any]:
    """The classes of a union, also where it is annotated with a discriminator."""
    args = get_args(union)
    if args and not isinstance(args[0], type):
        return _members(args[0])
    return [member for member in args if isinstance(member, type)]
