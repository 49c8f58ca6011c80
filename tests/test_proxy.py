"""The reverse proxy as it is installed, in front of a stock vLLM."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from bed import client
from bed.cases import cases_of
from bed.judge import judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bed.models import ModelPath
    from bed.server import VllmServer

COMMAND = Path(sys.executable).with_name("vllm-stable-ids")
START_LIMIT_S = 60
STOP_LIMIT_S = 30


class Proxy:
    """A running proxy."""

    def __init__(self, upstream: str) -> None:
        """Start it and wait until it listens."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            listen = f"127.0.0.1:{probe.getsockname()[1]}"
        self.url = f"http://{listen}"
        self.process = subprocess.Popen(
            [COMMAND, "proxy", "--upstream", upstream, "--listen", listen],
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"{self.url}/health", trust_env=False)
                return
            assert self.process.poll() is None, self.process.communicate()[1]
            assert time.monotonic() < deadline, "the proxy does not listen"
            time.sleep(0.1)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it; returns its exit status."""
        self.process.send_signal(number)
        self.process.communicate(timeout=STOP_LIMIT_S)
        return self.process.returncode


@pytest.fixture
def proxy(stock: VllmServer) -> Iterator[Proxy]:
    """A proxy in front of the stock server of a path."""
    running = Proxy(stock.url)
    yield running
    if running.process.poll() is None:
        running.process.kill()
    running.process.communicate()


def test_every_scripted_stream_keeps_its_identities(
    proxy: Proxy, stock: VllmServer, path: ModelPath
) -> None:
    for scripted in cases_of(path):
        assert judge(client.stream(stock, scripted).events) != []
        assert judge(client.stream(proxy, scripted).events) == [], scripted.name


def test_everything_else_passes(proxy: Proxy, stock: VllmServer) -> None:
    for target in ("/v1/models", "/health", "/nowhere", "/v1/responses/resp_unknown"):
        ours, theirs = (httpx.get(f"{at.url}{target}", timeout=60) for at in (proxy, stock))
        assert ours.status_code == theirs.status_code, target
        assert ours.headers.get("content-type") == theirs.headers.get("content-type")
        if "created" not in theirs.text:
            assert ours.content == theirs.content


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_well(proxy: Proxy, number: signal.Signals) -> None:
    assert proxy.stop(number) == 0


def test_a_wrong_argument_is_named() -> None:
    done = subprocess.run(
        [COMMAND, "proxy", "--upstream", "ftp://x"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "ftp://x" in done.stderr
