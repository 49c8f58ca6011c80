"""Two servers of one vLLM, one with the plugin and one without."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

import httpx

from bed.models import BUILD

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "m"
START_LIMIT_S = 900.0
STOP_LIMIT_S = 30.0
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """One `vllm serve`."""

    def __init__(self, command: Sequence[str], switch: str, log: IO[bytes]) -> None:
        """Start it.

        Args:
            command: Its command line, without the port.
            switch: What VLLM_STABLE_IDS is to be.
            log: Where it writes.
        """
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = log
        self.process = subprocess.Popen(
            [*command, "--port", str(port)],
            env={
                **os.environ,
                "VLLM_STABLE_IDS": switch,
                "VLLM_NO_USAGE_STATS": "1",
                # GiB, without a GPU only: it would take a share of the machine's memory.
                "VLLM_CPU_KVCACHE_SPACE": "1",
            },
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )

    def wait(self) -> None:
        """Wait until it is up.

        Raises:
            RuntimeError: It ended, or was not up in time; where its log is stands in the message.
        """
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline and self.process.poll() is None:
            with suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/health", trust_env=False).is_success:
                    return
            time.sleep(0.5)
        raise RuntimeError(f"vLLM did not start; its log is {self.log.name}")

    def has_plugin(self) -> bool:
        """Whether the plugin is in force, by its metrics."""
        page = httpx.get(f"{self.url}/metrics", trust_env=False).raise_for_status().text
        told = [line for line in page.splitlines() if line.startswith("vllm_stable_ids_info{")]
        return any('mode="patched"' in line for line in told)

    def cpu_seconds(self) -> float:
        """What the API server's process has taken so far; the engine is another process."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(STOP_LIMIT_S)
        self.process.kill()
        self.process.wait()


class Served:
    """Both servers; they are ended by `close`.

    Attributes:
        on: With the plugin.
        off: With VLLM_STABLE_IDS=0.
    """

    def __init__(
        self, model: str, load_format: str, settings: Sequence[str], *, on_first: bool
    ) -> None:
        """Start both and wait for them, one after the other: each takes what it finds of a GPU."""
        command = [
            *(str(Path(sys.executable).with_name("vllm")), "serve", model),
            *("--host", "127.0.0.1", "--served-model-name", NAME, "--load-format", load_format),
            *("--max-model-len", "4096", "--reasoning-parser", "qwen3"),
            *("--enable-auto-tool-choice", "--tool-call-parser", "hermes", *settings),
        ]
        logs = BUILD / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            started = {}
            for switch in ("1", "0") if on_first else ("0", "1"):
                log = stack.enter_context(
                    tempfile.NamedTemporaryFile(
                        prefix=f"served-{switch}-", suffix=".log", dir=logs, delete=False
                    )
                )
                server = Server(command, switch, log)
                stack.callback(server.close)
                server.wait()
                if server.has_plugin() != (switch == "1"):
                    state = "not in force" if switch == "1" else "in force in spite of the switch"
                    raise RuntimeError(f"the plugin is {state}; vLLM's log is {log.name}")
                started[switch] = server
            self.on, self.off = started["1"], started["0"]
            self._stack = stack.pop_all()

    def close(self) -> None:
        """End both."""
        self._stack.close()
