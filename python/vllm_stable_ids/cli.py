"""The command line, `vllm-stable-ids`."""

from __future__ import annotations

import importlib.metadata
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from vllm_stable_ids._core import run_proxy
from vllm_stable_ids.check.command import check
from vllm_stable_ids.check.words import shown
from vllm_stable_ids.doctor.command import doctor
from vllm_stable_ids.output import discard
from vllm_stable_ids.rewriter import SseRewriter

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK_BYTES = 1 << 16

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode="markdown")


def _say_version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"vllm-stable-ids {importlib.metadata.version('vllm-stable-ids')}")
        raise typer.Exit


@app.callback()
def main(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Say the version."),
    ] = False,
) -> None:
    """Keep the ids of a Responses API stream stable."""


app.command()(check)
app.command()(doctor)


@app.command()
def rewrite(
    file: Annotated[
        Path | None,
        typer.Argument(help="A recorded event stream; standard input where left out, or -."),
    ] = None,
) -> None:
    """Rewrite an event stream so that every item keeps the identity it was announced under.

    Reads server-sent events as they come and writes them to standard output at once; what needs
    no change leaves byte for byte as it came.
    """
    rewriter = SseRewriter()
    try:
        for chunk in _chunks(file):
            _write(rewriter.feed(chunk))
        _write(rewriter.finish())
    except BrokenPipeError:
        discard()
        raise typer.Exit(1) from None
    gave_up = rewriter.report()["gave_up"]
    if gave_up is not None:
        typer.echo(f"vllm-stable-ids: unchanged from some frame on: {gave_up}", err=True)


@app.command(
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def proxy(context: typer.Context) -> None:
    """Stand in front of a server, as a reverse proxy; `proxy --help` tells how."""
    # Python would only note a signal, and act when the proxy has ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    raise typer.Exit(run_proxy(["vllm-stable-ids proxy", *context.args]))


def _chunks(file: Path | None) -> Iterator[bytes]:
    """What there is to read, in pieces as they come."""
    is_standard = file is None or str(file) == "-"
    name = "standard input" if is_standard else shown(str(file))
    try:
        if sys.stdout is None:
            _stop("standard output is closed")
        if is_standard and sys.stdin is None:
            _stop("standard input is closed")
        with (
            open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
            if file is None or is_standard
            else file.open("rb", buffering=0)
        ) as source:
            while chunk := source.read(CHUNK_BYTES):
                yield chunk
    except OSError as error:
        _stop(f"cannot read {name}: {error.strerror}")


def _stop(message: str) -> NoReturn:
    typer.echo(f"vllm-stable-ids: {message}", err=True)
    raise typer.Exit(2) from None


def _write(data: bytes) -> None:
    if data:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
