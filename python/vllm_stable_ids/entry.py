"""What the command `vllm-stable-ids` starts with."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command line."""
    # Ctrl-C while modules are imported ends the process, without a word about where that was.
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from vllm_stable_ids.cli import app  # noqa: PLC0415
    from vllm_stable_ids.output import NOT_WRITTEN, not_written  # noqa: PLC0415

    signal.signal(signal.SIGINT, handler)
    try:
        app()
    except OSError as error:
        # Each command has a word for what it reads: this is what it writes.
        not_written(error)
        sys.exit(NOT_WRITTEN)
