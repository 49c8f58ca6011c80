"""The servers that are compared, each started for this comparison and ended with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benches.side_by_side.load import BrokenOffError, Target, body, one_stream

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
INSTALLED = ROOT / ".build/peers"
TOOLS = f"{INSTALLED}/env/bin:{INSTALLED}/node_modules/.bin"
KEY = "sk-bench"

NGINX = """
daemon off;
worker_processes auto;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  upstream server {{ server 127.0.0.1:{upstream}; keepalive 64; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://server;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }}
  }}
}}
"""

LITELLM = """
model_list:
  - model_name: bench
    litellm_params:
      model: openai/bench
      api_base: http://127.0.0.1:{upstream}/v1
      api_key: none
general_settings:
  master_key: {key}
"""


class NotHereError(Exception):
    """A server is not installed, or does not do what it is compared at."""


class Server:
    """A server process and its children."""

    def __init__(self, name: str, port: int, command: list[str], folder: Path) -> None:
        """Start it; it is up once `ready` has returned."""
        self.name = name
        self.target = Target(port, KEY)
        self.log = folder / f"{name}.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True
            )

    def ready(self, patience: float) -> None:
        """Wait until it streams.

        Raises:
            NotHereError: It does not.
        """
        until = time.monotonic() + patience
        while (why := self._fault()) is not None:
            if time.monotonic() > until or self._process.poll() is not None:
                self.close()
                raise NotHereError(why)
            time.sleep(0.25)

    def _fault(self) -> str | None:
        """Why it does not stream, if it does not."""
        try:
            body(one_stream(self.target, "deltas=2")[1])
        except (OSError, BrokenOffError, ValueError) as error:
            return str(error)
        return None

    def cpu(self) -> float:
        """Seconds of CPU that it and its children have used."""
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue  # It ended meanwhile.
            if int(fields[3]) == self._process.pid:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End it, with its children."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def found(name: str) -> str:
    """Where a program is.

    Raises:
        NotHereError: Nowhere.
    """
    path = shutil.which(name, path=f"{TOOLS}:{os.environ['PATH']}:/usr/sbin")
    if path is None:
        raise NotHereError("not installed")
    return path


def upstream(folder: Path) -> Server:
    """The server behind all others."""
    port = free_port()
    app = "benches.side_by_side.upstream:app"
    options = f"--loop uvloop --http httptools --no-access-log --log-level warning --port {port}"
    return Server("direct", port, [sys.executable, "-m", "uvicorn", app, *options.split()], folder)


def nginx(port: int, upstream: int, folder: Path) -> list[str]:
    """Debian's nginx, which passes what comes."""
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(folder=folder, port=port, upstream=upstream))
    return [found("nginx"), "-c", str(config), "-e", str(folder / "nginx.log")]


def this_proxy(port: int, upstream: int, folder: Path) -> list[str]:
    """The proxy of this project."""
    del folder
    built = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    program = built / "release/vllm-stable-ids-proxy"
    if not program.exists():
        raise NotHereError("not built")
    ends = ["--listen", f"127.0.0.1:{port}", "--upstream", f"http://127.0.0.1:{upstream}"]
    return [str(program), *ends]


def litellm(port: int, upstream: int, folder: Path) -> list[str]:
    """LiteLLM's proxy."""
    program = found("litellm")
    config = folder / "litellm.yaml"
    config.write_text(LITELLM.format(upstream=upstream, key=KEY))
    return [program, "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]


def smg(port: int, upstream: int, folder: Path) -> list[str]:
    """SGLang's model gateway, before a server of OpenAI's API."""
    del folder
    options = (
        f"--backend openai --worker-urls http://127.0.0.1:{upstream} --host 127.0.0.1 "
        f"--port {port} --history-backend none --log-level warn --prometheus-port {free_port()}"
    )
    return [found("smg"), "launch", *options.split()]


def opencodex(port: int, upstream: int, folder: Path) -> list[str]:
    """The proxy for coding agents, before a server of the Responses API."""
    program = found("opencodex")
    provider = {
        "adapter": "openai-responses",
        "baseUrl": f"http://127.0.0.1:{upstream}/v1",
        "apiKey": "none",
        "defaultModel": "bench",
        "models": ["bench"],
        "allowPrivateNetwork": True,
    }
    home = folder / "opencodex"
    config = home / ".opencodex/config.json"
    config.parent.mkdir(parents=True)
    config.write_text(
        json.dumps(
            {
                "hostname": "127.0.0.1",
                "port": port,
                "defaultProvider": "bench",
                "providers": {"bench": provider},
                "claudeCode": {"intercept": {"enabled": False}},
            }
        )
    )
    # It sets up the coding agents that it finds: nothing may lead it to those of the user.
    clean = ["env", "-i", f"PATH={os.environ['PATH']}", f"HOME={home}"]
    return [*clean, program, "start", "--port", str(port)]


OURS = "this proxy"
PROXIES: dict[str, Callable[[int, int, Path], list[str]]] = {
    "nginx": nginx,
    OURS: this_proxy,
    "LiteLLM": litellm,
    "smg": smg,
    "opencodex": opencodex,
}
