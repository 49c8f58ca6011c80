"""How much a server may send, and how long all of it may take."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.check.live.failure import Failed
from vllm_stable_ids.check.verdict import Reason

if TYPE_CHECKING:
    from types import TracebackType

CONNECTED = (".connect_tcp.complete", ".start_tls.complete")


class Deadline:
    """A time after which nothing is waited for any more. Use it as a context manager.

    A time-out for each read does not do: a server that sends a byte now and then keeps it from
    running out. So the connection is shut down from a thread of its own when the time is over.
    """

    def __init__(self, seconds: float) -> None:
        """Set it; the time runs from `__enter__` on.

        Args:
            seconds: After how long it is over.
        """
        self._seconds = seconds
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self.is_over = False

    def __enter__(self) -> Deadline:
        """Begin."""
        self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing is waited for any more anyway."""
        self._timer.cancel()

    @property
    def reason(self) -> Reason:
        """Why there is no more, where it is over."""
        return Reason(
            "max_time",
            f"The check took longer than {self._seconds:g} s (--max-time).",
            "Give it more time, if the server is only slow: it may also send without an end.",
        )

    def check(self) -> None:
        """Go on only in time.

        Raises:
            Failed: It is over.
        """
        if self.is_over:
            raise Failed(self.reason)

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Take note of a connection; httpx calls this as a request's `trace` extension."""
        if not event.endswith(CONNECTED):
            return
        with self._lock:
            self._socket = info["return_value"].get_extra_info("socket")
            if self.is_over:
                self._shut_down()

    def _end(self) -> None:
        with self._lock:
            self.is_over = True
            self._shut_down()

    def _shut_down(self) -> None:
        """Have whoever reads find the end of the connection."""
        if self._socket is not None:
            with contextlib.suppress(OSError):
                # Not that of a TLS socket, which would change what a read in another thread uses.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


def too_much(most: int, asked: str) -> Reason:
    """Why an answer is not read on.

    Args:
        most: How many bytes it may have.
        asked: The request, as `POST /v1/responses`.
    """
    return Reason(
        "max_bytes",
        f"The answer to {asked} has more than {most:,} bytes (--max-bytes).",
        "Look at what the server sends: these requests ask for far less.",
    )
