"""Tells an event stream from what people hand in for one."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.check.verdict import Reason

if TYPE_CHECKING:
    from vllm_stable_ids.check.verdict import Format

RECORD = (
    'Record the stream with curl -sN and "stream": true in a request to /v1/responses; '
    "docs/check.md shows how."
)
MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x78\x01": "zlib",
    b"\x78\x9c": "zlib",
    b"\x78\xda": "zlib",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"PK\x03\x04": "zip",
}
UTF16 = (b"\xff\xfe", b"\xfe\xff")
FRAME_LINE = re.compile(rb"^(?:data|event|id|retry)?:", re.MULTILINE)
DATA_LINE = re.compile(rb"^data: ?(.*?)\r?$", re.MULTILINE)
BLANK_LINE = re.compile(rb"(?:\r?\n){2}|\r\r")
RESPONSE_EVENT = re.compile(rb'"type"\s*:\s*"response\.')
HTTP_STATUS = re.compile(rb"HTTP/[\d.]+ (\d{3})")
FIRST_ERROR = 400
CLIPPED = 200
LOOKED_AT = 64


@dataclass(frozen=True, slots=True)
class Input:
    """How an input is to be read."""

    format: Format
    lines: bool = False
    """Whether each line is an event, with nothing between two of them."""


def recognise(head: bytes, *, whole: bool) -> Input | Reason:
    """What begins with `head`, and is no more if `whole`."""
    packed = _packed(head)
    if packed is not None:
        return packed
    text, status = _without_headers(head.removeprefix(b"\xef\xbb\xbf"))
    start = text.lstrip()
    if status >= FIRST_ERROR:
        return _error_body(_message(_loaded(start)) or f"HTTP status {status}")
    if start.startswith((b"{", b"[")):
        is_lines = _has_event_lines(start, whole=whole)
        return Input("jsonl", lines=True) if is_lines else _body(start)
    if start.startswith(b"<") or not FRAME_LINE.search(text):
        return _no_frames(start)
    data = DATA_LINE.findall(text)
    is_lines = len(data) > 1 and not BLANK_LINE.search(text) and _loaded(data[0]) is not None
    return Input("sse", lines=is_lines)


def no_stream(head: bytes) -> Reason:
    """What begins with `head` and has no event of the Responses API."""
    data = DATA_LINE.findall(head) or head.splitlines()
    events = [event for event in map(_loaded, data[:LOOKED_AT]) if isinstance(event, dict)]
    for event in events:
        if _is_chat(event):
            return _chat()
        if message := _message(event):
            return _error_body(message)
    types = [event["type"] for event in events if isinstance(event.get("type"), str)]
    seen = ", ".join(dict.fromkeys(_clip(kind) for kind in types[:3]))
    return Reason(
        "other_stream",
        "It has no event of the Responses API" + (f", but {seen}." if seen else "."),
        RECORD,
        unquoted="It has no event of the Responses API.",
    )


def _packed(head: bytes) -> Reason | None:
    """What is to be unpacked before it can be read."""
    for magic, name in MAGIC.items():
        if head.startswith(magic):
            return Reason(
                "compressed",
                f"It is compressed ({name}).",
                "Unpack it first, or ask the server for none: -H 'Accept-Encoding: identity'.",
            )
    if head.startswith(UTF16):
        return Reason(
            "utf16",
            "It is UTF-16, as PowerShell's > writes it.",
            "Let curl write the file: -o stream.sse.",
        )
    return None


def _no_frames(start: bytes) -> Reason:
    if not start:
        return Reason("empty", "There is nothing in it.", RECORD)
    if start.startswith(b"<"):
        return Reason(
            "html",
            "It is a page of HTML or XML, as a proxy or a wrong address answers with.",
            f"Look at the page, and at the address of the request. {RECORD}",
        )
    if b"\0" in start or b"\xef\xbf\xbd" in start[:-4].decode(errors="replace").encode():
        return Reason(
            "binary",
            "It is not text.",
            "If the server compressed it (br), ask for none: -H 'Accept-Encoding: identity'.",
        )
    return Reason("text", "It is text, and has no events.", RECORD)


def _without_headers(head: bytes) -> tuple[bytes, int]:
    """The body of a response that was recorded with its headers, and the status."""
    status = 0
    while found := HTTP_STATUS.match(head):
        status = int(found[1])
        head = [*BLANK_LINE.split(head, 1), b""][1]
    return head, status


def _has_event_lines(start: bytes, *, whole: bool) -> bool:
    """Whether each line of JSON is an event, judged by the first."""
    first = _loaded(start.split(b"\n", 1)[0])
    if first is None and not whole:
        # The first line may be too long to see its end.
        return start.startswith(b"{") and RESPONSE_EVENT.search(start) is not None
    return isinstance(first, dict) and "type" in first and not {"object", "error"} & first.keys()


def _body(start: bytes) -> Reason:
    """What JSON is that is no lines of events."""
    body = _loaded(start)
    if body is None:
        body = _loaded(start.split(b"\n", 1)[0])
    if not isinstance(body, dict):
        return Reason(
            "json",
            "It is JSON, but not one event a line.",
            f"Write each event on a line of its own: jq -c '.[]'. {RECORD}",
        )
    if _is_chat(body):
        return _chat()
    if message := _message(body):
        return _error_body(message)
    if body.get("object") == "response":
        return Reason(
            "response_body",
            "It is a response that was not streamed, which tells of each item only once.",
            RECORD,
        )
    return Reason("json", "It is JSON, but no event of the Responses API.", RECORD)


def _loaded(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_chat(body: dict[str, Any]) -> bool:
    return str(body.get("object")).startswith(("chat.completion", "text_completion"))


def _chat() -> Reason:
    return Reason(
        "chat_completions",
        "It is an answer of /v1/chat/completions or /v1/completions.",
        RECORD,
    )


def _message(body: Any) -> str | None:
    """What an error says, as vLLM, OpenAI or FastAPI write it."""
    if not isinstance(body, dict):
        return None
    error = body.get("error") or body.get("detail")
    if body.get("object") == "error" or body.get("type") == "error":
        error = error or body
    if not error:
        return None
    message = error.get("message") if isinstance(error, dict) else error
    return _clip(str(message))


def _error_body(message: str) -> Reason:
    return Reason(
        "error_body",
        f"The server answered with an error: {message}",
        "Mend the request first.",
        unquoted="The server answered with an error.",
    )


def _clip(text: str) -> str:
    return text if len(text) <= CLIPPED else text[:CLIPPED] + "…"
