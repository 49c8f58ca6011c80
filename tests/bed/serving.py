"""The running and ending of a test's own HTTP server, whatever it answers."""

from __future__ import annotations

import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import ssl
    from types import TracebackType

T = TypeVar("T", bound="Serving")


class _Quiet(ThreadingHTTPServer):
    """A server that does not print what a client that leaves causes."""

    def handle_error(self, *about: Any) -> None:
        """Say nothing of a connection that failed."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(*about)


class Serving:
    """A server on a loopback port. Use it as a context manager.

    Attributes:
        url: Its base URL.
    """

    def __init__(
        self, handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None
    ) -> None:
        """Start it.

        Args:
            handler: What answers each request.
            tls: Its certificate, where it speaks TLS.
        """
        self._server = _Quiet(("127.0.0.1", 0), handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}"

    def __enter__(self: T) -> T:
        """Return the running server."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
