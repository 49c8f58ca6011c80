"""Writes a verdict as JSON; docs/check.md describes it."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vllm_stable_ids.check.verdict import Verdict

SCHEMA = 1


def as_json(verdict: Verdict) -> str:
    """The verdict as one JSON object, in ASCII."""
    reason = verdict.reason
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "version": version("vllm-stable-ids"),
        "source": verdict.source,
        "status": verdict.status,
        "exit_status": verdict.exit_status,
        "reason": reason and {"code": reason.code, "message": reason.message},
        "format": verdict.format,
        "bytes": verdict.bytes,
        "advice": verdict.advice,
        "stream": verdict.stream and asdict(verdict.stream),
    }
    return json.dumps(report, indent=2)
