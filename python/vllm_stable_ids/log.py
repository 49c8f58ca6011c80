"""Where the plugin speaks.

vLLM configures the logger tree `vllm` only; an INFO line of any other logger is invisible.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger("vllm.plugins.stable_ids")

failed_open: Counter[str] = Counter()
"""How many streams were given up, by the kind of exception that was the reason."""

_listeners: list[Callable[[str], None]] = []


def tell_failures_to(listener: Callable[[str], None]) -> None:
    """Have `listener` called with the reason of each failure; it must not raise."""
    _listeners.append(listener)


def count_failure(reason: str) -> None:
    """Count that vLLM's own behaviour is in force, for a reason that is said elsewhere."""
    failed_open[reason] += 1
    for listener in _listeners:
        listener(reason)


def fail_open(what: str, error: BaseException) -> None:
    """Report that something of ours failed and vLLM's own behaviour is in force.

    The message of `error` is left out: it may quote what a user or the model said.

    Args:
        what: What failed and what happens instead, in one clause.
        error: Why.
    """
    reason = type(error).__name__
    count_failure(reason)
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = f"{at.tb_frame.f_code.co_name}:{at.tb_lineno}" if at is not None else "unknown place"
    logger.warning("%s (%s in %s)", what, reason, where)
