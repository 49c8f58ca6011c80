"""Runs the probe in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from typing import Any

from vllm_stable_ids.doctor.probe import MARK

TIME_LIMIT_S = 180
# Without the current folder, where anything may be called vllm.
CODE = (
    "import sys; sys.path = [path for path in sys.path if path]; "
    "from vllm_stable_ids.doctor.probe import main; main()"
)
ENV = {"VLLM_LOGGING_LEVEL": "WARNING", "HF_HUB_OFFLINE": "1"}


def probed(limit_s: float = TIME_LIMIT_S) -> dict[str, Any]:
    """The probe's result; it has the member `error` where the probe failed."""
    with subprocess.Popen(  # noqa: S603 - this Python, and code from above
        [sys.executable, "-c", CODE],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **ENV},
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            return {"error": f"importing vLLM took more than {limit_s:g} seconds"}
        finally:
            # vLLM may have started processes of its own.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    for line in reversed(out.decode(errors="replace").splitlines()):
        if line.startswith(MARK):
            found: dict[str, Any] = json.loads(line[len(MARK) :])
            return found
    last = (err.decode(errors="replace").strip().splitlines() or ["no reason given"])[-1]
    return {"error": f"Python ended with status {process.returncode}: {last}"}
