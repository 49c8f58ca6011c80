"""Keeps what was judged in files, redacted where it is wanted, so that it can go into a report."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.check.capture import judge
from vllm_stable_ids.check.reading import CHUNK_BYTES
from vllm_stable_ids.check.redact import Redactor

if TYPE_CHECKING:
    from pathlib import Path

    from vllm_stable_ids.check.verdict import Verdict


class NotKept(Exception):  # noqa: N818 - said to who asked for it, in these words
    """A file that is not written."""


class Folder:
    """A folder for what a run gives. Nothing in it is ever overwritten."""

    def __init__(self, path: Path) -> None:
        """Make the folder.

        Args:
            path: Where; the folders above it are made, too.

        Raises:
            NotKept: It cannot be made.
        """
        self._path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise NotKept(f"cannot make the folder {path}: {error.strerror}") from None

    def check_empty(self) -> None:
        """Raise if there is something in it already.

        Raises:
            NotKept: There is.
        """
        try:
            found = next(self._path.iterdir(), None)
        except OSError as error:
            raise NotKept(f"cannot read the folder {self._path}: {error.strerror}") from None
        if found is not None:
            raise NotKept(f"{self._path} is not empty, and nothing is overwritten: name another")

    def stream(self, name: str, raw: bytes) -> None:
        """Write a stream.

        Raises:
            NotKept: It cannot be written.
        """
        self._write(name, raw)

    def document(self, name: str, content: dict[str, Any]) -> None:
        """Write a request's or a response's JSON.

        Raises:
            NotKept: It cannot be written.
        """
        self._write(name, json.dumps(content, indent=1).encode() + b"\n")

    def new(self, name: str) -> Path:
        """A file that was not there.

        Raises:
            NotKept: It was, or cannot be written.
        """
        file = self._path / name
        try:
            file.touch(exist_ok=False)
        except FileExistsError:
            raise NotKept(f"{file} is there already, and nothing is overwritten") from None
        except OSError as error:
            raise _not_written(file, error) from None
        return file

    def _write(self, name: str, content: bytes) -> None:
        file = self.new(name)
        try:
            file.write_bytes(content)
        except OSError as error:
            raise _not_written(file, error) from None


class Redacted:
    """A redacted copy of a recording, written while it is judged."""

    def __init__(self, folder: Path, file: Path | None) -> None:
        """Begin the copy.

        Args:
            folder: Where it goes.
            file: What is copied; `None` or `-` is standard input.

        Raises:
            NotKept: It cannot be written, or is there already.
        """
        stem = "stdin" if file is None or str(file) == "-" else file.stem
        self._path = Folder(folder).new(f"{stem}.redacted.sse")
        self._redactor = Redactor()

    def feed(self, framed: bytes) -> bytes:
        """Take in a piece of the recording; returns what was written for it.

        Raises:
            NotKept: It cannot be written.
        """
        return self._append(self._redactor.feed(framed))

    def finish(self) -> bytes:
        """End the copy; returns what was written for it.

        Raises:
            NotKept: It cannot be written.
        """
        return self._append(self._redactor.finish())

    def judged(self, verdict: Verdict) -> tuple[Verdict, str]:
        """What to report of the recording, from the copy alone, and what to say of the copy.

        Args:
            verdict: That on the recording.
        """
        if verdict.stream is None:
            self._path.unlink()
            reason = verdict.reason and verdict.reason.without_quotes()
            return replace(verdict, reason=reason), "there is no stream to redact"
        with self._path.open("rb") as copy:
            judged = judge(iter(lambda: copy.read(CHUNK_BYTES), b""), verdict.source)
        shown = replace(judged, format=verdict.format, bytes=verdict.bytes, status=verdict.status)
        if judged.essence != verdict.essence:
            return shown, f"{self._path} is judged otherwise than what it was made of"
        return shown, f"{self._path} is redacted, and judged the same"

    def _append(self, content: bytes) -> bytes:
        try:
            with self._path.open("ab") as target:
                target.write(content)
        except OSError as error:
            raise _not_written(self._path, error) from None
        return content


def _not_written(file: Path, error: OSError) -> NotKept:
    return NotKept(f"cannot write {file}: {error.strerror}")
