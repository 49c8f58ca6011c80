"""The events that open and close a part of reasoning text, under the names the API has."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.patches.patch import Patch
from vllm_stable_ids.vllm_names import PROTOCOL_MODULE, REASONING_PART_CLASS

if TYPE_CHECKING:
    from vllm_stable_ids.settings import Settings


def has_openai_names(settings: Settings) -> bool:
    """Whether streams have the API's event names: renamed here, or vLLM's own."""
    return settings.vocabulary or not _has_own_names()


def _has_own_names() -> bool:
    return hasattr(importlib.import_module(PROTOCOL_MODULE), REASONING_PART_CLASS)


def not_needed(_serving: Any, settings: Settings) -> str | None:
    """Why `response.reasoning_part.*` is not renamed here."""
    if not settings.vocabulary:
        return "VLLM_STABLE_IDS_VOCABULARY is off"
    if not _has_own_names():
        return "this vLLM has OpenAI's event names"
    return None


PATCH = Patch(
    name="vocabulary",
    what="Sends `response.content_part.*` where vLLM has `response.reasoning_part.*`.",
    why=(
        "The OpenAI API has no `response.reasoning_part.*`; OpenAI's Node SDK stops at the first "
        'one with "Unhandled response stream event".'
    ),
    upstream=("#59307",),
    needed_since="0.15",
    needed_until="0.31",
    delete_when="support of vLLM 0.31 ends",
    not_needed=not_needed,
)
