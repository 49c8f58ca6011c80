"""OpenClaw's transport, which stops where an item changes its identity, on every scripted case."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from bed.cases import cases_of
from bed.prompting import Prompting
from clients.cases import answer
from clients.install import install
from clients.register import QUICK

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from bed.cases import Case
    from bed.client import Server
    from bed.models import ModelPath
    from bed.server import VllmServer

LIMIT_S = 300

# The call has no arguments, which are no JSON: the plugin adds none.
NO_JSON = "malformed_tool_call_arguments: Responses stream completed tool call with invalid JSON "
NO_JSON += "arguments"


def errors(server: Server, path: ModelPath, home: Path) -> dict[str, str | None]:
    """Take OpenClaw through the cases that need no fields of a request, both turns.

    Returns:
        What it has against each; None where it has nothing.
    """
    cases = [case for case in cases_of(path) if not case.request]
    waiting = iter(cases)

    def choose(body: Mapping[str, Any]) -> Case:
        answered = body["input"][-1].get("type") == "function_call_output"
        return answer(path) if answered else next(waiting)

    entry = next(entry for entry in QUICK if entry.folder == "openclaw")
    with Prompting(server, choose) as relay:
        urls = {case.name: f"{relay.url}/v1" for case in cases}
        done = subprocess.run(
            [*install(entry), json.dumps({"mode": entry.mode, "urls": urls})],
            env={**os.environ, "HOME": str(home), "NO_PROXY": "*"},
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )
    assert done.returncode == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["case"] for line in said] == [case.name for case in cases]
    return {line["case"]: line.get("error") for line in said}


@pytest.mark.skipif(shutil.which("npm") is None, reason="there is no npm here")
def test_openclaw_takes_every_case(fixed: VllmServer, path: ModelPath, tmp_path: Path) -> None:
    found = errors(fixed, path, tmp_path)
    assert found.pop("h-empty-args", NO_JSON) == NO_JSON
    assert set(found.values()) == {None}
