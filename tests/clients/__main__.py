"""All clients against servers of their own: run by `make clients`.

Without arguments it takes every client and writes `docs/clients.md`; with names of folders it
takes those and only prints. `replay` replays faulty streams and writes that section of the page.
Ends with status 1 where something is not as the register has it, or where a client does not get
through a rewritten stream.
"""

from __future__ import annotations

import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import httpx
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bed.proxied import Proxy
from bed.server import VllmServer, close_all
from clients import page
from clients.install import install
from clients.register import CLIENTS
from clients.replay import page as replay_page
from clients.replay.clients import CLIENTS as REPLAY_CLIENTS
from clients.replay.run import replay
from clients.rows import Row, start
from clients.run import kill_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bed.models import ModelPath
    from clients.entry import Entry, Side

PATHS: tuple[ModelPath, ...] = ("simple", "harmony")
REPLAY = "replay"
AT_ONCE = 2
WIDTH = 140

console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)


def say(text: str) -> None:
    """Tell what is going on, with the time."""
    console.print(Text(f"{time.strftime('%H:%M:%S')} {text}", "dim"), soft_wrap=True)


def on_path(path: ModelPath, entries: Sequence[Entry]) -> list[Row]:
    """Start a path's two servers and a proxy, and drive all clients against them."""
    say(f"{path}: vLLM is starting, stock and with the plugin, a minute or two")
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        starting = [
            pool.submit(VllmServer, path, env=env) for env in ({"VLLM_STABLE_IDS": "0"}, {})
        ]
        stock, plugin = (future.result() for future in starting)
        with stock, plugin, Proxy(stock.url) as proxy:
            urls: dict[Side, str] = {"stock": stock.url, "plugin": plugin.url, "proxy": proxy.url}
            waiting = [start(entry, path, urls, pool) for entry in entries]
            rows = []
            for wait in waiting:
                rows.append(wait())
                say(" | ".join(rows[-1].cells))
            return rows
    except BaseException:
        # Whatever ends it leaves no server and no driver behind.
        pool.shutdown(wait=False, cancel_futures=True)
        kill_all()
        close_all()
        raise
    finally:
        pool.shutdown()


def replay_all() -> tuple[str, list[str]]:
    """Replay the faulty streams; return the page's section, and what is not right."""
    results = []
    for client in REPLAY_CLIENTS:
        say(f"replaying faulty streams to {client.label}")
        results.append(replay(client))
    return replay_page.section(results), list(replay_page.differences(results))


def table(rows: Sequence[Row]) -> Table:
    """Draw the table for a terminal."""
    drawn = Table(box=SIMPLE_HEAD, show_edge=False)
    for name in page.HEAD:
        drawn.add_column(name, overflow="fold")
    for row in rows:
        wrong = bool(list(row.differences))
        drawn.add_row(*(Text(text) for text in row.cells), style="bold red" if wrong else None)
    return drawn


def main(folders: Sequence[str]) -> int:
    """Drive the clients; return the exit status."""
    entries = [entry for entry in CLIENTS if not folders or entry.folder in folders]
    unknown = set(folders) - {entry.folder for entry in entries} - {REPLAY}
    if unknown:
        console.print(f"There is no client {', '.join(sorted(unknown))} in tests/clients.")
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    section = ""
    wrong: list[str] = []
    found: dict[ModelPath, list[Row]] = {}
    try:
        if not folders or REPLAY in folders:
            section, wrong = replay_all()
        for entry in entries:
            say(f"installing {entry.folder}")
            install(entry)
        if entries:
            found = {path: on_path(path, entries) for path in PATHS}
        if section and folders:
            replay_page.put(section)
    except KeyboardInterrupt:
        console.print("Stopped.")
        return 130
    except (OSError, RuntimeError, httpx.HTTPError) as error:
        console.print(Text(f"The clients could not be run: {error}", "bold red"), soft_wrap=True)
        return 2
    rows = [row for pair in zip(*found.values(), strict=True) for row in pair]
    if rows:
        console.print(table(rows))
    wrong += [difference for row in rows for difference in row.differences]
    for difference in wrong:
        console.print(Text(f"Not as expected: {difference}", "bold red"), soft_wrap=True)
    if not folders:
        page.PAGE.write_text(page.render(rows, section))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
