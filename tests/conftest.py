"""Servers, shared by the tests of a session: starting one takes a minute."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from bed.proxied import Proxies
from bed.server import VllmServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bed.models import ModelPath
    from bed.proxied import Proxy

PATHS: tuple[ModelPath, ...] = ("simple", "harmony")

OFF = {"VLLM_STABLE_IDS": "0"}


class Servers:
    """The servers of a session, each started when a test first asks for it, or ahead of it."""

    def __init__(self) -> None:
        """Start none yet. Two at a time suit two cores."""
        self._pool = ThreadPoolExecutor(max_workers=2)
        self._started = {
            (path, fixed): self._pool.submit(VllmServer, path, env={} if fixed else OFF)
            for fixed in (True, False)
            for path in PATHS
        }

    def get(self, path: ModelPath, *, fixed: bool) -> VllmServer:
        """The server of a path, with the plugin or with VLLM_STABLE_IDS=0."""
        return self._started[path, fixed].result()

    def close(self) -> None:
        """Stop every server."""
        for future in self._started.values():
            if not future.cancel() and future.exception() is None:
                future.result().close()
        self._pool.shutdown()


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """All four: both paths, fixed and stock."""
    started = Servers()
    yield started
    started.close()


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> ModelPath:
    """Each generator path in turn."""
    chosen: ModelPath = request.param
    return chosen


@pytest.fixture
def fixed(servers: Servers, path: ModelPath) -> VllmServer:
    """A server with the plugin."""
    return servers.get(path, fixed=True)


@pytest.fixture
def stock(servers: Servers, path: ModelPath) -> VllmServer:
    """A server with the plugin installed and switched off."""
    return servers.get(path, fixed=False)


@pytest.fixture(scope="module")
def proxies() -> Iterator[Proxies]:
    """The proxies of a module."""
    started = Proxies()
    yield started
    started.close()


@pytest.fixture
def proxy(proxies: Proxies, stock: VllmServer) -> Proxy:
    """A proxy in front of the stock server of a path."""
    return proxies.before(stock.url)
