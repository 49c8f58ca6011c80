"""Many streams at once, clients that leave, several API servers."""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING

import httpx

from bed import client
from bed.cases import Case
from bed.judge import judge
from bed.random_outputs import random_case
from bed.server import VllmServer

if TYPE_CHECKING:
    from bed.client import Stream
    from bed.models import ModelPath

STREAMS = 64
HANG_UP_AFTER = 6

ENDLESS: dict[ModelPath, str] = {
    "simple": f"<think>\n{'on and ' * 1000}</think>\n\nHi.<|im_end|>",
    "harmony": f"<|channel|>final<|message|>{'on and ' * 1000}<|return|>",
}


def running(server: VllmServer) -> float:
    """How many requests the engine is working on or has waiting."""
    metrics = httpx.get(f"{server.url}/metrics", timeout=30).text
    found = re.findall(r"^vllm:num_requests_(?:running|waiting)\{.*\} (\S+)$", metrics, re.M)
    assert found
    return sum(map(float, found))


def wait_for_idle(server: VllmServer) -> None:
    """Wait until the engine works on nothing."""
    deadline = time.monotonic() + 30
    while running(server) > 0:
        assert time.monotonic() < deadline, "abandoned requests still run"
        time.sleep(0.2)


async def test_streams_whose_clients_stay_are_right_when_others_leave(
    fixed: VllmServer, path: ModelPath
) -> None:
    endless = Case("endless", path, ENDLESS[path])
    async with client.async_client(fixed) as connection:

        async def one(number: int) -> Stream:
            if number % 3 == 0:
                return await client.astream(
                    connection, endless, hang_up_after=HANG_UP_AFTER, max_output_tokens=3000
                )
            return await client.astream(connection, random_case(path, 1000 + number))

        streams = await asyncio.gather(*map(one, range(STREAMS)))

    for number, stream in enumerate(streams):
        if number % 3 == 0:
            assert "response.completed" not in [event["type"] for event in stream.events]
        else:
            assert judge(stream.events) == [], number
    wait_for_idle(fixed)
    assert client.probe(fixed)["live_overlays"] == 0


async def test_every_api_server_is_patched() -> None:
    with VllmServer("simple", extra_args=["--api-server-count", "2"]) as server:
        async with client.async_client(server) as connection:
            streams = await asyncio.gather(
                *(client.astream(connection, random_case("simple", seed)) for seed in range(24))
            )
        assert [judge(stream.events) for stream in streams] == [[]] * 24
        log = server.log_text()
        assert (
            len(re.findall(r"\(ApiServer_\d.*stable_ids \S+: vLLM \S+ patched: stream", log)) == 2
        ), log[-3000:]
