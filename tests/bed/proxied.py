"""The reverse proxy as it is installed: `vllm-stable-ids proxy` in a process of its own."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

COMMAND = Path(sys.executable).with_name("vllm-stable-ids")
START_LIMIT_S = 60
STOP_LIMIT_S = 30


class Proxy:
    """A running proxy. Use it as a context manager, or call `close`."""

    def __init__(self, upstream: str) -> None:
        """Start it in front of a server, and wait until it listens."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            host, port = probe.getsockname()
        self.url = f"http://{host}:{port}"
        self.process = subprocess.Popen(
            [COMMAND, "proxy", "--upstream", upstream, "--listen", f"{host}:{port}"],
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection((host, port)):
                return
            assert self.process.poll() is None, self.process.communicate()[1]
            assert time.monotonic() < deadline, "the proxy does not listen"
            time.sleep(0.05)

    def __enter__(self) -> Proxy:
        """Return the running proxy."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the proxy."""
        self.close()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end; returns its exit status."""
        self.process.send_signal(number)
        self.process.communicate(timeout=STOP_LIMIT_S)
        return self.process.returncode

    def close(self) -> None:
        """End it, whatever it is doing; twice does no harm."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class Proxies:
    """The proxies of a test module, one before each server, started when it is first asked for."""

    def __init__(self) -> None:
        """Start none yet."""
        self._started: dict[str, Proxy] = {}

    def before(self, upstream: str) -> Proxy:
        """The proxy in front of a server."""
        if upstream not in self._started:
            self._started[upstream] = Proxy(upstream)
        return self._started[upstream]

    def close(self) -> None:
        """End all of them."""
        for proxy in self._started.values():
            proxy.close()
