"""Clients as they are, through the proxy: OpenAI's own for Python, curl, a browser."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import openai
import pytest

from bed import client
from bed.cases import cases_of
from bed.corpus import faulty
from bed.fake_upstream import Answer, FakeUpstream
from bed.judge import ADDED, judge
from bed.proxied import Proxy
from test_asgi import rewritten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bed.client import Server
    from bed.models import ModelPath
    from bed.server import VllmServer

LIMIT_S = 60
RAW = faulty()["reasoning and a call, the end has other ids"]
FIRST = RAW[: RAW.index(b"\n\n") + 2]
CREATE = ("POST", "/v1/responses")

CURL = ("curl", "--silent", "--show-error", "--fail", "--no-buffer", "--noproxy", "*")
CHROMIUM = shutil.which("chromium")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
)


def kept() -> bytes:
    """The stream of these tests as it must arrive."""
    sent = rewritten(RAW)
    assert judge(client.parse(RAW)) != judge(client.parse(sent)) == []
    return sent


@pytest.fixture
def upstream() -> Iterator[FakeUpstream]:
    """A server that sends the first event, and the rest when the client has seen that."""
    with FakeUpstream() as running:
        yield running


@pytest.fixture
def seen(upstream: FakeUpstream) -> threading.Event:
    """What a client sets when it has seen the first event; without it the rest never comes."""
    event = threading.Event()

    def pieces() -> Iterator[bytes]:
        yield FIRST
        if event.wait(LIMIT_S):
            yield RAW[len(FIRST) :]

    upstream.answers[CREATE] = Answer(pieces())
    return event


@pytest.fixture
def before(upstream: FakeUpstream) -> Iterator[Proxy]:
    """A proxy in front of that server."""
    with Proxy(upstream.url) as running:
        yield running


def sdk(server: Server) -> openai.OpenAI:
    """OpenAI's client, as its manual says."""
    http = openai.DefaultHttpxClient(trust_env=False)
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", http_client=http)


def async_sdk(server: Server) -> openai.AsyncOpenAI:
    """The same for asyncio."""
    http = openai.DefaultAsyncHttpxClient(trust_env=False)
    return openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", http_client=http)


def arguments(request: dict[str, Any]) -> dict[str, Any]:
    """A request as arguments of the client, which knows nothing of vLLM's own fields."""
    known = {name: request.pop(name) for name in ("model", "input", "tools")}
    return {**known, "extra_body": request}


def identities(items: Sequence[Any]) -> list[tuple[str, str, str | None]]:
    """What items are called."""
    return [(item.type, item.id, getattr(item, "call_id", None)) for item in items]


