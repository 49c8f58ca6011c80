"""The events that open and close a part of reasoning text, under the names the API has."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.events import PROTOCOL_MODULE
from vllm_stable_ids.patches.seam import Patch

if TYPE_CHECKING:
    from vllm_stable_ids.settings import Settings


def is_openais(settings: Settings) -> bool:
    """Whether the events are to have, or have anyway, the names of the API."""
    return settings.vocabulary or not _has_own_names()


def _has_own_names() -> bool:
    protocol = importlib.import_module(PROTOCOL_MODULE)
    return hasattr(protocol, "ResponseReasoningPartAddedEvent")


def not_needed(_module: Any, settings: Settings) -> str | None:
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
    versions="0.15 to 0.31",
    delete_when="support of vLLM 0.31 ends",
    not_needed=not_needed,
)
