"""vLLM's own load generator reads the Responses API through the proxy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bed.models import model_folder
from bed.proxied import Proxy
from bed.release import vllm_release
from bed.server import MODEL_NAME

if TYPE_CHECKING:
    from conftest import Servers

pytestmark = pytest.mark.skipif(
    vllm_release() < (0, 31),
    reason="vllm bench serve knows the Responses API from vLLM 0.31 on",
)

PROMPTS = 4


def test_vllm_bench_serve(servers: Servers, tmp_path: Path) -> None:
    stock = servers.get("simple", fixed=False)
    with Proxy(stock.url) as proxy:
        command = [
            str(Path(sys.executable).with_name("vllm")),
            *("bench", "serve", "--backend", "openai-responses", "--endpoint", "/v1/responses"),
            *("--base-url", proxy.url, "--model", str(model_folder("simple"))),
            *("--served-model-name", MODEL_NAME, "--num-prompts", str(PROMPTS)),
            *("--dataset-name", "random", "--random-input-len", "16", "--random-output-len", "8"),
            *("--ignore-eos", "--save-result", "--save-detailed"),
            *("--result-dir", str(tmp_path), "--result-filename", "result.json"),
        ]
        offline = {**os.environ, "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
        done = subprocess.run(command, env=offline, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["completed"] == PROMPTS, result["errors"]
    assert all(seconds > 0 for seconds in result["ttfts"])
