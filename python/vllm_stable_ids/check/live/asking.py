"""How a server is asked: the options of the command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 8 << 20
MAX_TIME_S = 1800.0


@dataclass(frozen=True, slots=True)
class Asking:
    """Whom to ask, and how."""

    url: str
    model: str | None
    """Which model; `None` is the only one that there is."""
    key: str | None
    headers: list[str]
    """Each as `Name: value`."""
    timeout: float
    """How long the server may send nothing, in seconds."""
    insecure: bool
    """Whether any certificate does."""
    save: Path | None
    """The folder for what is sent and comes."""
    redact: bool
    """Whether content is replaced in that, and in what is reported."""
    max_bytes: int = MAX_BYTES
    """How many bytes an answer may have."""
    max_time: float = MAX_TIME_S
    """How long all of it may take, in seconds."""
