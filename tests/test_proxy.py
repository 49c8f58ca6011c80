"""The reverse proxy as it is installed, in front of a stock vLLM."""

from __future__ import annotations

import re
import signal
import subprocess
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from bed import client
from bed.cases import cases_of
from bed.fake_upstream import FakeUpstream
from bed.judge import judge
from bed.proxied import COMMAND, Proxies, Proxy
from test_untouched import chat_said, shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bed.client import Server
    from bed.judge import Event
    from bed.models import ModelPath
    from bed.server import VllmServer
    from conftest import Servers


def said(events: Sequence[Event]) -> dict[str, str]:
    """Everything that deltas say, by their kind: how a busy vLLM cuts them may differ."""
    text: dict[str, str] = defaultdict(str)
    for event in events:
        if "delta" in event:
            text[event["type"]] += event["delta"]
    return dict(text)


def test_every_scripted_stream_keeps_its_identities(
    proxy: Proxy, stock: VllmServer, path: ModelPath
) -> None:
    for scripted in cases_of(path):
        theirs = client.stream(stock, scripted).events
        ours = client.stream(proxy, scripted).events
        assert judge(theirs) != []
        assert judge(ours) == [], scripted.name
        for kind, text in said(theirs).items():
            # What vLLM tells only at the end is streamed, too (C5).
            assert said(ours)[kind].startswith(text), scripted.name


def test_a_replay_is_the_stream_once_more(proxy: Proxy, path: ModelPath) -> None:
    live = client.stream(proxy, cases_of(path)[1], background=True, store=True)
    assert judge(live.events) == []
    response_id = live.terminal["id"]
    assert client.replay(proxy, response_id).raw == live.raw
    later = client.replay(proxy, response_id, starting_after=2)
    assert [event["sequence_number"] for event in later.events][:2] == [3, 4]
    assert later.terminal["id"] == response_id


def test_a_response_can_be_gone_on_from(proxy: Proxy, path: ModelPath) -> None:
    first = client.stream(proxy, cases_of(path)[0], store=True)
    second = client.stream(
        proxy, cases_of(path)[1], input="And now?", previous_response_id=first.terminal["id"]
    )
    assert judge(second.events) == []
    assert second.terminal["previous_response_id"] == first.terminal["id"]


CHAT = {
    "model": "m",
    "messages": [{"role": "user", "content": client.QUESTION}],
    "temperature": 0,
    "max_tokens": 20,
}
PREFLIGHT = {
    "origin": "https://app.example",
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type",
}

# What passes: a name, the method, the target, and what httpx is to send.
PASSING: dict[str, tuple[str, str, dict[str, Any]]] = {
    "models": ("GET", "/v1/models", {}),
    "health": ("GET", "/health", {}),
    "version": ("GET", "/version", {}),
    "documentation": ("GET", "/openapi.json", {}),
    "another origin": ("GET", "/v1/models", {"headers": {"origin": "https://app.example"}}),
    "preflight": ("OPTIONS", "/v1/responses", {"headers": PREFLIGHT}),
    "no such route": ("GET", "/nowhere?a=%2F&b=+", {}),
    "an escaped path": ("GET", "/v1/%6dodels/a%2Fb%20c", {}),
    "no such method": ("PUT", "/v1/responses", {"json": {}}),
    "only the headers": ("HEAD", "/health", {}),
    "a redirect": ("GET", "/v1/models/", {}),
    "no such response": ("GET", "/v1/responses/resp_unknown", {}),
    "no such stream": ("GET", "/v1/responses/resp_unknown?stream=true&starting_after=1", {}),
    "nothing to cancel": ("POST", "/v1/responses/resp_unknown/cancel", {}),
    "no request": ("POST", "/v1/responses", {"json": {"stream": True}}),
    "no JSON": ("POST", "/v1/responses", {"content": b"{", "headers": {"content-type": "a/b"}}),
    "another model": ("POST", "/v1/responses", {"json": {"model": "n", "input": "x"}}),
    "not streamed": ("POST", "/v1/responses", {"json": client.body(None, max_output_tokens=8)}),
    "chat": ("POST", "/v1/chat/completions", {"json": CHAT}),
    "chat, compressed": (
        "POST",
        "/v1/chat/completions",
        {"json": CHAT, "headers": {"accept-encoding": "gzip, br, zstd"}},
    ),
    "no chat": ("POST", "/v1/chat/completions", {"json": {"model": "m"}}),
    "tokens": ("POST", "/tokenize", {"json": {"model": "m", "prompt": "Tides."}}),
    "embeddings": ("POST", "/v1/embeddings", {"json": {"model": "m", "input": "Tides."}}),
}

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding"}
RANDOM = re.compile(rb"[0-9a-f]{16,}")
TIMES = re.compile(rb'"(created|created_at|completed_at)":\d+')


def answer(server: Server, name: str) -> tuple[int, list[tuple[str, str]], bytes]:
    """Status, headers and body of an answer, without what no two answers share."""
    method, target, content = PASSING[name]
    got = httpx.request(method, f"{server.url}{target}", timeout=60, trust_env=False, **content)
    headers = [
        # The proxy leads to itself, by the path alone.
        (key, "" if key == "date" else value.removeprefix(server.url))
        for key, value in got.headers.multi_items()
        if key not in HOP_BY_HOP
    ]
    body = TIMES.sub(rb'"\1":0', RANDOM.sub(b"0", got.content))
    return got.status_code, sorted(headers), body


def test_everything_else_passes(servers: Servers, proxies: Proxies) -> None:
    stock = servers.get("simple", fixed=False)
    proxy = proxies.before(stock.url)
    answers = {name: (answer(proxy, name), answer(stock, name)) for name in PASSING}
    changed = {name: both for name, both in answers.items() if both[0] != both[1]}
    assert changed == {}
    statuses = {name: both[0][0] for name, both in answers.items()}
    assert [name for name, status in statuses.items() if status >= 500] == []
    assert statuses["chat"] == statuses["preflight"] == 200
    assert statuses["no such route"] == statuses["embeddings"] == 404


def test_a_streamed_chat_passes(servers: Servers, proxies: Proxies) -> None:
    stock = servers.get("simple", fixed=False)
    proxy = proxies.before(stock.url)
    request = CHAT | {"stream": True, "vllm_xargs": {"script": cases_of("simple")[0].ids()}}
    ours, theirs = (
        httpx.post(f"{at.url}/v1/chat/completions", json=request, timeout=60, trust_env=False)
        for at in (proxy, stock)
    )
    assert ours.headers["content-type"] == theirs.headers["content-type"]
    assert ours.content.endswith(b"data: [DONE]\n\n")
    assert shape(chat_said(ours.content)) == shape(chat_said(theirs.content))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well(number: signal.Signals) -> None:
    with FakeUpstream() as upstream, Proxy(upstream.url) as proxy:
        assert proxy.stop(number) == 0


def test_a_wrong_argument_is_named() -> None:
    done = subprocess.run(
        [COMMAND, "proxy", "--upstream", "ftp://x"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "ftp://x" in done.stderr
