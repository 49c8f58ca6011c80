"""Drives Microsoft's Agent Framework."""

from __future__ import annotations

import asyncio

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient

from clients.shared.loop import API_KEY, MODEL, QUESTION, get_weather, through_all


def default(url: str) -> str:
    """Use it as it comes: it names the response before."""
    return asyncio.run(_default(url))


async def _default(url: str) -> str:
    model = OpenAIChatClient(model=MODEL, base_url=url, api_key=API_KEY)
    stream = Agent(client=model, tools=[get_weather]).run(QUESTION, stream=True)
    async for _ in stream:
        pass
    response = await stream.get_final_response()
    return str(response.messages[-1].text)


through_all({"default": default})
