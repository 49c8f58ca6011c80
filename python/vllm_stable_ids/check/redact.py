"""Takes out of a stream what was said, and leaves what the checker judges by.

Types, ids, indices, numbers, status and how texts and lists are cut stay. Each character of a text
becomes another, chosen by a key that is thrown away, from all that stands before it, so that what
it was cannot be found out. Texts that were equal, or began alike, still are. What stands before a
brace does not count behind it: the markup of a call that was cut must still end with what was
streamed of its arguments. White space and lengths stay.
"""

from __future__ import annotations

import json
import re
import secrets
import string
from hashlib import blake2b
from typing import Any

IDS = {"id", "item_id", "call_id", "response_id", "previous_response_id", "approval_request_id"}
WORDS = {"type", "object", "status", "role", "phase", "code", "reason", "truncation", "tool_choice"}
NAMES = {"name", "namespace", "server_label"}
OBJECTS = {"item", "part", "response", "error", "incomplete_details", "usage"}
LISTS = {"input", "output", "content", "summary"}
DETAILS = "_details"
MODEL = "model"
# Names that are vLLM's own, and tell which kind of call it is.
OWN_NAMES = {"browser", "python", "container", "functions", "code_interpreter"}
NOTHING = re.compile(r"(?!)")
WORD = re.compile(r"[A-Za-z0-9_.-]{1,64}")
FRAME_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
LINE_END = re.compile(rb"\r\n|\n|\r")
# A name that ids may have by chance.
SHORT = 2
LETTERS = string.ascii_letters + string.digits + "-_"
BRACE = "{"


class Redactor:
    """Redacts streams and responses; what is equal in two of them stays equal."""

    def __init__(self) -> None:
        """Choose a key."""
        self._key = secrets.token_bytes(32)
        self._names: dict[str, str] = {}
        self._in_ids = NOTHING
        self._deltas: dict[tuple[str, ...], _Mask] = {}
        self._rest = b""

    def feed(self, piece: bytes) -> bytes:
        """Take in a piece of a stream; returns the frames that are whole by now."""
        *frames, self._rest = FRAME_END.split(self._rest + piece)
        if self._rest == b"\r" and piece[-1:] == b"\r":
            frames.append(b"")
        return b"".join(map(self._frame, frames))

    def finish(self) -> bytes:
        """End the stream; returns what was left, if it was cut."""
        rest, self._rest = self._rest, b""
        self._deltas.clear()
        # Without the blank line, as it came.
        return self._frame(rest)[:-1] if rest.strip() else b""

    def stream(self, raw: bytes) -> bytes:
        """A stream that is there whole."""
        return self.feed(raw) + self.finish()

    def document(self, content: dict[str, Any]) -> dict[str, Any]:
        """A response that was stored, or a request."""
        return self._object(content)

    def _frame(self, frame: bytes) -> bytes:
        data: list[bytes] = []
        lines: list[bytes] = []
        for line in LINE_END.split(frame):
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if name == b"data":
                data.append(value)
            elif name == b"event" and WORD.fullmatch(value.decode(errors="replace")):
                lines.append(b"event: " + value)
            elif name == b"retry" and value.isdigit():
                lines.append(b"retry: " + value)
        if data:
            lines.append(b"data: " + self._data(b"\n".join(data)))
        return b"\n".join(lines) + b"\n\n" if lines else b""

    def _data(self, data: bytes) -> bytes:
        if data.strip() in {b"", b"[DONE]"}:
            return data
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            return b"(redacted: no JSON)"
        redacted = self._event(event) if isinstance(event, dict) else self._value("", event)
        return json.dumps(redacted, separators=(",", ":")).encode()

    def _event(self, event: dict[str, Any]) -> dict[str, Any]:
        delta = event.get("delta")
        if not isinstance(delta, str):
            return self._object(event)
        names = ("type", "item_id", "output_index", "content_index", "summary_index")
        place = tuple(str(event.get(name)) for name in names)
        so_far = self._deltas.setdefault(place, _Mask(self._key))
        return {**self._object(event), "delta": so_far.masked(delta)}

    def _object(self, value: dict[str, Any]) -> dict[str, Any]:
        for name in NAMES:
            # Before the ids that have it in them.
            if isinstance(value.get(name), str):
                self._string(name, value[name])
        return {name: self._value(name, inner) for name, inner in value.items()}

    def _value(self, name: str, value: Any) -> Any:
        if isinstance(value, str):
            return self._string(name, value)
        if isinstance(value, dict):
            if name in OBJECTS or name.endswith(DETAILS):
                return self._object(value)
            if name == "tool_choice":
                return self._tool(value)
            return {"redacted": self._of_json(value)} if value else value
        if isinstance(value, list):
            return self._list(name, value)
        return value

    def _list(self, name: str, value: list[Any]) -> list[Any]:
        if name == "tools":
            return [self._tool(tool) for tool in value if isinstance(tool, dict)]
        if name in LISTS or all(isinstance(entry, int | float) for entry in value):
            return [
                self._object(entry) if isinstance(entry, dict) else self._value("", entry)
                for entry in value
            ]
        return [self._of_json(value)]

    def _tool(self, tool: dict[str, Any]) -> dict[str, Any]:
        """A tool, of which no more than its kind and name concerns the checker."""
        kept = ("type", "name", "server_label")
        return {name: self._value(name, tool[name]) for name in kept if name in tool}

    def _string(self, name: str, value: str) -> str:
        if name in IDS:
            # Some servers make an id of the name of the tool.
            return self._in_ids.sub(lambda found: self._names[found[0]], value)
        if name in WORDS and WORD.fullmatch(value):
            return value
        if name in NAMES:
            return ".".join(map(self._name, value.split(".")))
        return MODEL if name == MODEL else self._text(value)

    def _name(self, name: str) -> str:
        if not name or name in OWN_NAMES:
            return name
        if name not in self._names:
            self._names[name] = f"name_{len(self._names) + 1}"
            names = sorted(
                (name for name in self._names if len(name) > SHORT), key=len, reverse=True
            )
            if names:
                found = "|".join(map(re.escape, names))
                self._in_ids = re.compile(rf"(?<![A-Za-z0-9])(?:{found})(?![A-Za-z0-9])")
        return self._names[name]

    def _of_json(self, value: Any) -> str:
        return self._text(json.dumps(value, sort_keys=True))

    def _text(self, text: str) -> str:
        return _Mask(self._key).masked(text)


class _Mask:
    """Masks a text that may come in pieces."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._before = blake2b(key=key, digest_size=1)

    def masked(self, piece: str) -> str:
        """The next piece, each character but white space replaced."""
        return "".join(map(self._letter, piece))

    def _letter(self, character: str) -> str:
        if character == BRACE:
            self._before = blake2b(key=self._key, digest_size=1)
        self._before.update(character.encode(errors="surrogatepass"))
        if character.isspace():
            return character
        return LETTERS[self._before.digest()[0] % len(LETTERS)]
