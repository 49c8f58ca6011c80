"""The bench of whole servers runs through on a CPU, with real servers and vLLM's load generator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from bed.documents import ROOT
from bed.release import vllm_release

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    vllm_release() < (0, 32),
    reason="its load generator comes with vLLM 0.32",
)


def test_it_measures_both_and_writes_what_it_measured(tmp_path: Path) -> None:
    out = tmp_path / "served.json"
    few = ("--pairs", "1", "--prompts", "2", "--tokens", "8", "--at-once", "2", "--out", str(out))
    done = subprocess.run(
        [sys.executable, str(ROOT / "benches" / "gpu.py"), "--cpu", *few],
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(out.read_text())
    assert (result["device"], len(result["pairs"])) == ("cpu", 1)
    for pair in result["pairs"]:
        for side in ("on", "off"):
            assert pair[side]["tokens_per_s"] > 0
            assert pair[side]["ttft_ms"] > 0
    assert "| tokens a second |" in done.stdout
