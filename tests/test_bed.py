"""The test bed itself, where it has failed before."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

from bed import models

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_threads_that_start_servers_may_want_the_vocabulary_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "TIKTOKEN_FOLDER", tmp_path / "tiktoken")
    together = Barrier(8)

    def ask(_: int) -> Path:
        together.wait()
        return models.tiktoken_folder.__wrapped__()

    with ThreadPoolExecutor(8) as pool:
        (folder,) = set(pool.map(ask, range(8)))
    (file,) = folder.iterdir()
    assert hashlib.sha256(file.read_bytes()).hexdigest() == models.O200K_SHA256
