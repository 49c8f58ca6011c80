"""The metrics in one process: what stays away, what survives, and what a stream may not do."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import prometheus_client
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from starlette.requests import ClientDisconnect

from bed import fresh
from bed.scrape import PLUGIN, Scrape, read, series
from test_asgi import BROKEN, FRAMES, answer, bodies, body, frame, start
from vllm_stable_ids import asgi, log, metrics
from vllm_stable_ids.rewriter import SseRewriter
from vllm_stable_ids.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

STREAMS = Path(__file__).parents[1] / "rust" / "sse_rewrite" / "tests" / "streams"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Scrape]:
    """What a process counts that has counted nothing yet; a function returns what is not 0."""
    registry = CollectorRegistry()
    monkeypatch.setattr(prometheus_client, "REGISTRY", registry)
    monkeypatch.setattr(metrics, "_state", metrics._State())
    monkeypatch.delitem(sys.modules, asgi.PATCHES, raising=False)

    def look() -> Scrape:
        text = generate_latest(registry).decode()
        return {one: value for one, value in read(text, PLUGIN).items() if value}

    return look


def python(code: str, **env: str) -> str:
    """Run code in a fresh interpreter; returns what it printed."""
    return fresh.run_python(code, **env).stdout


def test_a_process_that_serves_no_http_has_none_of_it() -> None:
    assert (
        python(
            "import sys; from vllm_stable_ids.plugin import register; register();"
            "from vllm_stable_ids.log import fail_open; fail_open('x', ValueError());"
            "print([m for m in sys.modules if 'prometheus' in m or 'metrics' in m])"
        )
        == "[]\n"
    )


def test_it_survives_what_vllm_unregisters(counted: Callable[[], Scrape]) -> None:
    metrics.show_mode("1", "2", "patched")
    registry: Any = prometheus_client.REGISTRY
    # vLLM up to 0.20 does so with every collector whose name has its own in it.
    for collector in list(registry._collector_to_names):
        if "vllm" in getattr(collector, "_name", ""):
            registry.unregister(collector)
    assert counted() == {series("info", version="1", vllm="2", mode="patched"): 1}


def test_a_mode_that_ends_is_no_longer_so(counted: Callable[[], Scrape]) -> None:
    metrics.show_mode("1", "2", "patched")
    metrics.show_mode("1", "2", "not_patched")
    assert counted() == {series("info", version="1", vllm="2", mode="not_patched"): 1}


ONE_OF_SEVERAL = """
from vllm_stable_ids import metrics
from vllm_stable_ids.tally import Tally
metrics.show_mode("1", "2", "patched")
metrics.stream_ended("simple", Tally())
"""

WHAT_ALL_SAY = """
from prometheus_client import CollectorRegistry, generate_latest, multiprocess
registry = CollectorRegistry()
multiprocess.MultiProcessCollector(registry)
print(generate_latest(registry).decode())
"""


def test_processes_that_share_a_folder_are_one(tmp_path: Path) -> None:
    folder = {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    python(ONE_OF_SEVERAL, **folder)
    said = read(python(ONE_OF_SEVERAL + WHAT_ALL_SAY, **folder), PLUGIN)
    assert {one: value for one, value in said.items() if value} == {
        series("info", version="1", vllm="2", mode="patched"): 1,
        series("streams_total", path="simple", outcome="cancelled"): 2,
    }
    foreseen = {
        series("streams_total", path="harmony", outcome="repaired"),
        series("identities_repaired_total", field="call_id", event="terminal", type="other"),
        series("events_inserted_total", type="response.failed"),
        series("failed_open_total", reason="other"),
    }
    assert foreseen <= set(said)


def repaired(times: int) -> Tally:
    """That of a stream of which something was repaired."""
    tally = Tally()
    tally.ended = tally.changed = True
    tally.repaired[("id", "done", "message")] = times
    return tally


def test_streams_that_wait_to_be_counted_are_few(counted: Callable[[], Scrape]) -> None:
    for times in range(1000):
        metrics.stream_ended("simple", repaired(times))
        assert len(metrics._state.counters._waiting) < metrics.MOST_WAITING
    repairs = series("identities_repaired_total", field="id", event="done", type="message")
    for _ in range(2):
        assert counted() == {
            series("streams_total", path="simple", outcome="repaired"): 1000,
            repairs: sum(range(1000)),
        }


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
def test_none_is_lost_while_somebody_asks(counted: Callable[[], Scrape]) -> None:
    metrics.show_mode("1", "2", "wire")

    def end_streams() -> None:
        for _ in range(2000):
            metrics.stream_ended("wire", repaired(3))

    threads = [Thread(target=end_streams) for _ in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        counted()
    said = counted()
    assert said[series("streams_total", path="wire", outcome="repaired")] == 6000
    repairs = series("identities_repaired_total", field="id", event="done", type="message")
    assert said[repairs] == 18000


@pytest.mark.parametrize("broken", ["REGISTRY", "Counter"])
def test_without_metrics_everything_else_goes_on_after_one_warning(
    counted: Callable[[], Scrape],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    broken: str,
) -> None:
    monkeypatch.delattr(prometheus_client, broken)
    for _ in range(3):
        metrics.stream_ended("simple", Tally())
        metrics.show_mode("1", "2", "patched")
        log.fail_open("stable_ids: something else", ValueError("a secret of the user's"))
    ours = [record for record in caplog.records if "metrics" in record.getMessage()]
    assert [record.levelno for record in ours] == [logging.WARNING]
    assert "stable_ids: nothing more is counted in /metrics (ImportError in " in caplog.text
    assert "secret" not in caplog.text
    if broken == "Counter":
        assert counted() == {}


async def test_the_middleware_counts_what_it_repairs(counted: Callable[[], Scrape]) -> None:
    assert body(await answer([start(), *bodies(FRAMES)])) != BROKEN
    assert counted() == {
        series("streams_total", path="wire", outcome="repaired"): 1,
        series("identities_repaired_total", field="id", event="done", type="message"): 1,
    }


async def test_the_middleware_counts_what_it_inserts(counted: Callable[[], Scrape]) -> None:
    owed = [FRAMES[0], FRAMES[1], FRAMES[3]]
    await answer([start(), *bodies(owed)])
    assert counted() == {
        series("streams_total", path="wire", outcome="repaired"): 1,
        series("events_inserted_total", type="response.output_item.done"): 1,
    }


async def test_a_kept_stream_is_unchanged(counted: Callable[[], Scrape]) -> None:
    await answer([start(), *bodies([FRAMES[0], FRAMES[1], FRAMES[1].replace(b"added", b"done")])])
    assert counted() == {series("streams_total", path="wire", outcome="unchanged"): 1}


async def test_an_application_that_fails_is_none_whose_client_leaves(
    counted: Callable[[], Scrape],
) -> None:
    cut = [start(), *bodies(FRAMES)][:3]
    with pytest.raises(RuntimeError):
        await answer(cut, error=RuntimeError())
    await answer(cut)
    outcomes = {dict(one.labels)["outcome"]: value for one, value in counted().items()}
    assert outcomes == {"generation_failed": 1, "cancelled": 1}


async def test_a_client_that_cannot_be_reached_is_one_that_left(
    counted: Callable[[], Scrape],
) -> None:
    class Gone(list[Any]):
        def append(self, message: Any) -> None:
            super().append(message)
            if len(self) == 2:
                raise ClientDisconnect

    with pytest.raises(ClientDisconnect):
        await answer([start(), *bodies(FRAMES)], sent=Gone())
    assert counted() == {series("streams_total", path="wire", outcome="cancelled"): 1}


async def test_a_limit_is_a_reason_of_its_own(
    counted: Callable[[], Scrape], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asgi, "SseRewriter", lambda **_: SseRewriter(max_items=0))
    await answer([start(), *bodies(FRAMES)])
    assert counted() == {
        series("streams_total", path="wire", outcome="failed_open"): 1,
        series("failed_open_total", reason="too_many_items"): 1,
    }


async def test_no_stream_makes_up_a_label(counted: Callable[[], Scrape]) -> None:
    item = {"type": "made_up", "id": "one"}
    await answer(
        [
            start(),
            *bodies(
                [
                    FRAMES[0],
                    frame("response.output_item.added", output_index=0, item=item),
                    frame("response.output_item.done", output_index=0, item=item | {"id": "two"}),
                ]
            ),
        ]
    )
    assert series("identities_repaired_total", field="id", event="done", type="other") in counted()
    tally = Tally()
    tally.inserted["response.made_up"] = 1
    tally.repaired["id", "done", "made_up"] = 1
    metrics.stream_ended("simple", tally)
    log.count_failure("MadeUpError")
    new = counted()
    assert new[series("identities_repaired_total", field="id", event="done", type="other")] == 2
    assert new[series("events_inserted_total", type="other")] == 1
    assert new[series("failed_open_total", reason="other")] == 1


@pytest.mark.parametrize("kind", metrics.ITEM_TYPES)
async def test_the_middleware_tells_item_types_apart_as_the_plugin_does(
    counted: Callable[[], Scrape], kind: str
) -> None:
    item = {"type": kind, "id": "one"}
    added = frame("response.output_item.added", output_index=0, item=item)
    done = frame("response.output_item.done", output_index=0, item=item | {"id": "two"})
    await answer([start(), *bodies([FRAMES[0], added, done])])
    assert series("identities_repaired_total", field="id", event="done", type=kind) in counted()
