"""Drives LangChain's client for OpenAI."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI

from clients.shared.loop import API_KEY, MODEL, QUESTION, get_weather, through_all


def history(url: str) -> str:
    """Send the whole history with each request."""
    return _loop(url, use_responses_api=True)


def previous_response_id(url: str) -> str:
    """Name the response before."""
    return _loop(url, use_responses_api=True, use_previous_response_id=True)


def _loop(url: str, **settings: Any) -> str:
    model = ChatOpenAI(model=MODEL, base_url=url, api_key=API_KEY, **settings)
    with_tool = model.bind_tools([get_weather])
    messages: list[BaseMessage] = [HumanMessage(QUESTION)]
    while True:
        chunks = list(with_tool.stream(messages))
        message = sum(chunks[1:], chunks[0])
        if not message.tool_calls:
            return str(message.text)
        messages += [message, *map(_output, message.tool_calls)]


def _output(call: Any) -> ToolMessage:
    return ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"])


through_all({"history": history, "previous_response_id": previous_response_id})
