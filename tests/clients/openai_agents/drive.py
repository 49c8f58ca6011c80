"""Drives OpenAI's Agents SDK for Python."""

from __future__ import annotations

import asyncio
from itertools import zip_longest

from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from clients.shared.loop import API_KEY, MODEL, QUESTION, get_weather, through_all


def run_streamed(url: str) -> str:
    """Let the runner do the loop; what it tells of a call must name it by the streamed call_id."""
    return asyncio.run(_run_streamed(url))


async def _run_streamed(url: str) -> str:
    model = OpenAIResponsesModel(MODEL, AsyncOpenAI(base_url=url, api_key=API_KEY))
    agent = Agent(name="weather", model=model, tools=[function_tool(get_weather)])
    run = Runner.run_streamed(agent, QUESTION)
    told: dict[str, list[str]] = {"raw event": [], "tool_called": [], "tool_output": []}
    async for event in run.stream_events():
        if event.type == "raw_response_event":
            data = event.data
            if data.type == "response.output_item.added" and data.item.type == "function_call":
                told["raw event"].append(data.item.call_id)
        elif event.type == "run_item_stream_event" and event.name in told:
            told[event.name].append(event.item.call_id)
    for name, call_ids in told.items():
        for said, was in zip_longest(call_ids, told["raw event"]):
            if said != was:
                raise RuntimeError(f"call_id of {name}: {said}, of the raw event: {was}")
    return str(run.final_output)


set_tracing_disabled(True)
through_all({"run_streamed": run_streamed})
