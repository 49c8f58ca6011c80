"""A real `vllm serve` on a loopback port, for one test session or one test.

The vLLM is the one installed beside the running Python, so a test of several vLLM versions runs
pytest from several environments (see scripts/vllm-env).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from bed.models import BUILD, MAX_MODEL_LEN, ModelPath, model_folder, tiktoken_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

MODEL_NAME = "m"
START_LIMIT_S = 600.0
STOP_LIMIT_S = 20.0
TAIL_LINES = 60

PARSERS: dict[ModelPath, tuple[str, ...]] = {
    "simple": ("--tool-call-parser", "hermes", "--reasoning-parser", "qwen3"),
    "harmony": ("--tool-call-parser", "openai"),
}

_numbers = itertools.count(1)
_open: set[VllmServer] = set()
_ending = threading.Event()


class VllmServer:
    """One running server. Use it as a context manager, or call `close`."""

    def __init__(
        self,
        path: ModelPath,
        *,
        env: Mapping[str, str] | None = None,
        extra_args: Sequence[str] = (),
    ) -> None:
        """Start the server and wait until it is healthy.

        Args:
            path: Which model to serve.
            env: Variables to add to the environment; an empty value removes a variable.
            extra_args: Arguments to add to `vllm serve`.

        Raises:
            RuntimeError: The server ended or was not healthy in time; the end of its log is in
                the message.
        """
        self.path = path
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        log_name = f"vllm-{path}-{os.getpid()}-{next(_numbers)}.log"
        self.log_path = BUILD / "logs" / log_name
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        with self.log_path.open("wb") as log:
            self._process = subprocess.Popen(
                _command(path, port, extra_args),
                env=_environment(env or {}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # engine and workers end with the group
            )
        _open.add(self)
        try:
            if _ending.is_set():
                raise RuntimeError(f"vLLM ({path}) stopped at once: the run is ending")
            self._wait_for_health(began + START_LIMIT_S)
        except BaseException:
            self.close()
            raise
        self.start_seconds = time.monotonic() - began

    def __enter__(self) -> VllmServer:
        """Return the running server."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the server."""
        self.close()

    def log_text(self) -> str:
        """Return everything that the server and its engine have printed so far."""
        return self.log_path.read_text(errors="replace")

    def close(self) -> None:
        """End the server's whole process group; twice does no harm.

        vLLM's parent may be gone while its engine still lives, so the group is asked, and at
        last killed, whatever the parent's state.
        """
        _signal_group(self._process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_LIMIT_S)
        _signal_group(self._process.pid, signal.SIGKILL)
        self._process.wait(STOP_LIMIT_S)
        _open.discard(self)

    def _wait_for_health(self, deadline: float) -> None:
        """Poll `/health` until it answers 200."""
        with httpx.Client(base_url=self.url, timeout=5.0, trust_env=False) as client:
            while True:
                if self._process.poll() is not None:
                    reason = f"ended with status {self._process.returncode} while starting"
                    break
                if time.monotonic() > deadline:
                    reason = f"was not healthy after {START_LIMIT_S:.0f} s"
                    break
                try:
                    if client.get("/health").status_code == 200:
                        return
                except httpx.TransportError:
                    pass  # not listening yet
                time.sleep(0.25)
        tail = "\n".join(self.log_text().splitlines()[-TAIL_LINES:])
        raise RuntimeError(f"vLLM ({self.path}) {reason}; the end of {self.log_path}:\n{tail}")


def close_all() -> None:
    """End every server that this process has started, and start no more.

    For a main thread whose workers wait for servers: a worker finds its server gone, and fails.
    """
    _ending.set()
    for server in tuple(_open):
        server.close()


def _command(path: ModelPath, port: int, extra_args: Sequence[str]) -> list[str]:
    """Return the command line of a server."""
    vllm = Path(sys.executable).with_name("vllm")
    if not vllm.exists():
        raise RuntimeError(f"no vllm beside {sys.executable}: make one with scripts/vllm-env")
    return [
        str(vllm),
        "serve",
        str(model_folder(path)),
        *("--host", "127.0.0.1", "--port", str(port), "--served-model-name", MODEL_NAME),
        *("--load-format", "dummy", "--enforce-eager", "--max-model-len", str(MAX_MODEL_LEN)),
        *("--enable-auto-tool-choice", *PARSERS[path]),
        *("--logits-processors", "bed.scripted:ScriptedOutput"),
        *("--middleware", "bed.probe.Probe"),
        *extra_args,
    ]


def _environment(changes: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a server: no network, no telemetry, nothing of the caller's vLLM.

    The caller's VLLM_* variables are dropped, or one machine's habits would decide a test.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VLLM_")}
    tests = Path(__file__).resolve().parents[1]
    search = [str(tests), *filter(None, [kept.get("PYTHONPATH")])]
    kept |= {
        "PYTHONPATH": os.pathsep.join(search),
        "TIKTOKEN_ENCODINGS_BASE": str(tiktoken_folder()),
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CACHE_ROOT": str(BUILD / "cache"),
        "VLLM_CONFIG_ROOT": str(BUILD / "cache"),
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_ENABLE_RESPONSES_API_STORE": "1",
    }
    kept |= changes
    return {name: value for name, value in kept.items() if value}


def _free_port() -> int:
    """Return a loopback port that nobody listens on.

    Another process could take it before vLLM does; vLLM then ends, and says why in its log.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _signal_group(group: int, number: signal.Signals) -> None:
    """Signal a process group that may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)
