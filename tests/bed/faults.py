"""Faults to order inside the plugin of a test server, and what they look like.

A request asks for one by its `x-fault` header (see `bed.probe`): `open` fails when the stream's
overlay is made, `send:N` at the N-th event it decides (from 0), `reconcile` at the end.
"""

from __future__ import annotations

import contextvars
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_decided: contextvars.ContextVar[int] = contextvars.ContextVar("bed.faults.decided", default=0)


class InjectedError(Exception):
    """A fault that a test asked for."""


def install(fault: Callable[[], str | None]) -> None:
    """Make the plugin fail where a request asks for it.

    Args:
        fault: Returns what the current request asks for.
    """
    overlay: Any = importlib.import_module("vllm_stable_ids.overlay")
    init, decide, reconcile = (
        overlay.Overlay.__init__,
        overlay.Overlay._decide,
        overlay.Overlay._reconcile,
    )

    def faulty_init(self: Any, *args: Any, **kwargs: Any) -> None:
        if fault() == "open":
            raise InjectedError
        _decided.set(0)
        init(self, *args, **kwargs)

    def faulty_decide(self: Any, *args: Any) -> Any:
        number = _decided.get()
        _decided.set(number + 1)
        if fault() == f"send:{number}":
            # After the decision, so that what was changed must be taken back.
            decide(self, *args)
            raise InjectedError
        return decide(self, *args)

    def faulty_reconcile(self: Any, *args: Any) -> None:
        reconcile(self, *args)
        if fault() == "reconcile":
            raise InjectedError

    overlay.Overlay.__init__ = faulty_init
    overlay.Overlay._decide = faulty_decide
    overlay.Overlay._reconcile = faulty_reconcile
