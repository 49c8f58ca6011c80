"""Tool servers for vLLM's built-in tools: MCP over SSE, on loopback ports.

vLLM takes their addresses as `--tool-server HOST:PORT,HOST:PORT` and knows each by the name it
gives itself. They run in threads of the test process, so that a test sees what they were asked.
vLLM before 0.30 needs `mcp` before 2.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import uvicorn

try:
    from mcp.server.mcpserver import MCPServer
except ImportError:  # its name before mcp 2
    from mcp.server.fastmcp import FastMCP as MCPServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARKER = "ANSWERED"
"""What every answer begins with: a script for the turn after it waits for this in the prompt."""

START_LIMIT_S = 30.0
STOP_LIMIT_S = 10.0


@dataclass
class ToolServers:
    """The running servers.

    Attributes:
        addresses: What vLLM's `--tool-server` takes.
        asked: The calls so far, as (tool, arguments).
    """

    addresses: str = ""
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def answer(self, tool: str, **arguments: Any) -> str:
        """Note a call, and answer it."""
        self.asked.append((tool, arguments))
        return f"{MARKER}\n{tool} saw {len(arguments)} arguments."


@contextlib.contextmanager
def tool_servers() -> Iterator[ToolServers]:
    """Run a server named `browser` and one named `python`."""
    servers = ToolServers()
    with contextlib.ExitStack() as stack:
        ports = [
            stack.enter_context(_serving(made)) for made in (_browser(servers), _python(servers))
        ]
        servers.addresses = ",".join(f"127.0.0.1:{port}" for port in ports)
        yield servers


def _browser(servers: ToolServers) -> MCPServer:
    """The tools that gpt-oss knows as `browser`."""

    def search(query: str) -> str:
        """Search the web."""
        return servers.answer("search", query=query)

    def open(cursor: int = 0) -> str:  # noqa: A001 - what gpt-oss calls it
        """Open a page of the results."""
        return servers.answer("open", cursor=cursor)

    def find(pattern: str, cursor: int = 0) -> str:
        """Find text in an open page."""
        return servers.answer("find", pattern=pattern, cursor=cursor)

    return _server("browser", search, open, find)


def _python(servers: ToolServers) -> MCPServer:
    """The tool that gpt-oss knows as `python`, and text models as `code_interpreter`."""

    def python(code: str) -> str:
        """Run code."""
        return servers.answer("python", code=code)

    return _server("python", python)


def _server(name: str, *tools: Callable[..., str]) -> MCPServer:
    """A server of these tools."""

    def cleanup_session() -> str:
        """Forget a session; vLLM calls this at the end of each response."""
        return ""

    server = MCPServer(name, instructions=f"The {name} of the tests.", log_level="WARNING")
    for tool in (*tools, cleanup_session):
        server.tool()(tool)
    return server


@contextlib.contextmanager
def _serving(server: MCPServer) -> Iterator[int]:
    """Serve on a free port in a thread; gives the port."""
    config = uvicorn.Config(
        server.sse_app(), log_level="warning", ws="none", timeout_graceful_shutdown=1
    )
    runner = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=runner.run, args=([listener],), daemon=True)
        thread.start()
        deadline = time.monotonic() + START_LIMIT_S
        while not runner.started:
            if not thread.is_alive() or time.monotonic() > deadline:
                raise RuntimeError("the tool server did not start")
            time.sleep(0.02)
        try:
            yield listener.getsockname()[1]
        finally:
            runner.should_exit = True
            thread.join(STOP_LIMIT_S)
