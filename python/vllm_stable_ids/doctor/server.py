"""Asks a running server, as `vllm-stable-ids check URL` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_stable_ids.doctor.report import Server

if TYPE_CHECKING:
    from rich.console import Console

WORKS_WITHIN_S = 60.0


def look(url: str, key: str | None, console: Console) -> Server:
    """What the checker says of a server.

    Args:
        url: Where it is.
        key: What it wants to be shown.
        console: Where progress is shown, if it is a terminal.
    """
    try:
        from vllm_stable_ids.check.live.asking import Asking  # noqa: PLC0415 - only this asks
        from vllm_stable_ids.check.live.command import ask  # noqa: PLC0415 - as above
    except ImportError as error:
        missing = f"It cannot be asked without the package {error.name}."
        return Server(url, "not_judged", missing, f"Install it: pip install {error.name}.")
    asking = Asking(
        url=url,
        model=None,
        key=key,
        headers=[],
        timeout=WORKS_WITHIN_S,
        insecure=False,
        save=None,
        redact=False,
    )
    verdict = ask(asking, console)
    reason = None if verdict.reason is None else verdict.reason.message
    return Server(verdict.url, verdict.status, reason, verdict.advice)
