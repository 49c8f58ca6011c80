"""Drives Pydantic AI."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider

from clients.shared.loop import API_KEY, MODEL, QUESTION, get_weather, through_all

if TYPE_CHECKING:
    from collections.abc import AsyncIterable


def history(url: str) -> str:
    """Send the whole history with each request."""
    return asyncio.run(_run(url, OpenAIResponsesModelSettings()))


def previous_response_id(url: str) -> str:
    """Name the response before."""
    settings = OpenAIResponsesModelSettings(openai_previous_response_id="auto")
    return asyncio.run(_run(url, settings))


async def _run(url: str, settings: OpenAIResponsesModelSettings) -> str:
    provider = OpenAIProvider(base_url=url, api_key=API_KEY)
    agent = Agent(OpenAIResponsesModel(MODEL, provider=provider), tools=[get_weather])
    # With a handler of events it streams.
    done = await agent.run(QUESTION, model_settings=settings, event_stream_handler=_read)
    return str(done.output)


async def _read(_: Any, events: AsyncIterable[Any]) -> None:
    async for _event in events:
        pass


through_all({"history": history, "previous_response_id": previous_response_id})
