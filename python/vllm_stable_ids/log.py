"""The plugin's log, and its count of failures.

vLLM configures only the loggers below `vllm`; an INFO line of any other logger is invisible.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger("vllm.plugins.stable_ids")

failed_open: Counter[str] = Counter()
"""How often vLLM's own behaviour came into force, by the kind of exception or limit."""

_listeners: list[Callable[[str], None]] = []


def tell_failures_to(listener: Callable[[str], None]) -> None:
    """Call `listener` with the reason of each failure; it must not raise."""
    _listeners.append(listener)


def count_failure(reason: str) -> None:
    """Count that vLLM's own behaviour is in force, for a reason that is logged elsewhere."""
    failed_open[reason] += 1
    for listener in _listeners:
        listener(reason)


def fail_open(what: str, error: BaseException) -> None:
    """Log and count a fault of this plugin's, after which vLLM's own behaviour is in force.

    The message of `error` is not logged: it may quote a user or the model.

    Args:
        what: What failed, or what happens instead, in one clause.
        error: Why.
    """
    reason = type(error).__name__
    count_failure(reason)
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = f"{at.tb_frame.f_code.co_name}:{at.tb_lineno}" if at is not None else "unknown place"
    logger.warning("%s (%s in %s)", what, reason, where)
