"""Every scripted output on a real vLLM keeps the contract, and breaks it without the plugin."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from bed import client
from bed.cases import Case, case, cases_of
from bed.conventions import prefix_breaches, vocabulary_breaches
from bed.judge import Breach, judge, judge_store
from bed.random_outputs import random_case

if TYPE_CHECKING:
    from bed.client import Stream
    from bed.models import ModelPath
    from bed.server import VllmServer
    from conftest import Servers

CASES = [*cases_of("simple"), *cases_of("harmony")]

RANDOM_STREAMS = 300
AT_ONCE = 12


def breaches(stream: Stream, stored: dict[str, object] | None) -> list[Breach]:
    """Everything that the contract has against a stream and what the server says of it."""
    assert stream.status == 200, stream.raw
    events = stream.events
    found = [*judge(events), *vocabulary_breaches(events), *prefix_breaches(events)]
    if stored is not None:
        found += judge_store(events, stored)
    return found


@pytest.mark.parametrize("scripted", CASES, ids=lambda scripted: scripted.name)
def test_a_scripted_output_keeps_its_identities(servers: Servers, scripted: Case) -> None:
    server = servers.get(scripted.path, fixed=True)
    stream = client.stream(server, scripted)
    stored = client.retrieve(server, stream.terminal["id"])
    assert breaches(stream, stored) == []


@pytest.mark.parametrize("scripted", CASES, ids=lambda scripted: scripted.name)
def test_without_the_plugin_it_does_not(servers: Servers, scripted: Case) -> None:
    stream = client.stream(servers.get(scripted.path, fixed=False), scripted)
    assert judge(stream.events) != []


async def run_random(server: VllmServer, path: ModelPath, count: int) -> list[tuple[int, Breach]]:
    """Stream random outputs, several at once; returns each breach with its seed."""
    gate = asyncio.Semaphore(AT_ONCE)
    async with client.async_client(server) as connection:

        async def one(seed: int) -> list[tuple[int, Breach]]:
            scripted = random_case(path, seed)
            async with gate:
                stream = await client.astream(connection, scripted)
                assert stream.status == 200, stream.raw
                stored = None
                if scripted.request.get("store", True):
                    answer = await connection.get(f"/v1/responses/{stream.terminal['id']}")
                    stored = answer.json()
            return [(seed, breach) for breach in breaches(stream, stored)]

        return [found for part in await asyncio.gather(*map(one, range(count))) for found in part]


async def test_random_outputs_keep_their_identities(fixed: VllmServer, path: ModelPath) -> None:
    assert await run_random(fixed, path, RANDOM_STREAMS) == []


async def test_random_outputs_break_without_the_plugin(stock: VllmServer, path: ModelPath) -> None:
    broken = {seed for seed, breach in await run_random(stock, path, 20)}
    assert len(broken) >= 15


# Outputs of which vLLM streams only a part, and tells the rest at the end (C5).
HALF_STREAMED = {
    "text after a broken call": (
        '<tool_call>{"name": "get_weather", "arguments": {"city": }}</tool_call>The answer is 42.',
        "The answer is 42.",
    ),
    "text after a call in a fence": (
        '<tool_call>\n{"name": "get_weather", "arguments": ```json\n{}\n```}\n</tool_call>'
        "So it is.",
        "So it is.",
    ),
    "a call of nothing": ('<tool_call>{"name": "", "arguments": []}</tool_call>', "[]"),
}


@pytest.mark.parametrize("name", HALF_STREAMED)
def test_what_vllm_tells_only_at_the_end_is_streamed(servers: Servers, name: str) -> None:
    output, told = HALF_STREAMED[name]
    scripted = Case(name, "simple", f"{output}<|im_end|>")
    stock = client.stream(servers.get("simple", fixed=False), scripted)
    assert told in str(stock.terminal["output"])
    stream = client.stream(servers.get("simple", fixed=True), scripted)
    assert (
        breaches(stream, client.retrieve(servers.get("simple", fixed=True), stream.terminal["id"]))
        == []
    )
    deltas = "".join(event.get("delta", "") for event in stream.events)
    assert told in deltas
    assert told in str(stream.terminal["output"])


def test_a_harmony_call_of_nothing_is_streamed(servers: Servers) -> None:
    output = "<|channel|>commentary to=x. json<|message|><|call|>"
    stream = client.stream(servers.get("harmony", fixed=True), Case("x.", "harmony", output))
    assert breaches(stream, None) == []
    assert [item["type"] for item in stream.terminal["output"]] == ["mcp_call"]


def test_vllms_own_vocabulary_on_request(servers: Servers) -> None:
    """VLLM_STABLE_IDS_VOCABULARY decides per server; the stock stream shows what it replaces."""
    scripted = case("q-text")
    ours = client.stream(servers.get("simple", fixed=True), scripted).events
    stock = client.stream(servers.get("simple", fixed=False), scripted).events
    assert [event["type"] for event in stock if "reasoning_part" in event["type"]] == [
        "response.reasoning_part.added",
        "response.reasoning_part.done",
    ]
    # A busy vLLM may put several tokens into a delta.
    replaced = [kind.replace("reasoning_part", "content_part") for kind in without_deltas(stock)]
    assert without_deltas(ours) == replaced


def without_deltas(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events if not event["type"].endswith(".delta")]
