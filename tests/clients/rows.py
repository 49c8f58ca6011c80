"""A row of the table: a client on one generator path, against all three servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clients.cases import CALLING
from clients.entry import SIDES, differences
from clients.install import install, release
from clients.run import drive
from clients.verdict import OK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import Executor, Future

    from bed.models import ModelPath
    from clients.entry import Entry, Side

AS_STOCK = "as stock"


@dataclass(frozen=True)
class Row:
    """What came of it.

    Attributes:
        entry: The client.
        path: The generator path.
        release: The client's version.
        found: The verdict on each case, by server.
    """

    entry: Entry
    path: ModelPath
    release: str
    found: Mapping[Side, Mapping[str, str]]

    @property
    def cells(self) -> list[str]:
        """Return the row in words, without frills."""
        stock, *others = (cell(self.found[side]) for side in SIDES)
        verdicts = [AS_STOCK if other == stock != OK else other for other in others]
        return [self.entry.name, self.release, self.entry.how, self.path, stock, *verdicts]

    @property
    def differences(self) -> Iterator[str]:
        """Yield what is not as the register has it, each with where to read on."""
        for side in SIDES:
            for line in differences(self.found[side], self.entry.expected(side, self.path)):
                where = f"{self.entry.name} {self.release}, {self.entry.how}, {self.path}, {side}"
                yield f"{where}: {line} (its log is {log_name(self.entry, self.path, side)}.log)"


def start(
    entry: Entry, path: ModelPath, urls: Mapping[Side, str], pool: Executor
) -> Callable[[], Row]:
    """Drive a client against the servers of a path; return what waits for the row.

    Raises:
        RuntimeError: The client could not be installed.
    """
    command = install(entry)
    running: dict[Side, Future[dict[str, str]]] = {
        side: pool.submit(drive, command, entry, urls[side], path, log_name(entry, path, side))
        for side in SIDES
    }

    def wait() -> Row:
        found = {side: future.result() for side, future in running.items()}
        return Row(entry, path, release(entry), found)

    return wait


def log_name(entry: Entry, path: ModelPath, side: Side) -> str:
    """Return what the log of a run is called."""
    return f"client-{entry.key}-{path}-{side}"


def cell(found: Mapping[str, str]) -> str:
    """Say in a few words how a client got through the cases: of what failed, the shortest."""
    bad = {case: verdict for case, verdict in found.items() if verdict != OK}
    if not bad:
        return OK
    message = min(bad.values(), key=lambda verdict: (len(verdict), verdict))
    if bad.keys() == found.keys():
        return message
    if bad.keys() == found.keys() & set(CALLING):
        return f"calls: {message}"
    return f"{', '.join(case for case in found if case in bad)}: {message}"
