"""The command `vllm-stable-ids check`."""

from __future__ import annotations

import io
import sys
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated

import typer
from rich.console import Console

from vllm_stable_ids.check.capture import judge, refused
from vllm_stable_ids.check.junit import as_junit
from vllm_stable_ids.check.reading import chunks
from vllm_stable_ids.check.recognise import RECORD
from vllm_stable_ids.check.report_json import as_json
from vllm_stable_ids.check.table import show
from vllm_stable_ids.check.verdict import EXIT_STATUS, Reason

NOT_A_TERMINAL = 1000


def check(
    file: Annotated[
        Path | None,
        typer.Argument(help="A recorded event stream; standard input where left out, or -."),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Write the verdict as JSON (docs/check.md).")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(help="Write the verdict to this file, too, as JUnit XML.")
    ] = None,
) -> None:
    """Say whether a recorded event stream keeps the identity of each output item.

    Reads server-sent events, or JSON lines with an event each. Exit status 0: it does, 1: it does
    not, 2: it could not be judged.
    """
    source = "-" if file is None else str(file)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A stream may have characters that a terminal's encoding has not.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        verdict = judge(chunks(file, Console(stderr=True)), source)
    except OSError as error:
        reason = Reason("unreadable", f"It cannot be read: {error.strerror or error}.", RECORD)
        verdict = refused(source, reason)
    if json:
        typer.echo(as_json(verdict))
    else:
        console = Console(highlight=False, emoji=False, markup=False)
        if not console.is_terminal:
            # Whoever reads a file or a pipe breaks lines as they like.
            console.width = NOT_A_TERMINAL
        show(verdict, console)
    if junit is not None:
        try:
            junit.write_bytes(as_junit(verdict))
        except OSError as error:
            typer.echo(f"vllm-stable-ids: cannot write {junit}: {error.strerror}", err=True)
            raise typer.Exit(EXIT_STATUS["not_judged"]) from None
    raise typer.Exit(verdict.exit_status)
