"""The clients that streams are replayed to."""

from __future__ import annotations

from dataclasses import dataclass

from clients.entry import Entry


@dataclass(frozen=True)
class Client(Entry):
    """A client in one mode of its `replay` program.

    Attributes:
        custom_tools: Whether the client supports custom tools.
    """

    custom_tools: bool = True

    @property
    def label(self) -> str:
        """Return the head of its column on the page."""
        return f"{self.name}, {self.mode}"


CLIENTS: tuple[Client, ...] = (
    Client(
        name="openai-python",
        package="openai",
        folder="openai_python",
        language="python",
        mode="final",
        how="`responses.stream()`, calls of the final response",
    ),
    Client(
        name="openai-python",
        package="openai",
        folder="openai_python",
        language="python",
        mode="items",
        how="`responses.stream()`, calls of `output_item.done`",
    ),
    Client(
        name="openai-python",
        package="openai",
        folder="openai_python",
        language="python",
        mode="create",
        how="`responses.create(stream=True)`, calls of `output_item.done`",
    ),
    Client(
        name="openai-node",
        package="openai",
        folder="openai_node",
        language="node",
        mode="final",
        how="`responses.stream()`, calls of the final response",
    ),
    Client(
        name="openai-node",
        package="openai",
        folder="openai_node",
        language="node",
        mode="items",
        how="`responses.stream()`, calls of `output_item.done`",
    ),
    Client(
        name="openai-node",
        package="openai",
        folder="openai_node",
        language="node",
        mode="create",
        how="`responses.create({ stream: true })`, calls of `output_item.done`",
    ),
    Client(
        name="AI SDK",
        package="@ai-sdk/openai",
        folder="ai_sdk",
        language="node",
        mode="openai",
        how="`streamText`, `@ai-sdk/openai`",
    ),
    Client(
        name="AI SDK",
        package="@ai-sdk/open-responses",
        folder="ai_sdk",
        language="node",
        mode="open-responses",
        how="`streamText`, `@ai-sdk/open-responses`",
        custom_tools=False,
    ),
)
