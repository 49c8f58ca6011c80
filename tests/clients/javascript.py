"""The clients for JavaScript, and the programs written in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clients.entry import SIDES, Entry, Failures, Side, calls, everything
from clients.python import NOT_FOUND, STORE, stock, stored
from clients.verdict import UNPAIRED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bed.models import ModelPath

PATHS: tuple[ModelPath, ...] = ("simple", "harmony")

OPENCLAW = "Responses stream changed output item identity"
OPENAI_NODE = "Unhandled response stream event: unknown"
AGENTS = '"path": [ "input_tokens_per_turn" ], "message": "Invalid input: expe'
# vLLM has no item_reference, and fails over it in its own ways.
ITEM_REFERENCE: dict[ModelPath, str] = {
    "simple": "'role'",
    "harmony": "Unknown input type: item_reference",
}


def on(sides: Sequence[Side], failures: Failures) -> dict[tuple[Side, ModelPath], Failures]:
    """The same fails on both paths."""
    return {(side, path): failures for side in sides for path in PATHS}


CLIENTS: tuple[Entry, ...] = (
    Entry(
        name="OpenClaw",
        package="@openclaw/ai",
        folder="openclaw",
        language="node",
        mode="transport",
        how="its transport, `@openclaw/ai`",
        quick=True,
        fails=stock(*[f"responses_output_identity_conflict: {OPENCLAW}"] * 2),
    ),
    Entry(
        name="OpenClaw",
        package="openclaw",
        folder="openclaw_cli",
        language="node",
        mode="exec",
        how="`openclaw agent exec`",
        tool=("exec", '{"command": "echo sunny"}'),
        fails=stock(OPENCLAW, OPENCLAW),
    ),
    Entry(
        name="openai-node",
        package="openai",
        folder="openai_node",
        language="node",
        mode="stream",
        how="`responses.stream()`, history sent back",
        quick=True,
        fails=on(("stock",), everything(OPENAI_NODE)),
    ),
    Entry(
        name="openai-node",
        package="openai",
        folder="openai_node",
        language="node",
        mode="previous_response_id",
        how="`responses.create({ stream: true })`, `previous_response_id`",
        quick=True,
        fails=stored(f"400 {NOT_FOUND}"),
        why=STORE,
    ),
    Entry(
        name="Agents SDK (JS)",
        package="@openai/agents",
        folder="openai_agents_js",
        language="node",
        mode="default",
        how="`run(…, { stream: true })`",
        fails=on(SIDES, everything(AGENTS)),
        why="vLLM's `usage` has arrays (`input_tokens_per_turn`) where the SDK takes numbers only",
    ),
    Entry(
        name="Agents SDK (JS)",
        package="@openai/agents",
        folder="openai_agents_js",
        language="node",
        mode="own-model",
        how="the same, without the details of `usage`",
        fails=stock(
            "the call_id of tool_called, chatcmpl-tool-…",
            "the call_id of tool_called, call_…, is not that of the raw event, call_…",
        ),
    ),
    Entry(
        name="@langchain/openai",
        package="@langchain/openai",
        folder="langchain_js",
        language="node",
        mode="stream",
        how="`useResponsesApi`, history sent back",
        fails=stock(UNPAIRED, f"400 {NOT_FOUND}"),
    ),
    Entry(
        name="AI SDK",
        package="@ai-sdk/openai",
        folder="ai_sdk",
        language="node",
        mode="default",
        how="`streamText`, items sent back as `item_reference`",
        fails={
            (side, path): calls(said)
            for side in ("stock", "proxy")
            for path, said in ITEM_REFERENCE.items()
        },
        why="What an `item_reference` refers to is in the server's store, out of a proxy's reach",
    ),
    Entry(
        name="AI SDK",
        package="@ai-sdk/openai",
        folder="ai_sdk",
        language="node",
        mode="store-false",
        how="`streamText` with `store: false`",
    ),
    Entry(
        name="Codex CLI",
        package="@openai/codex",
        folder="codex",
        language="node",
        mode="exec",
        how="`codex exec`",
        tool=("exec_command", '{"cmd": "echo sunny"}'),
    ),
)
