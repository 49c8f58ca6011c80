"""What the plugin counts in vLLM's own `/metrics`."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from bed import client
from bed.cases import Case, case
from bed.conventions import PREFIXES
from bed.judge import ADDED, DONE
from bed.random_outputs import random_case
from bed.scrape import Scrape, scrape, series, since
from bed.server import VllmServer
from test_failures import LONG
from test_faults import CALL
from test_load import ENDLESS, HANG_UP_AFTER

if TYPE_CHECKING:
    from bed.models import ModelPath

NOTHING = Case("nothing", "simple", "<|im_end|>")
HANDLES = ("id", "call_id", "name", "server_label")


def counted(server: VllmServer) -> Scrape:
    """What a server has counted, once it has let go of the streams of other tests."""
    assert client.probe(server)["live_overlays"] == 0
    return scrape(server.url)


def repairs(stock: list[dict[str, Any]]) -> Counter[tuple[str, str, str]]:
    """What must be corrected in a stock stream, by (field, event, item type).

    The announcement gets the conventional prefix; what comes later gets what was announced.
    """
    found: Counter[tuple[str, str, str]] = Counter()
    announced: dict[int, dict[str, Any]] = {}
    for event in stock:
        if event["type"] == ADDED:
            item = dict(event["item"])
            prefix = PREFIXES[item["type"]]
            if not item["id"].startswith(prefix):
                found["id", "added", item["type"]] += 1
                item["id"] = prefix + item["id"].removeprefix("msg_")
            announced[event["output_index"]] = item
        elif event["type"] == DONE:
            found += differing(announced[event["output_index"]], event["item"], "done")
    # The terminal response may lack an item, such as white space; the others keep their order.
    left = iter(announced.values())
    for last in stock[-1]["response"]["output"]:
        first = next(item for item in left if item["type"] == last["type"])
        found += differing(first, last, "terminal")
    return found


def differing(first: dict[str, Any], later: dict[str, Any], told: str) -> Counter[Any]:
    """The handles in which a later mention of an item is another one."""
    return Counter(
        (field, told, first["type"])
        for field in HANDLES
        if first.get(field) and first[field] != later.get(field)
    )


def test_a_repaired_stream_is_counted_by_what_was_wrong(
    fixed: VllmServer, stock: VllmServer, path: ModelPath
) -> None:
    wrong = repairs(client.stream(stock, case(CALL[path])).events)
    assert wrong["call_id", "terminal", "function_call"] > 0
    before = counted(fixed)
    client.stream(fixed, case(CALL[path]))
    assert since(before, counted(fixed)) == {
        series("streams_total", path=path, outcome="repaired"): 1,
        **{
            series("identities_repaired_total", field=field, event=told, type=kind): count
            for (field, told, kind), count in wrong.items()
        },
    }


def test_a_stream_that_needs_nothing_is_unchanged(servers: Any) -> None:
    stock = client.stream(servers.get("simple", fixed=False), NOTHING).events
    assert stock[-1]["response"]["output"] == []
    server = servers.get("simple", fixed=True)
    before = counted(server)
    client.stream(server, NOTHING)
    unchanged = series("streams_total", path="simple", outcome="unchanged")
    assert since(before, counted(server)) == {unchanged: 1}


def test_an_answer_that_is_not_streamed_is_not_counted(fixed: VllmServer, path: ModelPath) -> None:
    before = counted(fixed)
    assert before
    client.create(fixed, case(CALL[path]))
    assert counted(fixed) == before


@pytest.mark.parametrize("fault", ["open", "send:0", "reconcile"])
def test_a_fault_of_ours_is_counted(fixed: VllmServer, path: ModelPath, fault: str) -> None:
    before = counted(fixed)
    client.stream(fixed, case(CALL[path]), headers={"x-fault": fault})
    new = since(before, counted(fixed))
    assert new.pop(series("streams_total", path=path, outcome="failed_open")) == 1
    assert new.pop(series("failed_open_total", reason="other")) == 1
    # What was taken back is not counted: none at the end, and nothing at all of "open".
    assert {dict(one.labels)["event"] for one in new} <= {"added", "done"}
    assert (fault == "reconcile") == bool(new)


def test_a_generation_that_fails_is_counted_with_the_end_it_was_given(
    fixed: VllmServer, stock: VllmServer, path: ModelPath
) -> None:
    fault = {"x-fault": "generation:9"}
    cut = client.stream(stock, LONG[path], headers=fault).events
    before = counted(fixed)
    events = client.stream(fixed, LONG[path], headers=fault).events
    new = since(before, counted(fixed))
    assert new[series("streams_total", path=path, outcome="generation_failed")] == 1
    assert new[series("events_inserted_total", type="error")] == 1
    assert new[series("events_inserted_total", type="response.failed")] == 1
    # A busy vLLM may put several tokens into a delta, so that only the rest must be the same.
    told = Counter(event["type"] for event in events if not event["type"].endswith(".delta"))
    told.subtract(event["type"].replace("reasoning_part", "content_part") for event in cut)
    inserted = {
        dict(one.labels)["type"]: count
        for one, count in new.items()
        if one.name.endswith("inserted_total")
    }
    assert inserted == {kind: count for kind, count in told.items() if count > 0}


async def test_a_client_that_leaves_is_counted(fixed: VllmServer, path: ModelPath) -> None:
    before = counted(fixed)
    endless = Case("endless", path, ENDLESS[path])
    async with client.async_client(fixed) as connection:
        await client.astream(
            connection, endless, hang_up_after=HANG_UP_AFTER, max_output_tokens=3000
        )
    deadline = time.monotonic() + 30
    while not (new := since(before, scrape(fixed.url))):
        assert time.monotonic() < deadline, "the stream is not counted"
        await asyncio.sleep(0.2)
        client.probe(fixed)  # collects what nobody refers to
    streams = {one: count for one, count in new.items() if "streams" in one.name}
    assert streams == {series("streams_total", path=path, outcome="cancelled"): 1}


def test_every_series_is_there_before_it_counts(fixed: VllmServer) -> None:
    text = {one for one in scrape(fixed.url) if "_info" not in one.name}
    outcomes = {dict(one.labels).get("outcome") for one in text} - {None}
    assert outcomes == {"unchanged", "repaired", "failed_open", "generation_failed", "cancelled"}
    assert series("failed_open_total", reason="ValidationError") in text
    assert not [one.name for one in text if one.name.endswith("_created")]
    assert len(text) < 150


def test_a_server_says_how_the_plugin_acts(fixed: VllmServer, stock: VllmServer) -> None:
    (info,) = (one for one in scrape(fixed.url) if one.name.endswith("_info"))
    labels = dict(info.labels)
    (told,) = set(re.findall(r"stable_ids (\S+): vLLM (\S+) patched: ", fixed.log_text()))
    assert (labels["version"], labels["vllm"], labels["mode"]) == (*told, "patched")
    assert scrape(stock.url) == {
        series("info", version=labels["version"], vllm=labels["vllm"], mode="off"): 1
    }


async def test_several_api_servers_are_one_in_the_metrics() -> None:
    streams = 24
    with VllmServer("simple", extra_args=["--api-server-count", "2"]) as server:
        async with client.async_client(server) as connection:
            await asyncio.gather(
                *(
                    client.astream(connection, random_case("simple", seed))
                    for seed in range(streams)
                )
            )
            answers = [await connection.get("/_probe") for _ in range(20)]
        assert len({answer.json()["pid"] for answer in answers}) == 2
        page = scrape(server.url)
    by_outcome = {
        dict(one.labels)["outcome"]: count
        for one, count in page.items()
        if one.name.endswith("streams_total") and count
    }
    assert set(by_outcome) <= {"repaired", "unchanged"}
    assert sum(by_outcome.values()) == streams
    assert [count for one, count in page.items() if one.name.endswith("_info")] == [1]
