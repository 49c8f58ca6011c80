"""An item that is announced and not yet closed, and what it has said so far."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vllm_stable_ids.events import Event

CALL_TEXT = {
    "function_call": "arguments",
    "mcp_call": "arguments",
    "custom_tool_call": "input",
    "code_interpreter_call": "code",
}
"""Where a call of each type has the text that its deltas bring."""

PART_ADDED = ("response.content_part.added", "response.reasoning_part.added")


class OpenItem:
    """Keeps what is needed to close an item that upstream will not close.

    Attributes:
        said: Its deltas, in order. vLLM gives an item one part of text at most.
    """

    __slots__ = ("_part", "said")

    def __init__(self) -> None:
        """Start with an item that has said nothing."""
        self.said: list[str] = []
        self._part: Any = None

    def hear(self, event: Event) -> None:
        """Take in an event of the item."""
        if event.type.endswith(".delta"):
            self.said.append(event.delta)
        elif event.type in PART_ADDED:
            self._part = event.part

    def cut(self, announced: Any) -> str:
        """The item as it is when nothing more comes, as JSON.

        Args:
            announced: The item as it was announced.
        """
        item = announced.model_dump(mode="json", by_alias=True)
        text = "".join(self.said)
        if (key := CALL_TEXT.get(item["type"])) is not None:
            item[key] = text
        elif self._part is not None:
            part = self._part.model_dump(mode="json", by_alias=True)
            part["refusal" if part["type"] == "refusal" else "text"] = text
            item["content"] = [part]
        if item.get("status") is not None:
            # A search is done or not; the API has no "incomplete" for it.
            item["status"] = "failed" if item["type"] == "web_search_call" else "incomplete"
        return json.dumps(item)
