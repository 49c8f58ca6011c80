"""Standard output, and what happens where it cannot be written."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

import typer
from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Iterator

NOT_A_TERMINAL = 1000
NOT_WRITTEN = 2
"""The exit status where the output could not be written."""


class Output(Console):
    """A console whose reader may leave."""

    def on_broken_pipe(self) -> None:
        """Let the error pass, where rich would end the process as if something had failed."""
        raise  # noqa: PLE0704 - rich calls this where it has caught it


def console() -> Console:
    """The console on standard output."""
    made = Output(highlight=False, emoji=False, markup=False)
    if not made.is_terminal or made.width < 1:
        # Whoever reads a file or a pipe breaks lines as they like.
        made.width = NOT_A_TERMINAL
    return made


@contextlib.contextmanager
def written() -> Iterator[None]:
    """Have what is written in here arrive. A reader that leaves early has what it wanted.

    Raises:
        typer.Exit: It cannot be written; that was said on standard error.
    """
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        discard()
    except OSError as error:
        not_written(error)
        raise typer.Exit(NOT_WRITTEN) from None


def not_written(error: OSError) -> None:
    """Say on standard error why there is no output."""
    discard()
    typer.echo(f"vllm-stable-ids: cannot write the output: {error.strerror or error}", err=True)


def discard() -> None:
    """Take the rest of the output nowhere, or Python would complain once more at its end."""
    with contextlib.suppress(OSError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
