"""What the drivers of Python clients have in common: the task, the tool, and a line a case."""

from __future__ import annotations

import json
import sys
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

QUESTION = "What is the weather in Paris?"
MODEL = "m"
API_KEY = "x"
WEATHER = "sunny"

TOOL = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}


def get_weather(city: str) -> str:
    """The weather in a city."""
    sys.stderr.write(f"get_weather({city!r})\n")
    return WEATHER


def through_all(modes: Mapping[str, Callable[[str], str]]) -> None:
    """Go through the cases of the task on the command line, and say of each how it ended.

    Args:
        modes: The ways of using the client: from a base URL to the final text.
    """
    task = json.loads(sys.argv[1])
    for case, url in task["urls"].items():
        try:
            said = {"text": modes[task["mode"]](url)}
        except Exception as error:  # noqa: BLE001 - whatever a client raises is what it says
            traceback.print_exc()
            said = {"error": str(error) or type(error).__name__}
        sys.stdout.write(json.dumps({"case": case, **said}) + "\n")
        sys.stdout.flush()
