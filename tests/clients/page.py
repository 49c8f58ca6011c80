"""The table as a page of the documentation."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clients.rows import Row

PAGE = Path(__file__).resolve().parents[2] / "docs" / "clients.md"
HEAD = ("client", "version", "used as", "path", "stock", "plugin", "proxy")

INTRODUCTION = (
    "Made by `make clients`; do not edit. Clients as they are published went through a tool loop "
    "with real servers of vLLM {vllm}: stock (`VLLM_STABLE_IDS=0`), with the plugin, and stock "
    "behind [the proxy](proxy.md). The simple path is a Qwen3-style model, harmony is gpt-oss.",
    "What the model says is scripted, each time after some reasoning: a text, a call, two calls "
    "(simple only: a call of gpt-oss ends its turn), a text and a call. The client is asked for "
    "the weather in Paris, has a tool for it, streams, and sends the tool's output in a second "
    "turn. A relay in between adds the script to its requests and otherwise changes nothing.",
    "**ok**: no error, every call that was announced was answered once, under the `call_id` that "
    "it was announced with (to which OpenClaw adds something where the item's id has no prefix), "
    "and the text of the second turn arrived. Otherwise a cell has what the client said, as it "
    "said it, with ids left out; or what was seen between client and server:",
)
SEEN = (
    "**unpaired**: no error, but the tool's output has a `call_id` that no call has, neither in "
    "the request nor in the response that it continues; the model cannot tell which call it is of.",
    "**works, but …**: call and output belong together, but under another `call_id` than the "
    "stream had announced.",
)
REPEAT = (
    "`make clients` does it all again, and ends with an error where a client fares otherwise than "
    "the register in `tests/clients` has it, better or worse. `make clients ONLY=pydantic_ai` "
    "takes one folder of it, and leaves this page alone; `ONLY=replay` replays the faulty streams, "
    "which needs no server and takes seconds, and writes that section. The clients for JavaScript "
    "need Node and npm. Each client is locked, with all that it depends on, in its folder; those "
    "that take seconds are part of `make test`, which also compares their rows with this page."
)


def render(rows: Sequence[Row], streams: str) -> str:
    """Return the page.

    Args:
        rows: The rows of the table.
        streams: The section on faulty streams.
    """
    vllm = version("vllm").removesuffix("+cpu")
    introduction = "\n\n".join(filled(text.format(vllm=vllm)) for text in INTRODUCTION)
    seen = "\n".join(filled(f"- {text}", "  ") for text in SEEN)
    table = "\n".join([f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|", *map(line, rows)])
    page = f"# Clients, measured\n\n{introduction}\n\n{seen}\n\n{table}\n"
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.entry.why:
            names = reasons.setdefault(row.entry.why, [])
            name = f"{row.entry.name} ({row.entry.how})"
            names += [] if name in names else [name]
    if reasons:
        whys = "\n".join(
            filled(f"- {why}: {', '.join(names)}.", "  ") for why, names in reasons.items()
        )
        page += f"\n## Why some stay as they are\n\n{whys}\n"
    return f"{page}\n{streams}\n## Again\n\n{filled(REPEAT)}\n"


def line(row: Row) -> str:
    """Return a row of the page's table."""
    return f"| {' | '.join(text.replace('|', chr(92) + '|') for text in row.cells)} |"


def filled(text: str, indent: str = "") -> str:
    """Return a paragraph in lines of the page's width."""
    return fill(text, 100, break_on_hyphens=False, break_long_words=False, subsequent_indent=indent)
