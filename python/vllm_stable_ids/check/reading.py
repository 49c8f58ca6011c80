"""Reads a file or standard input in pieces, and shows how far it has come."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import TYPE_CHECKING, BinaryIO

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import Console

CHUNK_BYTES = 1 << 18
BIG_BYTES = 4 << 20


def chunks(file: Path | None, console: Console) -> Iterator[bytes]:
    """What there is to read.

    Args:
        file: The file; `None` or `-` is standard input.
        console: Where progress is shown, if it is a terminal and there is much to read.

    Raises:
        OSError: It cannot be read.
    """
    with contextlib.ExitStack() as stack:
        source: BinaryIO
        if file is not None and str(file) != "-":
            source = stack.enter_context(file.open("rb"))
        elif sys.stdin is not None:
            source = sys.stdin.buffer
        else:
            raise OSError(errno.EBADF, "standard input is closed")
        progress = None
        done = 0
        while chunk := source.read(CHUNK_BYTES):
            done += len(chunk)
            if progress is None and done > BIG_BYTES and console.is_terminal:
                progress = stack.enter_context(_progress(console))
                task = progress.add_task("reading", total=_size(source))
            if progress is not None:
                progress.update(task, completed=done)
            yield chunk


def _size(source: BinaryIO) -> int | None:
    """How much there is to read, where that is known."""
    try:
        return os.fstat(source.fileno()).st_size or None
    except OSError:
        return None


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        console=console,
        transient=True,
    )
