"""The section on faulty streams of `docs/clients.md`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clients.install import release
from clients.page import PAGE, filled
from clients.replay.clients import CLIENTS
from clients.replay.faulty import STREAMS
from clients.replay.run import (
    ERROR,
    NOT_RUN,
    OTHER_ARGUMENTS,
    OTHER_CALL_ID,
    OTHER_TEXT,
    RUNS_EMPTY,
    RUNS_TOO_OFTEN,
    passes,
)
from clients.verdict import OK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clients.replay.run import Result, Side
    from clients.replay.streams import Stream

    Results = Mapping[tuple[Side, str], Result]

TITLE = "## Faulty streams"
NO_CUSTOM_TOOLS = "-"
LONGEST_ERROR = 80

INTRODUCTION = (
    "Streams with faults of several servers, replayed to clients that have a tool `write_file` and "
    "a custom tool `run_script`. The table shows what each client does with the raw stream; below "
    "it is what clients do with the streams as the proxy rewrites them. The streams are in "
    "`tests/clients/replay`."
)
MEANINGS = {
    OK: "no error, the text arrived, and exactly the calls of the stream ran, with the streamed "
    "arguments; where the response fails or is cut off, no call ran",
    ERROR: "the client stops with an error",
    NOT_RUN: "no error, but a call does not run",
    RUNS_EMPTY: "a tool runs without the arguments that were streamed",
    RUNS_TOO_OFTEN: "a call runs twice, or one that was never complete runs",
    OTHER_ARGUMENTS: "a tool runs with arguments that were not streamed",
    OTHER_CALL_ID: "a tool runs, and its output has a `call_id` that no call has",
    OTHER_TEXT: "no error, but the text is missing or another",
}


def section(results: Sequence[Results]) -> str:
    """Return the section.

    Args:
        results: The results of each client.
    """
    words = {result.word for found in results for result in found.values()}
    meanings = [f"- **{word}**: {text}." for word, text in MEANINGS.items() if word in words]
    columns = [f"- {client.label}: {release(client)}, {client.how}." for client in CLIENTS]
    head = f"| stream | {' | '.join(client.label for client in CLIENTS)} |"
    rows = [row(stream, results) for stream in STREAMS]
    table = "\n".join([head, "|---" * (len(CLIENTS) + 1) + "|", *rows])
    lists = ("\n".join(filled(text, "  ") for text in texts) for texts in (meanings, columns))
    parts = (TITLE, filled(INTRODUCTION), *lists, table, _errors(results), outcome(results))
    return "\n\n".join(parts) + "\n"


def row(stream: Stream, results: Sequence[Results]) -> str:
    """Return a row of the table."""
    return f"| {stream.fault} | {' | '.join(cell(stream, found) for found in results)} |"


def cell(stream: Stream, found: Results) -> str:
    """Return what a client did with a raw stream, in a word or two."""
    result = found.get(("raw", stream.name))
    return NO_CUSTOM_TOOLS if result is None else result.word


def outcome(results: Sequence[Results]) -> str:
    """Return what the section says of the rewritten streams."""
    bad, idle = [], []
    for stream in STREAMS:
        words: dict[str, list[str]] = {}
        for client, found in zip(CLIENTS, results, strict=True):
            result = found.get(("rewritten", stream.name))
            if result is not None and not passes(stream, result):
                words.setdefault(result.word, []).append(client.label)
            elif result is not None and result.word != OK:
                idle.append(client.label)
        bad += [f"- {stream.fault}: **{word}** ({'; '.join(c)})." for word, c in words.items()]
    if bad:
        lines = (filled(line, "  ") for line in bad)
        return "\n".join(("Rewritten, all others are **ok**, and these are not:", "", *lines))
    text = "Rewritten, all of them are **ok** with every client."
    if idle:
        text += f" These clients run no call of an incomplete response: {'; '.join(idle)}."
    return filled(text)


def differences(results: Sequence[Results]) -> Iterator[str]:
    """Yield what clients do wrongly with rewritten streams."""
    for client, found in zip(CLIENTS, results, strict=True):
        for stream in STREAMS:
            result = found.get(("rewritten", stream.name))
            if result is not None and not passes(stream, result):
                yield f"{client.label}, {stream.name}: {result}"


def put(text: str) -> None:
    """Replace the section of the page, and leave the rest alone."""
    page = PAGE.read_text()
    found = re.search(rf"^{TITLE}\n.*?(?=^## )", page, re.DOTALL | re.MULTILINE)
    if found is None:
        raise RuntimeError(f"{PAGE.name} has no section {TITLE!r}; run all clients")
    PAGE.write_text(f"{page[: found.start()]}{text}\n{page[found.end() :]}")


def _errors(results: Sequence[Results]) -> str:
    """List the errors of raw streams, by client."""
    errors: dict[str, dict[str, None]] = {}
    for client, found in zip(CLIENTS, results, strict=True):
        for (side, _), result in found.items():
            if side == "raw" and result.word == ERROR:
                errors.setdefault(client.name, {})[_short(result.error)] = None
    lines = (
        filled(f"- {name}: {', '.join(f'`{error}`' for error in texts)}.", "  ")
        for name, texts in errors.items()
    )
    return "\n".join(("The errors:", "", *lines))


def _short(error: str) -> str:
    return error if len(error) <= LONGEST_ERROR else f"{error[: LONGEST_ERROR - 1]}…"
