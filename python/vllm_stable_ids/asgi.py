"""The wire rewriter as an ASGI middleware, for servers whose generators are not patched.

    vllm serve … --middleware vllm_stable_ids.asgi.StableIdsMiddleware

or `app.add_middleware(StableIdsMiddleware)` in any Starlette or FastAPI application. It needs
neither: it is ASGI and nothing else.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Awaitable, Callable, Iterable, MutableMapping, Sequence
from typing import Any

from vllm_stable_ids import metrics, settings
from vllm_stable_ids.log import count_failure, fail_open, logger
from vllm_stable_ids.rewriter import SseRewriter
from vllm_stable_ids.tally import Tally

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# The end of a path, since an application may be mounted below a prefix.
CREATE = re.compile(r"/v1/responses\Z")
RETRIEVE = re.compile(r"/v1/responses/[^/]+\Z")
STREAMS = {"POST": CREATE, "GET": RETRIEVE}
"""Which requests a stream of response events may answer."""

PATCHES = "vllm_stable_ids.patches"

OK = 200

OF_THE_BODY = frozenset(
    {
        *(b"content-length", b"content-range", b"accept-ranges"),
        *(b"etag", b"last-modified"),
        *(b"content-md5", b"digest", b"content-digest", b"repr-digest"),
    }
)
"""Headers that describe the body as the application made it: its length, ranges of it, validators
(RFC 9110, section 8.8) and digests. A cache that took them for those of the rewritten body would
mix the two."""


class StableIdsMiddleware:
    """Rewrites the event streams of the Responses API; everything else passes as it is.

    It stands aside where the plugin has patched the server in this process, and where
    `VLLM_STABLE_IDS` is off.
    """

    def __init__(self, app: App) -> None:
        """Wrap an application; the settings are read now."""
        self.app = app
        switches, problems = settings.load()
        self._enabled = switches.enabled
        self._openai_vocabulary = switches.vocabulary
        if PATCHES not in sys.modules:  # where it is loaded, it has said so
            for problem in problems:
                logger.warning("stable_ids: %s", problem)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if not self._enabled or not _may_stream(scope) or _patched():
            await self.app(scope, receive, send)
            return
        answer = _Answer(send, openai_vocabulary=self._openai_vocabulary)
        try:
            await self.app(scope, receive, answer)
            await answer.send_held()
        except Exception:
            answer.broke_off()
            await answer.send_held()
            raise
        finally:
            answer.ended()


def _may_stream(scope: Scope) -> bool:
    if scope["type"] != "http":
        return False
    path = STREAMS.get(scope["method"])
    return path is not None and path.search(scope["path"]) is not None


def _patched() -> bool:
    """Whether the generators of this process are patched, as of now."""
    patches = sys.modules.get(PATCHES)
    return patches is not None and patches.active()


class _Answer:
    """Takes the place of `send` for one request."""

    __slots__ = (
        "_client_left",
        "_is_stream",
        "_openai_vocabulary",
        "_rewriter",
        "_send",
        "_tally",
    )

    def __init__(self, send: Send, *, openai_vocabulary: bool) -> None:
        self._client_left = False
        self._is_stream = False
        self._openai_vocabulary = openai_vocabulary
        self._rewriter: SseRewriter | None = None
        self._send = send
        self._tally = Tally()

    async def __call__(self, message: Message) -> None:
        kind = message["type"]
        if kind == "http.response.start":
            message = self._started(message)
        elif kind == "http.response.trailers" and self._is_stream:
            message = _without_headers_of_the_body(message)
        elif kind == "http.response.body" and self._rewriter is not None:
            body = message.get("body", b"")
            more = message.get("more_body", False)
            self._tally.ended = not more
            sent = self._rewritten(self._rewriter, body, more=more)
            if more and not sent:
                return  # a frame is unfinished
            if sent != body:
                message = {**message, "body": sent}
        try:
            await self._send(message)
        except Exception:
            self._client_left = True
            raise

    async def send_held(self) -> None:
        """Send what is held of a body that the application left without an end.

        It stays without one: whether the answer was complete is for the server to say.
        """
        if self._rewriter is None or self._client_left:
            return
        held = self._rewritten(self._rewriter, b"", more=False)
        if held:
            # It must not take the place of the application's own exception, nor be one more.
            with contextlib.suppress(Exception):
                await self._send({"type": "http.response.body", "body": held, "more_body": True})

    def broke_off(self) -> None:
        """Take note that the application failed; not where it could not send."""
        self._tally.broken_off = not self._client_left and not self._tally.ended

    def ended(self) -> None:
        """Count the stream, if it was one."""
        if not self._is_stream:
            return
        if self._rewriter is not None:  # no more of the stream comes
            self._rewritten(self._rewriter, b"", more=False)
        metrics.stream_ended("wire", self._tally)

    def _started(self, message: Message) -> Message:
        message = _with_listed_headers(message)
        if message.get("status") != OK or not _is_plain_event_stream(message.get("headers", ())):
            return message
        self._is_stream = True
        self._rewriter = SseRewriter(openai_vocabulary=self._openai_vocabulary)
        return _without_headers_of_the_body(message)

    def _rewritten(self, rewriter: SseRewriter, body: bytes, *, more: bool) -> bytes:
        try:
            # Servers accept what is like bytes, too.
            sent = rewriter.feed(bytes(body))
        except Exception as error:  # noqa: BLE001 - the stream must go on
            return self._give_up(rewriter, error) + body
        if more:
            return sent
        try:
            sent += rewriter.finish()
            self._report(rewriter)
        except Exception as error:  # noqa: BLE001 - the stream must go on
            return sent + self._give_up(rewriter, error)
        return sent

    def _give_up(self, rewriter: SseRewriter, error: Exception) -> bytes:
        """Pass what follows as it is; returns what was held back."""
        self._rewriter = None
        self._tally.given_up = True
        fail_open("stable_ids: a stream goes on as the server made it", error)
        try:
            return rewriter.finish()
        except Exception:  # noqa: BLE001 - it is said already, and what follows matters more
            return b""

    def _report(self, rewriter: SseRewriter) -> None:
        self._rewriter = None
        report = rewriter.report()
        self._tally.take_report(report)
        if report["limit"] is not None:
            count_failure(report["limit"])
            logger.warning(
                "stable_ids: a stream went on as the server made it (%s)", report["gave_up"]
            )


def _with_listed_headers(message: Message) -> Message:
    """The message with headers that can be read more than once."""
    headers = message.get("headers", ())
    if isinstance(headers, list | tuple) and all(isinstance(one, list | tuple) for one in headers):
        return message
    return {**message, "headers": [tuple(header) for header in headers]}


def _without_headers_of_the_body(message: Message) -> Message:
    message = _with_listed_headers(message)
    headers = message.get("headers", ())
    kept = [header for header in headers if bytes(header[0]).lower() not in OF_THE_BODY]
    return message if len(kept) == len(headers) else {**message, "headers": kept}


def _is_plain_event_stream(headers: Iterable[Sequence[bytes]]) -> bool:
    """Whether a body under these headers can be read as an event stream."""
    kind = b""
    for name, value in headers:
        lower = bytes(name).lower()
        if lower == b"content-type":
            kind = bytes(value).split(b";", 1)[0].strip().lower()
        elif lower == b"content-encoding" and bytes(value).strip().lower() != b"identity":
            return False
    return kind == b"text/event-stream"
