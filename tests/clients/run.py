"""Runs a client's driver once, on one server, and gives the verdict on each case."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any

from bed.models import BUILD
from clients.install import TESTS
from clients.relay import Relay
from clients.verdict import judge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from bed.models import ModelPath
    from clients.entry import Entry

LIMIT_S = 300.0  # then a driver is killed, with all that it has started
LOGS = BUILD / "logs"

_running: set[subprocess.Popen[bytes]] = set()


def drive(
    command: Sequence[str],
    entry: Entry,
    upstream: str,
    path: ModelPath,
    log_name: str,
) -> dict[str, str]:
    """Run a driver through all cases.

    Args:
        command: The driver.
        entry: The client.
        upstream: The base URL of the server or proxy.
        path: Which model that serves.
        log_name: What the log with the driver's output is to be called.

    Returns:
        The verdict on each case.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{log_name}.log"
    with Relay(upstream, path, entry.tool) as relay:
        task = json.dumps({"mode": entry.mode, "urls": relay.urls})
        said, ending = execute([*command, task], log)
        return {
            case: judge(case, said.get(case), ending, relay.turns[case], relay.stored_calls)
            for case in relay.urls
        }


def kill_all() -> None:
    """End every driver that runs."""
    for process in tuple(_running):
        _kill(process)


def execute(command: Sequence[str], log: Path) -> tuple[dict[str, Any], str]:
    """Run a driver's process.

    Args:
        command: The driver and its task.
        log: Where its errors go.

    Returns:
        What it said of each case, and how it ended.
    """
    # Files, not pipes: nobody waits for an end of file that something it left behind holds up.
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home,
        tempfile.TemporaryFile() as output,
        log.open("wb") as errors,
    ):
        process = subprocess.Popen(
            command,
            env=_environment(home),
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,  # what it has started ends with it
        )
        _running.add(process)
        try:
            ending = f"ended with status {process.wait(LIMIT_S)}"
        except subprocess.TimeoutExpired:
            ending = f"killed after {LIMIT_S:.0f} s"
        finally:
            _kill(process)
            process.wait()
            _running.discard(process)
        output.seek(0)
        return dict(_lines(output.read().decode(errors="replace"))), f"{ending}, see {log.name}"


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _lines(output: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what a driver said of each case; its clients may print lines of their own."""
    for line in output.splitlines():
        with contextlib.suppress(ValueError):
            said = json.loads(line)
            if isinstance(said, dict) and "case" in said:
                yield said["case"], said


def _environment(home: str) -> dict[str, str]:
    """Return the environment of a driver: no machine's habits, no network, no telemetry."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": str(TESTS),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": home,
        "LANG": "C.UTF-8",
        "NO_PROXY": "*",
        "DO_NOT_TRACK": "1",
        "OTEL_SDK_DISABLED": "true",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "LANGSMITH_TRACING": "false",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_TELEMETRY": "False",
        "AGNO_TELEMETRY": "false",
    }
