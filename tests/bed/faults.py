"""Faults to order inside the plugin of a test server, and what they look like.

A request asks for one by its `x-fault` header (see `bed.probe`): `open` fails when the stream's
overlay is made, `send:N` at the N-th event it decides (from 0), `reconcile` at the end,
`encode:N` when the N-th event of a stream (from 0) is to be written. With
`generation:N` vLLM's engine reports an error as the outcome of the N-th step (from 0).
"""

from __future__ import annotations

import contextvars
import importlib
import itertools
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.vllm_names import SERVING_CLASS, SERVING_MODULE

if TYPE_CHECKING:
    from collections.abc import Callable

_decided: contextvars.ContextVar[int] = contextvars.ContextVar("bed.faults.decided", default=0)
_steps: contextvars.ContextVar[int] = contextvars.ContextVar("bed.faults.steps", default=0)


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

    _install_encoder(fault)
    _install_engine_error(fault)
    overlay.Overlay.__init__ = faulty_init
    overlay.Overlay._decide = faulty_decide
    overlay.Overlay._reconcile = faulty_reconcile


def _install_encoder(fault: Callable[[], str | None]) -> None:
    encode: Any = importlib.import_module("vllm_stable_ids.patches.encode")
    encoder = encode.DeltaEncoder

    class Faulty:
        def __init__(self) -> None:
            made = encoder()
            self._encode = made.encode
            self.learn = made.learn
            self._numbers = itertools.count()

        def encode(self, event: Any) -> str | None:
            if fault() == f"encode:{next(self._numbers)}":
                raise InjectedError
            written: str | None = self._encode(event)
            return written

    encode.DeltaEncoder = Faulty


def _install_engine_error(fault: Callable[[], str | None]) -> None:
    """Let vLLM find what it finds where its engine fails: a step that finished with an error."""
    try:
        owner: Any = getattr(importlib.import_module(SERVING_MODULE), SERVING_CLASS)
    except (ImportError, AttributeError):
        return  # a vLLM made up by a test
    raise_if_error = owner._raise_if_error

    def look(self: Any, finish_reason: str | None, request_id: str) -> None:
        number = _steps.get()
        _steps.set(number + 1)
        failed = fault() == f"generation:{number}"
        raise_if_error(self, "error" if failed else finish_reason, request_id)

    owner._raise_if_error = look
