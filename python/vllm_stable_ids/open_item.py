"""An item that is announced and not yet closed, and what it has said so far."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vllm_stable_ids.edits import Edits
    from vllm_stable_ids.events import Event

CALL_TEXT = {
    "function_call": "arguments",
    "mcp_call": "arguments",
    "custom_tool_call": "input",
    "code_interpreter_call": "code",
}
"""Where a call of each type has the text that its deltas bring."""

SUMMED_UP = {
    "response.output_text.done": "text",
    "response.reasoning_text.done": "text",
    "response.function_call_arguments.done": "arguments",
    "response.mcp_call_arguments.done": "arguments",
    "response.custom_tool_call_input.done": "input",
    "response.code_interpreter_call_code.done": "code",
}
"""Where an event that sums up the deltas of a text has it."""

CUT_CHARACTER = "\ufffd"
"""Stands for the first bytes of a character, which vLLM does not stream."""

PARTS: dict[str, dict[str, Any]] = {
    "message": {"type": "output_text", "annotations": []},
    "reasoning": {"type": "reasoning_text"},
}
"""The part of an item whose part was never announced."""

PART_ADDED = ("response.content_part.added", "response.reasoning_part.added")


class OpenItem:
    """Keeps what is needed to close an item that upstream will not close.

    Attributes:
        index: The `output_index` that upstream gives it.
        said: Its deltas, in order. vLLM gives an item one part of text at most.
    """

    __slots__ = ("_part", "_summed_up", "index", "said")

    def __init__(self, index: int) -> None:
        """Start with an item that has said nothing."""
        self.index = index
        self.said: list[str] = []
        self._part: Any = None
        self._summed_up = False

    def take_in(self, event: Event, edits: Edits) -> str:
        """Take in an event of the item.

        Returns:
            The end of a text that upstream sums up and has not streamed, to be streamed first.
            vLLM before 0.25 loses it where several tokens of gpt-oss come in one step.
        """
        kind = event.type
        if kind.endswith(".delta"):
            self.said.append(event.delta)
        elif kind in PART_ADDED:
            self._part = event.part
        elif kind.endswith(".done"):
            self._summed_up = True
            self.restore(event, edits)
            if (key := SUMMED_UP.get(kind)) is not None:
                unsaid = self._unsaid_of(getattr(event, key) or "").removesuffix(CUT_CHARACTER)
                if unsaid:
                    self.said.append(unsaid)
                return unsaid
        return ""

    def restore(self, event: Event, edits: Edits) -> None:
        """Say again what an item has said, where the end of a text denies that there was any.

        vLLM 0.20 sums up the text before a call as empty, after it has streamed it.
        """
        if not self.said:
            return
        kind = event.type
        if kind == "response.output_text.done" and not event.text:
            edits.set(event, "text", "".join(self.said))
        elif kind == "response.content_part.done" and event.part.type == "output_text":
            if not event.part.text:
                edits.set(event.part, "text", "".join(self.said))
        elif (
            kind == "response.output_item.done"
            and event.item.type == "message"
            and not event.item.content
            and getattr(self._part, "type", None) == "output_text"
        ):
            text = "".join(self.said)
            edits.set(event.item, "content", [self._part.model_copy(update={"text": text})])

    def _unsaid_of(self, text: str) -> str:
        said = "".join(self.said)
        return text.removeprefix(said) if text.startswith(said) else ""

    def rest(self, whole: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """The events that upstream owes, out of all those that the item has (type, JSON)."""
        if self._summed_up:
            return list(whole[-1:])
        owed = []
        for kind, text in whole[1:]:
            if kind.endswith(".delta"):
                event = json.loads(text)
                event["delta"] = self._unsaid_of(event["delta"])
                if event["delta"]:
                    owed.append((kind, json.dumps(event)))
            elif kind not in PART_ADDED or self._part is None:
                owed.append((kind, text))
        return owed

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
        elif text:
            item["content"] = [{**PARTS[item["type"]], "text": text}]
        if item.get("status") is not None:
            # A search is done or not; the API has no "incomplete" for it.
            item["status"] = "failed" if item["type"] == "web_search_call" else "incomplete"
        return json.dumps(item)
