"""The fault and its repair, side by side on real servers: run by `make demo`.

For each generator path the same request goes to a stock vLLM and to one with the plugin; what
each said of an item, from its announcement to the terminal response, stands in one small table.
The exit status is 0 only where stock broke the contract and the plugin kept it, so that the demo
cannot show a green picture of nothing.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import signal
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import httpx
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn
from rich.table import Table
from rich.text import Text

from bed import client
from bed.cases import case
from bed.judge import ADDED, DONE, TERMINALS, Breach, Event, judge
from bed.server import VllmServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Future

    from bed.models import ModelPath

WIDTH = 100
LOG_LINES = 15
AT_ONCE = 2  # vLLM takes a core and 2 GB while it starts

PATHS: dict[ModelPath, str] = {
    "simple": "Simple path (a Qwen3-style model): reasoning and two calls",
    "harmony": "Harmony path (gpt-oss): reasoning and a call",
}
CALLS: dict[ModelPath, str] = {"simple": "q-two-calls", "harmony": "h-call"}
ANSWER = "h-preamble-final"

# What a breach means to somebody who has not read docs/contract.md.
MEANING = {
    "C1": "wrong id or call_id",
    "C2": "item out of turn",
    "C3": "event out of sequence",
    "C4": "wrong or lost item",
    "C6": "wrong content",
    "C7": "response.id changed",
    "C11": "id used twice",
    "END": "no proper end",
}
WRONG = "!="
# So that the columns of stock and fixed stand below each other.
MIN_WIDTHS = {"type": 16, "id": 22, "call_id": 20}

_running: list[VllmServer] = []
_stopping = threading.Event()


class _Server(VllmServer):
    """A server that the main thread can stop while a worker waits for it to start."""

    def _wait_for_health(self, deadline: float) -> None:
        _running.append(self)
        if _stopping.is_set():
            raise RuntimeError("stopped before it was up")
        super()._wait_for_health(deadline)


@dataclass(frozen=True)
class Run:
    """What one server did.

    Attributes:
        events: The stream of the first turn.
        breaches: What the judge has against it.
        second: Status and text of the second turn; None where there was none.
    """

    events: Sequence[Event]
    breaches: Sequence[Breach]
    second: tuple[int, str] | None


class Identity(NamedTuple):
    """What a mention says of an item, as far as the tables show it."""

    type: str | None
    id: str | None
    call_id: str | None


class Board:
    """Says what is happening: in place on a terminal, line by line in a log."""

    def __init__(self, console: Console) -> None:
        """Start the clock."""
        self._console = console
        self._began = time.monotonic()
        self._tasks: dict[str, TaskID] = {}
        self.live = sys.stdout.isatty() and console.is_interactive
        self.progress = Progress(
            SpinnerColumn(finished_text="*"),
            TextColumn("{task.description} ({task.elapsed:.0f} s)"),
            console=console,
            transient=True,
            refresh_per_second=4,
            disable=not self.live,
        )

    def say(self, who: str, what: str, *, last: bool = False) -> None:
        """Tell what a server is doing now, or has `last` done."""
        line = f"{who}: {what}"
        if not self.live:
            seconds = time.monotonic() - self._began
            self._console.print(Text(f"[{seconds:4.0f} s] {line}", style="dim"))
            return
        if who not in self._tasks:
            self._tasks[who] = self.progress.add_task(line, total=1)
        self.progress.update(self._tasks[who], description=line, completed=int(last))
        if last:
            self.progress.stop_task(self._tasks[who])


def ask(path: ModelPath, board: Board, *, fixed: bool) -> Run:
    """Start a server, have it stream the path's call, answer the call, and stop it.

    Raises:
        RuntimeError: The server did not start or did not answer; its log is named.
    """
    who = f"{path} path, {'fixed' if fixed else 'stock'}"
    if _stopping.is_set():
        raise RuntimeError(f"{who}: not started, since the demo is ending")
    board.say(who, "vLLM is starting, a minute or two")
    with _Server(path, env={} if fixed else {"VLLM_STABLE_IDS": "0"}) as server:
        board.say(who, f"up after {server.start_seconds:.0f} s, streaming")
        try:
            stream = client.stream(server, case(CALLS[path]))
            events = stream.events
            if stream.status != 200 or not events:
                raise RuntimeError(f"status {stream.status}: {_short(stream.raw)}")
            second = _answer_call(server, events) if path == "harmony" else None
        except (RuntimeError, httpx.HTTPError) as error:
            reason = f"{who}: no stream ({error or type(error).__name__})"
            raise RuntimeError(f"{reason}; the server's log is {server.log_path}") from error
        board.say(who, "done, stopping", last=True)
    return Run(events, judge(events), second)


def _answer_call(server: VllmServer, events: Sequence[Event]) -> tuple[int, str]:
    """Answer the streamed call in a second turn, as an agent does."""
    calls = [event["item"]["call_id"] for event in events if _announces_call(event)]
    ids = [event["response"]["id"] for event in events if "response" in event]
    if not calls:
        raise RuntimeError("no call was streamed")
    output = [{"type": "function_call_output", "call_id": calls[0], "output": "sunny"}]
    request = client.body(case(ANSWER), input=output, previous_response_id=ids[-1])
    answer = client.post(server, request)
    try:
        content = answer.json()
    except ValueError:
        return answer.status_code, _short(answer.content)
    if answer.status_code != 200:
        return answer.status_code, str(content.get("error", content).get("message", content))
    texts = [
        part["text"]
        for item in content["output"]
        if item["type"] == "message"
        for part in item["content"]
    ]
    return answer.status_code, texts[-1] if texts else ""


def _announces_call(event: Event) -> bool:
    return event.get("type") == ADDED and event["item"].get("call_id") is not None


def _short(raw: bytes) -> str:
    return raw[:300].decode(errors="replace")


def mentions(events: Sequence[Event]) -> Iterator[tuple[str, int, Identity | None]]:
    """Yield each mention of a whole item: by what, at which index, under which identity.

    An item that the terminal response lacks is mentioned there with None.
    """
    announced = 0
    for event in events:
        kind = event.get("type")
        if kind in (ADDED, DONE):
            announced += kind == ADDED
            yield kind.removeprefix("response.output_item."), event["output_index"], _of(event)
        elif kind in TERMINALS:
            output = event["response"]["output"]
            for index, item in enumerate(output):
                yield kind.removeprefix("response."), index, _of({"item": item})
            for index in range(len(output), announced):
                yield kind.removeprefix("response."), index, None


def _of(event: Event) -> Identity:
    item = event["item"]
    return Identity(*(item.get(name) for name in Identity._fields))


def table(title: str, events: Sequence[Event]) -> Table:
    """Draw the mentions of a stream, each value that contradicts the announcement marked."""
    drawn = Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, show_edge=False
    )
    drawn.add_column("event")
    drawn.add_column("index", justify="right")
    for name in Identity._fields:
        drawn.add_column(name, overflow="fold", min_width=MIN_WIDTHS[name])
    known: dict[int, Identity] = {}
    before = ""
    for what, index, said in mentions(events):
        if what == "added" and said is not None:
            known.setdefault(index, said)
        if what not in ("added", "done") and before in ("added", "done"):
            drawn.add_section()
        before = what
        drawn.add_row(what, str(index), *_cells(said, known.get(index)))
    return drawn


def _cells(said: Identity | None, known: Identity | None) -> Iterator[Text]:
    """Yield the cells of one mention, compared with the announcement at its index."""
    if said is None:
        said, known = Identity("(missing)", None, None), None
    for value, was in zip(said, known or Identity(None, None, None), strict=True):
        # What was announced without a value may get one, unless it is another item altogether.
        same_item = known is not None and said.type == known.type
        if value == was or (was is None and same_item):
            yield Text(value or "-")
        else:
            yield Text(f"{WRONG} {value or '-'}", style="bold red")


def verdict(run: Run) -> Text:
    """Say in one line what the judge found."""
    count = len(run.breaches)
    if not count:
        return Text("Kept: every item has one identity, from added to completed.", "bold green")
    rules = Counter(breach.rule for breach in run.breaches)
    found = ", ".join(f"{times} x {MEANING[rule]} ({rule})" for rule, times in rules.items())
    times = "once" if count == 1 else f"{count} times"
    return Text(f"Broken {times}: {found}.", "bold red")


def second_turn(stock: Run, fixed: Run) -> Iterator[Text]:
    """Yield what became of the answer to the streamed call."""
    yield Text(
        "Second turn: the client answers the streamed call_id, with previous_response_id", "bold"
    )
    for name, run in (("stock", stock), ("fixed", fixed)):
        if run.second is not None:
            status, text = run.second
            style = "green" if status == 200 else "red"
            yield Text(f"  {name}  HTTP {status}  {text}", f"bold {style}")


def unexpected(path: ModelPath, stock: Run, fixed: Run) -> Iterator[str]:
    """Yield what is not as the demo promises."""
    if not stock.breaches:
        yield f"{path} path: stock kept the contract; this vLLM may not have the fault"
    for breach in fixed.breaches:
        yield f"{path} path: fixed broke {breach.rule} at event {breach.position}: {breach.text}"
    if stock.second is not None and stock.second[0] != 400:
        yield f"{path} path: stock took the streamed call_id (HTTP {stock.second[0]}, not 400)"
    if fixed.second is not None and (fixed.second[0] != 200 or not fixed.second[1]):
        yield f"{path} path: fixed gave no answer to the streamed call_id: {fixed.second}"


def show(console: Console, path: ModelPath, stock: Run, fixed: Run) -> list[str]:
    """Print one path; return what was unexpected."""
    console.print()
    console.rule(Text(PATHS[path], "bold"), align="left", style="dim")
    for title, run in (("stock: vLLM alone", stock), ("fixed: with the plugin", fixed)):
        console.print()
        console.print(table(title, run.events))
        console.print(verdict(run))
    if stock.second is not None:
        console.print()
        for line in second_turn(stock, fixed):
            console.print(line)
    console.print()
    return list(unexpected(path, stock, fixed))


def _stop_the_rest(future: Future[Run]) -> None:
    """Keep the workers from starting the next server when one has failed."""
    if not future.cancelled() and future.exception() is not None:
        _stopping.set()


def demonstrate(console: Console) -> list[str]:
    """Run all four servers, print each path once both of its servers are done.

    Returns:
        What was unexpected; nothing where all is as it should be.
    """
    board = Board(console)
    found: list[str] = []
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        with board.progress:
            pairs: dict[ModelPath, list[Future[Run]]] = {
                path: [pool.submit(ask, path, board, fixed=fixed) for fixed in (False, True)]
                for path in PATHS
            }
            for future in itertools.chain(*pairs.values()):
                future.add_done_callback(_stop_the_rest)
            for path, (stock, fixed) in pairs.items():
                found += show(console, path, stock.result(), fixed.result())
    finally:
        _stopping.set()
        pool.shutdown(wait=False, cancel_futures=True)
        for server in tuple(_running):
            server.close()
        pool.shutdown()
    return found


def main() -> int:
    """Run the demo; return the exit status."""
    # A log has no width of its own, and should not depend on where it was written.
    console = Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)
    if not importlib.metadata.entry_points(group="vllm.general_plugins", name="stable_ids"):
        console.print(f"The plugin is not installed beside {sys.executable}: run `make demo`.")
        return 2
    console.print(
        f"vLLM {importlib.metadata.version('vllm')}, real servers; only what the models say is "
        "scripted. stock: VLLM_STABLE_IDS=0; fixed: with the plugin. added and done are "
        "response.output_item.*, completed is the item in response.completed. "
        f"{WRONG} marks what is not as announced.",
        markup=False,
    )
    # An ended demo leaves no servers behind, whoever ended it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        found = demonstrate(console)
    except KeyboardInterrupt:
        console.print("Stopped.")
        return 130
    except (OSError, RuntimeError) as error:
        headline, *log = str(error).splitlines()
        console.print(Text(f"The demo could not run: {headline}", "bold red"), soft_wrap=True)
        for line in log[-LOG_LINES:]:
            console.print(Text(line, "dim"), no_wrap=True, overflow="ellipsis")
        return 2
    for line in found:
        console.print(Text(f"Unexpected: {line}", "bold red"))
    if not found:
        console.print(Text("As it should be: stock broke it, the plugin kept it.", "bold green"))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
