"""This proxy beside others, before one server, in one run.

    python -m benches.side_by_side [SECONDS]

Each round asks every server in turn, so that what else the machine does hits all of them. Ratios
are against the server itself, without a proxy, in the same round. Only ratios of one run can be
compared.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benches.report.tables import side_by_side
from benches.results import leave
from benches.side_by_side.load import BrokenOffError, FirstEvents, body, many_streams, one_stream
from benches.side_by_side.proxies import PROXIES, NotHereError, Server, free_port, upstream
from benches.side_by_side.stream import SPLIT_TEXT, frames, text_of

from vllm_stable_ids._core import Checker

DELTAS = 5_000
STREAMS_IN_A_ROUND = 5
STREAMS = 64
DELTAS_EACH = 200
FIRST_EVENTS = 20
SPLIT_DELTAS = 20

# They take minutes for what others do in seconds: less work, and only the first rounds.
SLOW = {"LiteLLM"}
SLOW_DELTAS_EACH = 20
SLOW_ROUNDS = 2

# Seconds that a server may take to start.
PATIENCE = {"LiteLLM": 120.0, "opencodex": 90.0}


@dataclass
class Round:
    """What was measured of one server in one round, in seconds."""

    one_stream: float
    events_per_second: float
    cpu_per_event: float
    first_event: float


@dataclass
class Measured:
    """What is known of one server."""

    contract: str
    split: str
    rounds: list[Round] = field(default_factory=list)


def measure(server: Server) -> Round:
    """One round of one server."""
    times = []
    for _ in range(1 if server.name in SLOW else STREAMS_IN_A_ROUND):
        took, came = one_stream(server.target, f"deltas={DELTAS}")
        times.append(took)
        count, _ = text_of(body(came))
        if count != DELTAS:
            raise BrokenOffError(f"{server.name}: {count} deltas came".encode())
    each = SLOW_DELTAS_EACH if server.name in SLOW else DELTAS_EACH
    events = STREAMS * len(frames(each))
    before = server.cpu()
    took = many_streams(server.target, f"deltas={each}", STREAMS)
    cpu = server.cpu() - before
    asked = FirstEvents(server.target)
    first = asked.quick(FIRST_EVENTS)
    asked.close()
    return Round(statistics.median(times), events / took, cpu / events, first)


def judge(server: Server) -> Measured:
    """Look at what comes out: its identities, and its characters."""
    checker = Checker()
    checker.feed(body(one_stream(server.target, "deltas=20")[1]))
    outcome = json.loads(checker.finish())["outcome"]
    _, text = text_of(body(one_stream(server.target, f"deltas={SPLIT_DELTAS} split=1")[1]))
    split = "whole" if text == SPLIT_TEXT * SPLIT_DELTAS else "damaged"
    # Once before it counts: all have their connections and their code in memory.
    many_streams(server.target, f"deltas={SLOW_DELTAS_EACH}", STREAMS)
    return Measured(outcome, split)


def start(folder: Path, servers: list[Server]) -> dict[str, str]:
    """Start all into `servers`; returns those that do not start, and why."""
    missing = {}
    servers.append(upstream(folder))
    servers[0].ready(60)
    for name, command in PROXIES.items():
        port = free_port()
        try:
            started = command(port, servers[0].target.port, folder)
            server = Server(name, port, started, folder)
            server.ready(PATIENCE.get(name, 20))
        except NotHereError as error:
            missing[name] = str(error)
        else:
            servers.append(server)
    return missing


def main() -> None:
    """Start all, measure in turn for so many seconds after the slow ones, print the table."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 120
    load = os.getloadavg()[0]
    servers: list[Server] = []
    rounds = 0
    with tempfile.TemporaryDirectory() as folder:
        try:
            missing = start(Path(folder), servers)
            measured = {server.name: judge(server) for server in servers}
            one_stream(servers[0].target, f"deltas={DELTAS}")
            until = 0.0
            while rounds < SLOW_ROUNDS or time.monotonic() < until:
                # None of them is always the one after the slowest.
                first = rounds % len(servers)
                for server in servers[first:] + servers[:first]:
                    if server.name not in SLOW or rounds < SLOW_ROUNDS:
                        measured[server.name].rounds.append(measure(server))
                rounds += 1
                if rounds == SLOW_ROUNDS:
                    until = time.monotonic() + seconds
        finally:
            for server in servers:
                server.close()
    content = {
        "command": f"python -m benches.side_by_side {seconds:g}",
        "deltas": DELTAS,
        "streams": STREAMS,
        "load": [load, os.getloadavg()[0]],
        "servers": {name: asdict(of) for name, of in measured.items()},
        "missing": missing,
    }
    print(side_by_side(content))
    print(f"\nwritten to {leave('side-by-side', content)}")


if __name__ == "__main__":
    main()
