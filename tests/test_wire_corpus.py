"""Faulty streams of a small server come out right, through the proxy and through the middleware."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, get_args

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import StreamingResponse
from starlette.routing import Route

from bed import client
from bed.corpus import encode, faulty, numbered, recorded
from bed.corpus.sound import SOUND
from bed.fake_upstream import Answer, FakeUpstream, Framing
from bed.judge import judge
from bed.proxied import Proxy
from test_asgi import rewritten
from vllm_stable_ids import asgi
from vllm_stable_ids._core import Checker
from vllm_stable_ids.asgi import StableIdsMiddleware

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from starlette.requests import Request

CREATE = ("POST", "/v1/responses")
REPLAY = ("GET", "/v1/responses/resp_1")
FAULTY = sorted(faulty())
CUTS = (1 << 20, 171, 7)

# Of the recorded streams, those in which something is wrong that no rewriter may invent: an end
# that never came, a second response.
STAY_BROKEN = {"ends-early", "two-rounds"}


def verdict(raw: bytes) -> str:
    """What the checker says of a stream."""
    checker = Checker()
    checker.feed(raw)
    outcome: str = json.loads(checker.finish())["outcome"]
    return outcome


def cut(raw: bytes, size: int) -> list[bytes]:
    """A stream in pieces of a size."""
    return [raw[at : at + size] for at in range(0, len(raw), size)]


class Served:
    """A small server, and the proxy before it."""

    def __init__(self, upstream: FakeUpstream, proxy: Proxy) -> None:
        """Open one client to the proxy."""
        self._upstream = upstream
        self._client = httpx.Client(base_url=proxy.url, trust_env=False)

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def through(self, answer: Answer, method: str, target: str) -> httpx.Response:
        """What a client of the proxy gets where the server gives an answer."""
        self._upstream.answers[method, target.partition("?")[0]] = answer
        return self._client.request(method, target)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """One server and one proxy for all streams."""
    with ExitStack() as stack:
        upstream = stack.enter_context(FakeUpstream())
        proxy = stack.enter_context(Proxy(upstream.url))
        both = Served(upstream, proxy)
        stack.callback(both.close)
        yield both


@pytest.fixture
def not_patched(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process without vLLM: where the plugin acts the middleware stands aside."""
    monkeypatch.delitem(sys.modules, asgi.PATCHES, raising=False)


async def behind_middleware(pieces: list[bytes], method: str, target: str) -> bytes:
    """What a client gets where an application with the middleware sends pieces."""

    async def respond(_request: Request) -> StreamingResponse:
        async def body() -> AsyncIterator[bytes]:
            for piece in pieces:
                yield piece

        return StreamingResponse(body(), media_type="text/event-stream")

    app = Starlette(
        routes=[Route(path, respond, methods=[name]) for name, path in (CREATE, REPLAY)],
        middleware=[Middleware(StableIdsMiddleware)],
    )
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://app") as connection:
        return (await connection.request(method, target)).content


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_stream_passes_byte_for_byte(served: Served, name: str) -> None:
    raw = encode(numbered(SOUND[name]))
    assert judge(client.parse(raw)) == []
    assert served.through(Answer(cut(raw, 171)), *CREATE).content == raw


def test_every_fault_of_the_corpus_is_one() -> None:
    sound = [name for name, raw in faulty().items() if judge(client.parse(raw)) == []]
    assert sound == []
    kept = [name for name, raw in faulty().items() if verdict(raw) == "kept"]
    assert kept == []


@pytest.mark.parametrize("name", FAULTY)
def test_a_faulty_stream_through_the_proxy(served: Served, name: str) -> None:
    raw = faulty()[name]
    for size in CUTS:
        got = served.through(Answer(cut(raw, size)), *CREATE)
        assert judge(client.parse(got.content)) == []
        assert verdict(got.content) == "kept"
        assert got.content == rewritten(raw), f"in pieces of {size}"


@pytest.mark.usefixtures("not_patched")
@pytest.mark.parametrize("name", FAULTY)
async def test_a_faulty_stream_through_the_middleware(name: str) -> None:
    raw = faulty()[name]
    for size in CUTS:
        got = await behind_middleware(cut(raw, size), *CREATE)
        assert judge(client.parse(got)) == []
        assert got == rewritten(raw), f"in pieces of {size}"


@pytest.mark.parametrize("framing", get_args(Framing))
@pytest.mark.parametrize("name", recorded())
def test_a_recorded_stream_through_the_proxy(served: Served, name: str, framing: Framing) -> None:
    raw = recorded()[name]
    want = rewritten(raw)
    for size in (*CUTS, 1):
        answer = Answer(cut(raw, size), framing=framing)
        for method, target in (CREATE, (REPLAY[0], f"{REPLAY[1]}?stream=true&starting_after=3")):
            got = served.through(answer, method, target)
            assert got.content == want, f"{method} in pieces of {size}"
            assert "content-length" not in got.headers
    assert (verdict(want) == "kept") == (name not in STAY_BROKEN)


def test_a_stream_of_another_route_is_none_of_its_business(served: Served) -> None:
    raw = recorded()["regenerated-at-the-end"]
    for target in ("/v1/chat/completions", "/v1/responses/", "/v2/responses"):
        assert served.through(Answer(cut(raw, 7)), "POST", target).content == raw
    answer = Answer([raw], "application/json", "length")
    assert served.through(answer, *CREATE).content == raw


def test_an_error_instead_of_a_stream_passes(served: Served) -> None:
    said = b'{"error":{"message":"no","type":"BadRequestError","param":null,"code":400}}'
    got = served.through(Answer([said], "application/json", "length", 400), *CREATE)
    assert (got.status_code, got.content) == (400, said)
    assert got.headers["content-length"] == str(len(said))
