"""The clients for Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clients.entry import Entry, Failures, Side, calls
from clients.verdict import OTHER_IDS, UNPAIRED

if TYPE_CHECKING:
    from bed.models import ModelPath

STORE = "What continues a stored response, which no proxy can change, has that one's ids"
NOT_FOUND = "No call message found for call_…"
PYDANTIC = f"status_code: 400, model_name: m, body: {{'message': '{NOT_FOUND}'"
LITELLM = f'litellm.BadRequestError: Hosted_vllmException - {{"error":{{"message":"{NOT_FOUND}"'
FRAMEWORK = "agent_framework_openai._chat_client.OpenAIChatClient'> service failed to complete the "
FRAMEWORK += f"prompt: Error code: 400 - {NOT_FOUND}"


def stock(simple: str, harmony: str) -> dict[tuple[Side, ModelPath], Failures]:
    """Every case with a call fails on a stock server."""
    return {("stock", "simple"): calls(simple), ("stock", "harmony"): calls(harmony)}


def stored(harmony: str) -> dict[tuple[Side, ModelPath], Failures]:
    """The same behind the proxy: the ids of what is stored are vLLM's."""
    behind: dict[tuple[Side, ModelPath], Failures] = {
        ("proxy", "simple"): calls(UNPAIRED),
        ("proxy", "harmony"): calls(harmony),
    }
    return stock(UNPAIRED, harmony) | behind


CLIENTS: tuple[Entry, ...] = (
    Entry(
        name="openai-python",
        package="openai",
        folder="openai_python",
        language="python",
        mode="stream",
        how="`responses.stream()`, history sent back",
        quick=True,
        fails=stock(OTHER_IDS, OTHER_IDS),
    ),
    Entry(
        name="openai-python",
        package="openai",
        folder="openai_python",
        language="python",
        mode="previous_response_id",
        how="`responses.create(stream=True)`, `previous_response_id`",
        quick=True,
        fails=stored(f"Error code: 400 - {NOT_FOUND}"),
        why=STORE,
    ),
    Entry(
        name="Agents SDK (Python)",
        package="openai-agents",
        folder="openai_agents",
        language="python",
        mode="run_streamed",
        how="`Runner.run_streamed`",
        fails=stock(
            "call_id of tool_called: chatcmpl-tool-…, of the raw event: call_…",
            "call_id of tool_called: call_…, of the raw event: call_…",
        ),
    ),
    Entry(
        name="langchain-openai",
        package="langchain-openai",
        folder="langchain",
        language="python",
        mode="history",
        how="`use_responses_api`, history sent back",
    ),
    Entry(
        name="langchain-openai",
        package="langchain-openai",
        folder="langchain",
        language="python",
        mode="previous_response_id",
        how="`use_previous_response_id`",
        fails=stored(f"Error code: 400 - {NOT_FOUND}"),
        why=STORE,
    ),
    Entry(
        name="Pydantic AI",
        package="pydantic-ai-slim",
        folder="pydantic_ai",
        language="python",
        mode="history",
        how="history sent back",
    ),
    Entry(
        name="Pydantic AI",
        package="pydantic-ai-slim",
        folder="pydantic_ai",
        language="python",
        mode="previous_response_id",
        how='`openai_previous_response_id="auto"`',
        quick=True,
        fails=stored(PYDANTIC),
        why=STORE,
    ),
    Entry(
        name="Agent Framework",
        package="agent-framework-openai",
        folder="agent_framework",
        language="python",
        mode="default",
        how="default, `previous_response_id`",
        quick=True,
        fails=stored(FRAMEWORK),
        why=STORE,
    ),
    Entry(
        name="LiteLLM",
        package="litellm",
        folder="litellm",
        language="python",
        mode="history",
        how="`responses(stream=True)`, history sent back",
        fails=stock(OTHER_IDS, OTHER_IDS),
    ),
    Entry(
        name="LiteLLM",
        package="litellm",
        folder="litellm",
        language="python",
        mode="previous_response_id",
        how="`responses(stream=True)`, `previous_response_id`",
        fails=stored(LITELLM),
        why=STORE,
    ),
)
