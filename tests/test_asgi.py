"""The middleware: what it rewrites, what it leaves alone, and a real vLLM behind it."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import StreamingResponse
from starlette.routing import Mount, Route

from bed import client
from bed.cases import cases_of
from bed.judge import judge
from bed.server import VllmServer
from vllm_stable_ids import asgi, log
from vllm_stable_ids.asgi import StableIdsMiddleware
from vllm_stable_ids.rewriter import SseRewriter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator

    from starlette.requests import Request

    from bed.models import ModelPath
    from vllm_stable_ids.asgi import Message, Receive, Scope, Send

STREAMS = Path(__file__).parents[1] / "rust" / "sse_rewrite" / "tests" / "streams"
MIDDLEWARE = f"{StableIdsMiddleware.__module__}.{StableIdsMiddleware.__name__}"


def frame(kind: str, **fields: Any) -> bytes:
    """One event as vLLM sends it."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


ITEM = {"type": "message", "id": "msg_1", "content": []}
CREATED = frame("response.created", response={"id": "resp_1", "output": []})
ADDED = frame("response.output_item.added", output_index=0, item=ITEM)
DONE = frame("response.output_item.done", output_index=0, item=ITEM | {"id": "msg_2"})
COMPLETED = frame("response.completed", response={"id": "resp_1", "output": [ITEM]})
FRAMES = (CREATED, ADDED, DONE, COMPLETED)
BROKEN = b"".join(FRAMES)


def rewritten(raw: bytes) -> bytes:
    """A stream as the rewriter makes it of the whole, with the event names of the API."""
    rewriter = SseRewriter(openai_vocabulary=True)
    return rewriter.feed(raw) + rewriter.finish()


KEPT = rewritten(BROKEN)


def start(content_type: str = "text/event-stream", **headers: str) -> Message:
    """The message that begins an answer."""
    named = {"content-type": content_type, **headers}
    return {
        "type": "http.response.start",
        "status": 200,
        "headers": [
            (name.replace("_", "-").encode(), value.encode()) for name, value in named.items()
        ],
    }


def bodies(chunks: Iterable[bytes]) -> list[Message]:
    """The messages of a body, as Starlette sends them: an empty one ends it."""
    return [
        *({"type": "http.response.body", "body": chunk, "more_body": True} for chunk in chunks),
        {"type": "http.response.body", "body": b"", "more_body": False},
    ]


async def answer(
    messages: list[Message],
    path: str = "/v1/responses",
    method: str = "POST",
    *,
    error: Exception | None = None,
    sent: list[Message] | None = None,
) -> list[Message]:
    """What becomes of an application's messages behind the middleware."""
    out: list[Message] = [] if sent is None else sent

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)
        if error is not None:
            raise error

    async def receive() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        out.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": []}
    await StableIdsMiddleware(app)(scope, receive, send)
    return out


def body(messages: list[Message]) -> bytes:
    """The body that messages make."""
    return b"".join(message.get("body", b"") for message in messages)


def untouched(sent: list[Message], messages: list[Message]) -> bool:
    """Whether the same objects were sent, none left out."""
    return len(sent) == len(messages) and all(map(lambda a, b: a is b, sent, messages))


