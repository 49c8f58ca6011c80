"""Redacts the frames of a stream, and the objects in them."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.check.frames import DONE, MAX_FRAME_BYTES, Frame, Frames
from vllm_stable_ids.check.redact.deltas import DeltaMasks
from vllm_stable_ids.check.redact.exact_json import Members, Number, read, written
from vllm_stable_ids.check.redact.members import (
    CONTENT,
    CUT_SHORT,
    ERROR_EVENT,
    EVENT,
    KINDS,
    RESPONSE,
    Rule,
    String,
)
from vllm_stable_ids.check.redact.pseudonyms import Pseudonyms
from vllm_stable_ids.check.redact.texts import TextMasks

if TYPE_CHECKING:
    from collections.abc import Callable

API = "response."
DELTA = "delta"
MODEL = "model"
"""What any model is called."""
NO_JSON = b"(redacted: no JSON)"
NO_TEXT = b"\xff"
"""What is no UTF-8, and so no type of an event."""


class Redactor:
    """Redacts streams and responses; what is equal in two of them stays equal."""

    def __init__(self) -> None:
        """Choose a key, which is never written."""
        key = secrets.token_bytes(32)
        self._texts = TextMasks(key)
        self._pseudonyms = Pseudonyms(key)
        self._replace: dict[String, Callable[[str], str]] = {
            "text": self._texts.text,
            "name": self._pseudonyms.name,
            "names": self._pseudonyms.names,
            "id": self._pseudonyms.id,
            "type": self._pseudonyms.type,
            "event": self._pseudonyms.event,
            "model": lambda _: MODEL,
        }
        self._begin()

    def _begin(self) -> None:
        """Begin a stream; names and texts are still replaced as before."""
        self._frames = Frames()
        self._deltas = DeltaMasks(self._texts)

    def feed(self, piece: bytes) -> bytes:
        """Take in a piece of a stream; returns the frames that are whole by now."""
        if self._frames.is_over:
            return b""
        out = list(map(self._frame, self._frames.feed(piece)))
        if self._frames.is_over:
            # A frame as long as the checker does not read either.
            out.append(b"data: %b\n\n" % (b"x" * MAX_FRAME_BYTES))
        return b"".join(out)

    def finish(self) -> bytes:
        """End the stream; returns what was left, if it was cut."""
        # Without the blank line, as it came.
        rest = b"".join(self._frame(frame)[:-1] for frame in self._frames.finish())
        self._begin()
        return rest

    def stream(self, raw: bytes) -> bytes:
        """A stream that is there whole."""
        return self.feed(raw) + self.finish()

    def document(self, content: dict[str, Any]) -> dict[str, Any]:
        """A response that was stored, or a request."""
        redacted = self._value(read(json.dumps(content)), Rule(kind=RESPONSE))
        document: dict[str, Any] = json.loads(written(redacted))
        return document

    def id(self, value: str) -> str:
        """An id, as it is in streams and documents."""
        return self._pseudonyms.id(value)

    def _frame(self, frame: Frame) -> bytes:
        """The frame with what stays of it: the type of the event, and its data."""
        line = b"event: %b\n" % self._event_name(frame.event) if frame.event else b""
        data = DONE if frame.is_done else self._data(frame)
        return b"%bdata: %b\n\n" % (line, data)

    def _event_name(self, name: bytes) -> bytes:
        try:
            return self._pseudonyms.event(name.decode()).encode()
        except UnicodeDecodeError:
            return NO_TEXT

    def _data(self, frame: Frame) -> bytes:
        try:
            event = read(frame.data.decode(errors="replace"))
            if isinstance(event, Members):
                redacted: Any = self._event(event, _type_of(event, frame))
            else:
                redacted = self._value(event, CONTENT)
            return written(redacted).encode()
        except (ValueError, RecursionError):
            return NO_JSON

    def _event(self, event: Members, event_type: str) -> Members:
        kind = ERROR_EVENT if event_type == ERROR_EVENT else EVENT
        mask = self._deltas.mask_of(event, event_type)
        if mask is None:
            return self._object(event, kind)
        delta = mask.masked(event.last(DELTA))
        rest = Members((name, None if name == DELTA else value) for name, value in event)
        redacted = self._object(rest, kind)
        return Members((name, delta if name == DELTA else value) for name, value in redacted)

    def _value(self, value: Any, rule: Rule) -> Any:
        if isinstance(value, Number):
            return value if rule.number else self._pseudonyms.number(value)
        if isinstance(value, str):
            return value if value in rule.words else self._replace[rule.string](value)
        if isinstance(value, Members):
            return self._object(value, rule.kind)
        if isinstance(value, list):
            within = rule if rule.kind is not None or rule.numbers else CONTENT
            return [self._value(entry, within) for entry in value]
        return value

    def _object(self, members: Members, kind: str | None) -> Members:
        known = KINDS.get(kind or "", {})
        redacted = Members()
        for name, value in members:
            rule = known.get(name)
            if rule is not None:
                redacted.append((name, self._value(value, rule)))
            elif kind not in CUT_SHORT:
                redacted.append((self._pseudonyms.name(name), self._value(value, CONTENT)))
        return redacted


def _type_of(event: Members, frame: Frame) -> str:
    """The type that counts: the event's own, if it is one of the API's."""
    named = event.last("type")
    own = named if isinstance(named, str) else ""
    return own if own.startswith(API) else frame.event.decode(errors="replace") or own
