"""What is none of the plugin's business is exactly as vLLM makes it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import httpx

from bed import client
from bed.cases import cases_of

if TYPE_CHECKING:
    from bed.models import ModelPath
    from bed.server import VllmServer

RANDOM = re.compile(
    r"\b(?:(?:resp|msg|rs|fc|mcp|ws|call|chatcmpl|chatcmpl-tool)[_-])?[0-9a-f]{16}(?:[0-9a-f]{16})?\b"
)
TIMES = {"created_at", "created", "completed_at"}


def shape(value: Any) -> Any:
    """An answer without what differs from request to request: ids' random part and times."""
    if isinstance(value, dict):
        return {key: 0 if key in TIMES else shape(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [shape(inner) for inner in value]
    if isinstance(value, str):
        return RANDOM.sub(lambda found: found[0].rstrip("0123456789abcdef") + "…", value)
    return value


def test_answers_that_are_not_streamed(
    fixed: VllmServer, stock: VllmServer, path: ModelPath
) -> None:
    for scripted in cases_of(path):
        ours = client.create(fixed, scripted)
        theirs = client.create(stock, scripted)
        assert shape(ours) == shape(theirs), scripted.name


def test_chat_completions(fixed: VllmServer, stock: VllmServer, path: ModelPath) -> None:
    for scripted in cases_of(path)[:3]:
        for stream in (False, True):
            request = {
                "model": "m",
                "messages": [{"role": "user", "content": client.QUESTION}],
                "temperature": 0,
                "max_tokens": 60,
                "stream": stream,
                "vllm_xargs": {"script": scripted.ids()},
            }
            ours, theirs = (
                httpx.post(f"{server.url}/v1/chat/completions", json=request, timeout=120)
                for server in (fixed, stock)
            )
            assert ours.status_code == 200, ours.text
            if stream:
                ours_said, theirs_said = map(chat_said, (ours.content, theirs.content))
                assert shape(ours_said) == shape(theirs_said)
            else:
                assert shape(ours.json()) == shape(theirs.json())


def chat_said(raw: bytes) -> tuple[list[Any], dict[str, str]]:
    """What a streamed chat completion says: the text by field, and all else in order.

    A busy vLLM puts several tokens, or the last token and the end, into one chunk, so that how it
    is cut proves nothing.
    """
    texts: dict[str, str] = {}
    rest: list[Any] = []
    for chunk in client.parse(raw):
        (choice,) = chunk.pop("choices")
        delta = choice.pop("delta")
        for key in ("content", "reasoning"):
            texts[key] = texts.get(key, "") + (delta.pop(key, None) or "")
        told = [chunk]
        for call in delta.pop("tool_calls", None) or ():
            texts["arguments"] = texts.get("arguments", "") + call["function"].pop("arguments", "")
            if call["function"] or "id" in call:
                told.append(call)
        told += [{key: value} for key, value in {**delta, **choice}.items() if value]
        rest += [one for one in told if one not in rest]
    return rest, texts


def test_a_request_that_vllm_refuses(fixed: VllmServer, stock: VllmServer) -> None:
    request = client.body(None, stream=True, tool_choice="required", tools=[])
    ours, theirs = client.post(fixed, request), client.post(stock, request)
    assert ours.status_code == theirs.status_code == 400
    assert ours.json() == theirs.json()