@pytest.fixture(autouse=True)
def not_patched(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process without vLLM, whatever other tests have imported."""
    monkeypatch.delitem(sys.modules, asgi.PATCHES, raising=False)


def test_the_stream_these_tests_use_breaks_the_contract_and_is_repaired() -> None:
    assert judge(client.parse(BROKEN)) != []
    assert judge(client.parse(KEPT)) == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/responses"),
        ("POST", "/mounted/below/v1/responses"),
        ("GET", "/v1/responses/resp_1"),
        ("GET", "/mounted/v1/responses/resp_1"),
    ],
)
@pytest.mark.parametrize(
    "content_type", ["text/event-stream", "text/event-stream; charset=utf-8", "Text/Event-Stream"]
)
async def test_event_streams_of_responses_are_rewritten(
    method: str, path: str, content_type: str
) -> None:
    sent = await answer([start(content_type), *bodies(FRAMES)], path, method)
    assert body(sent) == KEPT


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/chat/completions"),
        ("POST", "/v1/responses/resp_1"),
        ("POST", "/v1/responses/resp_1/cancel"),
        ("POST", "/v1/responses.json"),
        ("POST", "/v1/responses\n"),
        ("GET", "/v1/responses"),
        ("GET", "/v1/responses/"),
        ("GET", "/v1/responses/resp_1/input_items"),
        ("HEAD", "/v1/responses/resp_1"),
    ],
)
async def test_other_requests_pass(method: str, path: str) -> None:
    messages = [start(content_length=str(len(BROKEN))), *bodies(FRAMES)]
    assert untouched(await answer(messages, path, method), messages)


@pytest.mark.parametrize(
    "head",
    [
        start("application/json"),
        start("text/event-stream-of-another-kind"),
        start(content_encoding="gzip"),
        start(content_encoding="identity, br"),
        {"type": "http.response.start", "status": 200},
    ],
    ids=["json", "another-kind", "gzip", "br", "no-headers"],
)
async def test_other_answers_pass(head: Message) -> None:
    messages = [head, *bodies(FRAMES)]
    assert untouched(await answer(messages), messages)


async def test_identity_is_no_encoding() -> None:
    assert body(await answer([start(content_encoding="Identity"), *bodies(FRAMES)])) == KEPT


async def test_the_length_of_a_body_that_may_change_is_not_announced() -> None:
    sent = await answer([start(Content_Length="1", x_request_id="7"), *bodies(FRAMES)])
    assert sent[0]["headers"] == [(b"content-type", b"text/event-stream"), (b"x-request-id", b"7")]


@pytest.mark.parametrize(
    "name",
    [
        *("Content-Length", "Content-Range", "Accept-Ranges", "ETag", "Last-Modified"),
        *("Content-MD5", "Digest", "Content-Digest", "Repr-Digest"),
    ],
)
async def test_headers_that_describe_the_unchanged_body_are_dropped(name: str) -> None:
    sent = await answer([start(**{name: "x"}, x_request_id="7"), *bodies(FRAMES)])
    assert body(sent) == KEPT
    assert sent[0]["headers"] == [(b"content-type", b"text/event-stream"), (b"x-request-id", b"7")]
    untouched_head = start("application/json", **{name: "x"})
    assert (await answer([untouched_head, *bodies(FRAMES)]))[0] is untouched_head


async def test_digests_in_trailers_are_dropped_with_the_body_they_describe() -> None:
    digest = (b"Content-Digest", b"sha-256=:x:")
    timing = (b"server-timing", b"total;dur=1")
    trailers: Message = {"type": "http.response.trailers", "headers": [digest, timing]}
    sent = await answer([start(), *bodies(FRAMES), trailers])
    assert sent[-1] == {**trailers, "headers": [timing]}
    sent = await answer([start("application/json"), *bodies(FRAMES), trailers])
    assert sent[-1] is trailers


HEADERS = [[b"Content-Type", b"text/event-stream"], [b"ETag", b"x"], [b"X-Request-Id", b"7"]]


@pytest.mark.parametrize(
    "headers",
    [
        HEADERS,
        tuple(map(tuple, HEADERS)),
        (pair for pair in HEADERS),
        map(iter, HEADERS),
        {bytes(name): value for name, value in HEADERS}.items(),
        [[memoryview(text) for text in pair] for pair in HEADERS],
    ],
    ids=["lists", "tuples", "generator", "iterators", "view", "memoryviews"],
)
async def test_headers_may_be_any_iterable(headers: Any) -> None:
    head = {"type": "http.response.start", "status": 200, "headers": headers}
    sent = await answer([head, *bodies(FRAMES)])
    assert body(sent) == KEPT
    assert [list(map(bytes, pair)) for pair in sent[0]["headers"]] == [HEADERS[0], HEADERS[2]]


async def test_headers_of_what_passes_may_be_any_iterable() -> None:
    head = {**start("application/json"), "headers": (pair for pair in HEADERS[1:])}
    sent = await answer([head, *bodies(FRAMES)])
    assert [list(pair) for pair in sent[0]["headers"]] == HEADERS[1:]
    assert body(sent) == BROKEN


@pytest.mark.parametrize("status", [201, 203, 206, 400, 500, 503])
async def test_an_answer_with_another_status_than_200_passes(status: int) -> None:
    head = {**start(content_range="bytes 0-9/10", etag="x"), "status": status}
    messages = [head, *bodies(FRAMES)]
    assert untouched(await answer(messages), messages)


async def test_whatever_needs_no_change_is_sent_as_the_same_object() -> None:
    messages = [start(), *bodies([part + b"\n\n" for part in KEPT.split(b"\n\n")[:-1]])]
    assert untouched(await answer(messages), messages)


async def test_extensions_and_unknown_fields_pass() -> None:
    trailers = {"type": "http.response.trailers", "headers": [], "more_trailers": False}
    hint: Message = {"type": "http.response.early_hint", "links": []}
    first, *rest = bodies(FRAMES)
    rest[1]["extension"] = 7
    sent = await answer([hint, start(), first, trailers, *rest, trailers])
    assert sent[0] is hint
    assert sent[3] is trailers
    assert sent[-1] is trailers
    assert b"msg_1" in sent[5]["body"]
    assert sent[5]["extension"] == 7
    assert body(sent) == KEPT


async def test_a_websocket_passes() -> None:
    seen: list[object] = []

    async def app(_scope: Scope, receive: Receive, send: Send) -> None:
        seen.extend((receive, send))

    async def receive() -> Message:
        raise AssertionError

    async def send(_message: Message) -> None: ...

    await StableIdsMiddleware(app)({"type": "websocket", "path": "/v1/responses"}, receive, send)
    assert seen == [receive, send]


async def test_each_whole_frame_leaves_in_the_message_it_came_in() -> None:
    sent = await answer([start(), *bodies(FRAMES)])
    assert len(sent) == 1 + len(FRAMES) + 1
    assert [message["body"].count(b"event:") for message in sent[1:]] == [1, 1, 1, 1, 0]


async def test_an_unfinished_frame_waits_and_what_is_whole_does_not() -> None:
    cut = len(CREATED) + 20
    sent = await answer([start(), *bodies([BROKEN[:10], BROKEN[10:cut], BROKEN[cut:]])])
    assert [message.get("body") for message in sent[:2]] == [None, CREATED]
    assert len(sent) == 4
    assert body(sent) == KEPT


async def test_a_cut_last_frame_is_sent_at_the_end() -> None:
    sent = await answer([start(), *bodies([*FRAMES[:3], COMPLETED[:-9]])])
    assert sent[-1] == {"type": "http.response.body", "body": COMPLETED[:-9], "more_body": False}


async def test_a_body_in_one_message_of_an_answer_that_says_no_more() -> None:
    sent = await answer([start(), {"type": "http.response.body", "body": BROKEN}])
    assert sent[1:] == [{"type": "http.response.body", "body": KEPT}]


async def test_a_body_that_is_like_bytes() -> None:
    sent = await answer([start(), *bodies(map(memoryview, FRAMES))])  # type: ignore[arg-type]
    assert body(sent) == KEPT


async def test_an_application_that_fails_midway_ends_as_it_would_have() -> None:
    sent: list[Message] = []
    messages = [start(), *bodies([*FRAMES[:3], COMPLETED[:20]])[:-1]]
    error = RuntimeError("the engine is gone")
    with pytest.raises(RuntimeError) as raised:
        await answer(messages, error=error, sent=sent)
    assert raised.value is error
    assert all(message.get("more_body", True) for message in sent)
    assert body(sent) == KEPT[: KEPT.index(b"event: response.completed")] + COMPLETED[:20]


async def test_an_application_that_leaves_its_body_without_an_end_loses_nothing() -> None:
    messages = [start(), *bodies([*FRAMES[:3], COMPLETED[:20]])[:-1]]
    sent = await answer(messages)
    assert all(message.get("more_body", True) for message in sent)
    assert body(sent) == KEPT[: KEPT.index(b"event: response.completed")] + COMPLETED[:20]


@pytest.mark.parametrize("app_fails", [True, False])
async def test_a_client_that_is_gone_by_then_changes_nothing_for_the_application(
    *, app_fails: bool
) -> None:
    error = RuntimeError("the engine is gone")

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send(start())
        await send(bodies([COMPLETED[:20]])[0])
        if app_fails:
            raise error

    async def receive() -> Message:
        raise AssertionError

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            raise OSError

    scope = {"type": "http", "method": "POST", "path": "/v1/responses", "headers": []}
    call = StableIdsMiddleware(app)(scope, receive, send)
    if app_fails:
        with pytest.raises(RuntimeError) as raised:
            await call
        assert raised.value is error
        assert raised.value.__context__ is None
    else:
        await call


@contextlib.contextmanager
def listening(app: Any) -> Iterator[str]:
    """A real server with the application behind the middleware; gives its base URL."""
    config = uvicorn.Config(StableIdsMiddleware(app), port=0, lifespan="off", log_level="critical")
    server = uvicorn.Server(config)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


async def test_a_real_server_sends_what_was_held_before_it_breaks_off() -> None:
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        head = start(etag="x", x_request_id="7")
        await send({**head, "headers": (header for header in head["headers"])})
        for message in bodies([*FRAMES[:3], COMPLETED[:20]])[:-1]:
            await send(message)
        raise RuntimeError

    got: list[bytes] = []
    with listening(app) as url, httpx.stream("POST", f"{url}/v1/responses") as served:
        assert served.headers["x-request-id"] == "7"
        assert "etag" not in served.headers
        with pytest.raises(httpx.RemoteProtocolError):
            got.extend(served.iter_raw())
    assert b"".join(got) == KEPT[: KEPT.index(b"event: response.completed")] + COMPLETED[:20]


class Faulty:
    """A rewriter that fails at the given call, holding back what it was fed before."""

    def __init__(self, fails: str) -> None:
        """Remember where to fail: `feed` at the third piece, or `report`."""
        self.fails = fails
        self.held: list[bytes] = []

    def feed(self, data: bytes) -> bytes:
        """Hold everything back."""
        if self.fails == "feed" and len(self.held) == 2:
            raise ValueError("a secret of the user's")
        self.held.append(data)
        return b""

    def finish(self) -> bytes:
        """Return everything, once."""
        out = b"".join(self.held)
        self.held = []
        return out

    def report(self) -> Any:
        """Fail, or have nothing to say."""
        if self.fails == "report":
            raise ValueError("a secret of the user's")
        return {"gave_up": None}


@pytest.mark.parametrize("fails", ["feed", "report"])
async def test_a_rewriter_that_fails_costs_no_byte_and_one_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fails: str
) -> None:
    monkeypatch.setattr(asgi, "SseRewriter", lambda **_: Faulty(fails))
    before = log.failed_open["ValueError"]
    sent = await answer([start(), *bodies(FRAMES)])
    assert body(sent) == BROKEN
    assert sent[-1]["more_body"] is False
    assert log.failed_open["ValueError"] == before + 1
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "a stream goes on as the server made it (ValueError in " in caplog.text
    assert "secret" not in caplog.text


async def test_a_stream_beyond_a_limit_is_told_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(asgi, "SseRewriter", lambda **_: SseRewriter(max_items=0))
    assert body(await answer([start(), *bodies(FRAMES)])) == BROKEN
    assert len(caplog.records) == 1
    assert "a stream went on as the server made it (the response has more" in caplog.text


async def test_switched_off_it_stands_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_STABLE_IDS", "0")
    messages = [start(), *bodies(FRAMES)]
    assert untouched(await answer(messages), messages)


@pytest.mark.parametrize("loaded", [True, False])
async def test_a_misspelt_switch_is_named_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, *, loaded: bool
) -> None:
    monkeypatch.setenv("VLLM_STABLE_IDS", "perhaps")
    if loaded:
        monkeypatch.setitem(sys.modules, asgi.PATCHES, SimpleNamespace(active=lambda: False))
    assert body(await answer([start(), *bodies(FRAMES)])) == KEPT
    assert caplog.text.count("VLLM_STABLE_IDS='perhaps'") == (0 if loaded else 1)


async def test_beside_the_plugin_it_acts_only_while_the_plugin_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = SimpleNamespace(active=lambda: True)
    monkeypatch.setitem(sys.modules, asgi.PATCHES, state)
    messages = [start(), *bodies(FRAMES)]
    assert untouched(await answer(messages), messages)
    state.active = lambda: False
    assert body(await answer(messages)) == KEPT


def served(raw: bytes, chunk: int) -> Starlette:
    """An application that answers with a recorded stream in pieces."""

    async def respond(_request: Request) -> StreamingResponse:
        async def pieces() -> AsyncIterator[bytes]:
            for at in range(0, len(raw), chunk):
                yield raw[at : at + chunk]

        return StreamingResponse(pieces(), media_type="text/event-stream")

    routes = [
        Route("/v1/responses", respond, methods=["POST"]),
        Route("/v1/responses/{name}", respond),
    ]
    return Starlette(
        routes=[Mount("/prefix", routes=routes), *routes],
        middleware=[Middleware(StableIdsMiddleware)],
    )


def recording(name: str) -> bytes:
    """A stream of the core's own tests."""
    return (STREAMS / f"{name}.sse").read_bytes()


@pytest.mark.parametrize("recorded", sorted(path.stem for path in STREAMS.glob("*.sse")))
@pytest.mark.parametrize("chunk", [1, 7, 171, 1 << 20])
async def test_a_recorded_stream_through_starlette(recorded: str, chunk: int) -> None:
    raw = recording(recorded)
    transport = httpx.ASGITransport(served(raw, chunk))
    async with httpx.AsyncClient(transport=transport, base_url="http://app") as connection:
        answers = [
            await connection.post("/v1/responses"),
            await connection.post("/prefix/v1/responses"),
            await connection.get("/v1/responses/resp_1?stream=true&starting_after=3"),
        ]
    assert [got.content for got in answers] == [rewritten(raw)] * 3


@pytest.fixture(scope="module", params=["simple", "harmony"])
def behind(request: pytest.FixtureRequest) -> Iterator[VllmServer]:
    """A vLLM that does not load the plugin, behind the middleware."""
    with VllmServer(
        request.param,
        env={"VLLM_PLUGINS": "none"},
        extra_args=["--middleware", MIDDLEWARE],
    ) as server:
        yield server


def test_every_scripted_output_behind_the_middleware(behind: VllmServer) -> None:
    path: ModelPath = behind.path
    broken = {
        scripted.name: found
        for scripted in cases_of(path)
        if (found := judge(client.stream(behind, scripted).events))
    }
    assert broken == {}
    assert client.probe(behind)["patched"] == []


def test_a_replay_behind_the_middleware(behind: VllmServer) -> None:
    scripted = cases_of(behind.path)[1]
    live = client.stream(behind, scripted, background=True, store=True)
    response_id = live.terminal["id"]
    assert judge(client.replay(behind, response_id).events) == []
    assert client.replay(behind, response_id).raw == live.raw
    later = client.replay(behind, response_id, starting_after=2)
    assert [event["sequence_number"] for event in later.events][:2] == [3, 4]
    assert later.events[-1]["response"]["id"] == response_id


def test_what_is_not_streamed_is_vllms_own(behind: VllmServer) -> None:
    stored = client.create(behind, cases_of(behind.path)[0], store=True)
    assert client.retrieve(behind, stored["id"]) == stored
