"""An entry of the register: a client in one way of using it, and what must come of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from clients.cases import CALLING, NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bed.models import ModelPath

Side = Literal["stock", "plugin", "proxy"]
SIDES: tuple[Side, ...] = ("stock", "plugin", "proxy")

# What a client or the relay must say of a case, or a part of it; a case that is left out is ok.
Failures = dict[str, str]


@dataclass(frozen=True)
class Entry:
    """A client in one mode.

    Attributes:
        name: The client, as the table has it.
        package: The package whose version counts.
        folder: The folder with its driver and its lock.
        language: What the driver is written in.
        mode: The driver's word for the way of using the client.
        how: The same in the table's words.
        tool: What the model calls, with which arguments, where a client has only tools of its own.
        quick: Whether it is part of `make test`.
        fails: What fails, by server and generator path; nothing where all is ok.
        why: Why something fails with the plugin or behind the proxy.
    """

    name: str
    package: str
    folder: str
    language: Literal["python", "node"]
    mode: str
    how: str
    tool: tuple[str, str] | None = None
    quick: bool = False
    fails: Mapping[tuple[Side, ModelPath], Failures] = field(default_factory=dict)
    why: str = ""

    @property
    def key(self) -> str:
        """Return a name for logs and test ids."""
        return f"{self.folder}-{self.mode}"

    def expected(self, side: Side, path: ModelPath) -> Failures:
        """Return what must fail on a server."""
        return self.fails.get((side, path), {})


def calls(message: str) -> Failures:
    """Every case with a call fails so."""
    return dict.fromkeys(CALLING, message)


def everything(message: str) -> Failures:
    """Every case fails so."""
    return dict.fromkeys(NAMES, message)


def differences(found: Mapping[str, str], expected: Failures) -> list[str]:
    """List the cases that ended otherwise than expected, the better ones included."""
    wrong = []
    for name, verdict in found.items():
        wanted = expected.get(name, "ok")
        if (verdict != wanted) if wanted == "ok" else (wanted not in verdict):
            wrong.append(f"{name}: {verdict!r}, where {wanted!r} is expected")
    return wrong