def streamed(server: Server, request: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The items that a client is told of while it streams, and those of the response it makes."""
    with sdk(server) as api, api.responses.stream(**arguments(request)) as stream:
        announced = [event.item for event in stream if event.type == ADDED]
        return identities(announced), identities(stream.get_final_response().output)


def test_openais_stream_ends_with_the_items_it_began_with(
    proxy: Proxy, stock: VllmServer, path: ModelPath
) -> None:
    for scripted in cases_of(path)[:2]:
        announced, final = streamed(stock, client.body(scripted))
        assert announced != final
        announced, final = streamed(proxy, client.body(scripted))
        assert announced == final != []


def test_openais_events_keep_the_contract(proxy: Proxy, path: ModelPath) -> None:
    for scripted in cases_of(path)[:2]:
        with sdk(proxy) as api:
            events = api.responses.create(**arguments(client.body(scripted)), stream=True)
            assert judge([event.to_dict() for event in events]) == [], scripted.name


async def test_openais_asynchronous_client(proxy: Proxy, path: ModelPath) -> None:
    request = client.body(cases_of(path)[0])
    async with async_sdk(proxy) as api:
        events = await api.responses.create(**arguments(dict(request)), stream=True)
        assert judge([event.to_dict() async for event in events]) == []
        async with api.responses.stream(**arguments(dict(request))) as stream:
            announced = [event.item async for event in stream if event.type == ADDED]
            final = await stream.get_final_response()
    assert identities(announced) == identities(final.output) != []


def test_openais_client_has_the_first_event_before_the_second_is_made(
    before: Proxy, seen: threading.Event
) -> None:
    with sdk(before) as api:
        events = []
        for event in api.responses.create(model="m", input="x", stream=True):
            seen.set()
            events.append(event.to_dict())
    assert judge(events) == []


def curl(server: Server, *options: str, request: dict[str, Any]) -> bytes:
    """What curl prints for a request."""
    headers = ("--header", "content-type: application/json", "--data", "@-")
    command = (*CURL, *options, *headers, f"{server.url}/v1/responses")
    done = subprocess.run(
        command, input=json.dumps(request).encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("version", ["--http1.1", "--http2-prior-knowledge"])
@pytest.mark.parametrize("compressed", [[], ["--compressed"]], ids=["plain", "compressed"])
def test_curl(proxy: Proxy, path: ModelPath, version: str, compressed: list[str]) -> None:
    request = client.body(cases_of(path)[0], stream=True)
    raw = curl(proxy, version, *compressed, request=request)
    assert judge(client.parse(raw)) == []


@pytest.mark.parametrize("version", ["--http1.1", "--http2-prior-knowledge"])
def test_curl_asks_for_compression_of_a_server_that_would(
    upstream: FakeUpstream, before: Proxy, version: str
) -> None:
    upstream.answers[CREATE] = Answer([RAW], may_compress=True)
    assert curl(upstream, "--compressed", request={}) == RAW
    assert upstream.newest("/v1/responses").headers["accept-encoding"] != "identity"
    assert curl(before, version, "--compressed", request={}) == kept()
    assert upstream.newest("/v1/responses").headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("version", ["--http1.1", "--http2-prior-knowledge"])
def test_curl_prints_the_first_event_before_the_second_is_made(
    before: Proxy, seen: threading.Event, version: str
) -> None:
    command = (*CURL, version, "--data", "{}", f"{before.url}/v1/responses")
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout is not None
        got = process.stdout.read(len(FIRST))
        seen.set()
        got += process.stdout.read()
    assert process.returncode == 0
    assert got == kept()


PAGE = b"""<!doctype html>
<script>
const tell = (where, what) => fetch(where, {method: "POST", body: JSON.stringify(what)});
const read = async () => {
  const answer = await fetch("/v1/responses", {
    method: "POST",
    headers: {"content-type": "application/json"},
    body: JSON.stringify({model: "m", input: "x", stream: true}),
  });
  const type = answer.headers.get("content-type");
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done) break;
    if (!text) await tell("/seen", value);
    text += value;
  }
  await tell("/read", {status: answer.status, type, text});
};
read().catch((error) => tell("/read", {error: String(error)}));
</script>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
def test_a_page_reads_the_stream_as_it_comes(
    upstream: FakeUpstream, before: Proxy, tmp_path: Path
) -> None:
    def pieces() -> Iterator[bytes]:
        yield FIRST
        upstream.newest("/seen", wait_s=LIMIT_S)
        yield RAW[len(FIRST) :]

    upstream.answers[CREATE] = Answer(pieces())
    upstream.answers["GET", "/"] = Answer([PAGE], "text/html; charset=utf-8", "length")
    for target in ("/seen", "/read"):
        upstream.answers["POST", target] = Answer([b"{}"], "application/json", "length")
    command = (str(CHROMIUM), *QUIET, f"--user-data-dir={tmp_path}", "--remote-debugging-port=0")
    with subprocess.Popen(
        (*command, f"{before.url}/"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as browser:
        try:
            read = json.loads(upstream.newest("/read", wait_s=LIMIT_S).body)
        finally:
            browser.terminate()
    assert json.loads(upstream.newest("/seen").body).encode() == FIRST
    assert read["status"] == 200
    assert read["type"].startswith("text/event-stream")
    assert read["text"].encode() == kept()
