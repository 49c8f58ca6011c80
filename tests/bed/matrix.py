"""Every supported vLLM on real servers, stock and with the plugin: run by `make matrix`.

`measure` runs in one version's environment. On both generator paths it streams every scripted
case and many random outputs, from a stock server and from one with the plugin, judges each stream
and what the server stored of it, and writes what it found to `.build/matrix/VERSION.json`. The
streams that broke with the plugin are kept beside it, with the stock server's. `page` makes
`docs/compatibility-matrix.md` of all results there are.

Both end with status 1 when something broke with the plugin or could not be tried.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import httpx
import typer
from rich.console import Console

from bed import client, matrix_page
from bed.cases import Case, cases_of
from bed.conventions import prefix_breaches, vocabulary_breaches
from bed.judge import TERMINALS, Breach, judge, judge_store
from bed.models import BUILD
from bed.random_outputs import random_case
from bed.release import vllm_release
from bed.server import VllmServer, close_all

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bed.client import Stream
    from bed.models import ModelPath

RESULTS = BUILD / "matrix"
PATHS: tuple[ModelPath, ...] = ("simple", "harmony")
OFF = {"VLLM_STABLE_IDS": "0"}
SIDES = ("stock", "plugin")
RANDOM_OUTPUTS = 100
RANDOM_AT_ONCE = 12
LOSES_TEXT_BEFORE = (0, 25)  # where it falls behind the model, see docs/contract.md
STEP_SECONDS = "0.03"  # for those: one stream at a time, at the pace of a real model
SERVERS_AT_ONCE = 2  # vLLM takes a core and 2 GB while it starts
SHOWN_BREACHES = 3

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
console = Console(highlight=False, markup=False, soft_wrap=True)


@dataclass
class Outcome:
    """What came of one output on one server.

    Attributes:
        ended: Whether the stream had a terminal event. Where stock's had none, this vLLM cannot
            serve the output at all.
        rules: How often it broke each rule.
        breaches: The first breaches, in words.
    """

    ended: bool
    rules: dict[str, int]
    breaches: list[str]


@dataclass
class Side:
    """What one server did.

    Attributes:
        failed: Why it could not start; empty where it could.
        log: What it said of the plugin.
        scripted: The outcome of each scripted case.
        random: The outcome of each random output.
    """

    failed: str = ""
    log: list[str] = field(default_factory=list)
    scripted: dict[str, Outcome] = field(default_factory=dict)
    random: dict[str, Outcome] = field(default_factory=dict)


def breaches(stream: Stream, stored: dict[str, Any] | None) -> list[Breach]:
    """List everything that speaks against a stream and what the server stored of it."""
    if stream.status != 200:
        return [Breach("END", f"HTTP {stream.status}: {stream.raw[:300]!r}", -1)]
    events = stream.events
    found = [*judge(events), *vocabulary_breaches(events), *prefix_breaches(events)]
    if stored is not None:
        found += judge_store(events, stored)
    return found


async def try_output(
    connection: httpx.AsyncClient, scripted: Case, keep: Path
) -> tuple[str, Outcome]:
    """Stream one output, and get it from the store if it should be there; keep what came."""
    try:
        stream = await client.astream(connection, scripted)
        keep.with_suffix(".sse").write_bytes(stream.raw)
        events = stream.events if stream.status == 200 else []
        ended = bool(events) and events[-1].get("type") in TERMINALS
        stored = None
        if ended and scripted.request.get("store", True):
            answer = await connection.get(f"/v1/responses/{events[-1]['response']['id']}")
            keep.with_suffix(".json").write_bytes(answer.content)
            stored = answer.json()
        found = breaches(stream, stored)
    except (httpx.HTTPError, ValueError) as error:
        ended, found = False, [Breach("END", f"{type(error).__name__}: {error}", -1)]
    texts = [f"{breach.rule} at {breach.position}: {breach.text}" for breach in found]
    rules = dict(Counter(breach.rule for breach in found))
    return scripted.name, Outcome(ended, rules, texts[:SHOWN_BREACHES])


async def try_outputs(
    server: VllmServer, scripted: Sequence[Case], keep: Path, at_once: int
) -> dict[str, Outcome]:
    """Stream outputs, some at once; return the outcome of each."""
    gate = asyncio.Semaphore(at_once)
    async with client.async_client(server) as connection:

        async def one(case: Case) -> tuple[str, Outcome]:
            async with gate:
                return await try_output(connection, case, keep / case.name)

        return dict(await asyncio.gather(*map(one, scripted)))


def try_server(path: ModelPath, side: str, count: int, streams: Path) -> Side:
    """Start a server, have it stream everything, and stop it."""
    from bed.scripted import STEP  # the page is made where there is no vLLM

    who = f"{version('vllm')} {path} {side}"
    keep = streams / f"{path}-{side}"
    keep.mkdir(parents=True)
    console.print(f"{who}: starting")
    random = [random_case(path, seed) for seed in range(count)]
    result = Side()
    try:
        env = (OFF if side == "stock" else {}) | ({} if steady() else {STEP: STEP_SECONDS})
        with VllmServer(path, env=env) as server:
            console.print(f"{who}: up after {server.start_seconds:.0f} s, streaming")
            # One by one: where streams compete, vLLM joins tokens, and the parsers see less.
            result.scripted = asyncio.run(try_outputs(server, cases_of(path), keep, 1))
            result.random = asyncio.run(
                try_outputs(server, random, keep, RANDOM_AT_ONCE if steady() else 1)
            )
            said = [line for line in server.log_text().splitlines() if "stable_ids" in line]
            result.log = list(dict.fromkeys(said))[:SHOWN_BREACHES]
    except RuntimeError as error:
        result.failed = str(error)
        console.print(f"{who}: {result.failed}")
    console.print(f"{who}: done")
    return result


def try_all(count: int, streams: Path) -> dict[str, dict[str, Side]]:
    """Run both paths on both sides; whatever happens, no server stays behind."""
    pool = ThreadPoolExecutor(SERVERS_AT_ONCE if steady() else 1)
    try:
        running = {
            path: {side: pool.submit(try_server, path, side, count, streams) for side in SIDES}
            for path in PATHS
        }
        return {
            path: {side: future.result() for side, future in sides.items()}
            for path, sides in running.items()
        }
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        close_all()
        pool.shutdown()


def drop_clean(streams: Path, paths: dict[str, dict[str, Side]]) -> None:
    """Remove the kept streams of outputs that kept every rule with the plugin."""
    for path, sides in paths.items():
        outcomes = sides["plugin"].scripted | sides["plugin"].random
        for name in (name for name, outcome in outcomes.items() if not outcome.rules):
            for side in SIDES:
                for file in (streams / f"{path}-{side}").glob(f"{name}.*"):
                    file.unlink()


def steady() -> bool:
    """Whether this vLLM streams the same text however far it is behind the model."""
    return vllm_release() >= LOSES_TEXT_BEFORE


@app.command()
def measure(count: int = typer.Option(RANDOM_OUTPUTS, "--random", min=1)) -> None:
    """Measure the vLLM of this environment."""
    # An ended run leaves no servers behind, whoever ended it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    release = version("vllm").removesuffix("+cpu")
    streams, file = RESULTS / release, RESULTS / f"{release}.json"
    shutil.rmtree(streams, ignore_errors=True)
    streams.mkdir(parents=True)
    file.unlink(missing_ok=True)
    paths = try_all(count, streams)
    drop_clean(streams, paths)
    result = {
        "vllm": release,
        "plugin": version("vllm-stable-ids"),
        "openai": version("openai"),
        "date": datetime.now(timezone.utc).date().isoformat(),
        "random": count,
        "paths": {
            path: {side: asdict(found) for side, found in sides.items()}
            for path, sides in paths.items()
        },
    }
    file.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    lines = list(matrix_page.summary(result))
    for line in (*lines, *matrix_page.troubles(result)):
        console.print(line)
    sys.exit(1 if list(matrix_page.troubles(result)) else 0)


@app.command()
def page(asked: list[str]) -> None:
    """Write the page of all results; a version that was asked for and has none is said so."""
    found = [json.loads(file.read_text()) for file in RESULTS.glob("*.json")]
    text, good = matrix_page.render(found, asked)
    matrix_page.PAGE.write_text(text)
    console.print(text)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    app()
