"""Shared by the Python programs of the replay: the tools, and one line of output per stream."""

from __future__ import annotations

import json
import sys
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PROMPT = "Write the notes."
MODEL = "m"
API_KEY = "x"

# No argument is required, so that a call that lost its arguments runs and is recorded.
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
}
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "name": "write_file", "parameters": PARAMETERS, "strict": False},
    {"type": "custom", "name": "run_script"},
]


def replay_all(modes: Mapping[str, Callable[[str, list[dict[str, Any]]], str]]) -> None:
    """Replay every stream of the task on the command line, and print what the client did.

    Args:
        modes: The ways of using the client: each takes a base URL and the list of the calls that
            were run so far, and returns the text.
    """
    task = json.loads(sys.argv[1])
    for case, url in task["urls"].items():
        calls: list[dict[str, Any]] = []
        report: dict[str, Any] = {"case": case, "calls": calls}
        try:
            report["text"] = modes[task["mode"]](url, calls)
        except Exception as error:  # noqa: BLE001 - some streams make a client raise
            traceback.print_exc()
            report["error"] = str(error) or type(error).__name__
        sys.stdout.write(json.dumps(report) + "\n")
        sys.stdout.flush()


def run_item(item: Any, calls: list[dict[str, Any]]) -> None:
    """Run an output item if it is a call.

    As in many agents, empty arguments count as `{}`, and a call whose arguments cannot be parsed
    does not run.
    """
    if item.type == "custom_tool_call":
        given = item.input
    elif item.type == "function_call":
        try:
            given = json.loads(item.arguments or "{}")
        except ValueError:
            return
    else:
        return
    calls.append({"call_id": item.call_id, "name": item.name, "given": given})
