"""The command `vllm-stable-ids check`, run in this process, and what it is tried on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.testing import CliRunner

from vllm_stable_ids.cli import app

if TYPE_CHECKING:
    from collections.abc import Mapping

CAPTURES = Path(__file__).parents[1] / "captures"
KEPT = (CAPTURES / "kept.sse").read_bytes()
BROKEN = (CAPTURES / "simple-0.29.sse").read_bytes()


def run(*arguments: object) -> tuple[int, str]:
    """Return its exit status and what it writes."""
    status, _, output = _invoke(*arguments)
    return status, output


def report(*arguments: object) -> dict[str, Any]:
    """Return its JSON."""
    read: dict[str, Any] = json.loads(_invoke("--json", *arguments)[1])
    return read


def _invoke(*arguments: object) -> tuple[int, str, str]:
    """Run it; a traceback fails the test. Return status, standard output, and all output."""
    done = CliRunner().invoke(app, ["check", *map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.output


def statuses(read: Mapping[str, Any]) -> dict[str, str]:
    """Return the verdict on each request."""
    return {one["request"]: one["status"] for one in read["requests"]}
