"""Load by vLLM's own generator, `vllm bench serve --backend openai-responses` (0.32 or newer)."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benches.served.servers import NAME

if TYPE_CHECKING:
    from benches.served.servers import Server

LIMIT_S = 900


@dataclass(frozen=True)
class Figures:
    """What one run measured.

    Attributes:
        tokens_per_s: Output tokens a second.
        ttft_ms: Time to the first token, median.
        itl_ms: Time between tokens, median.
        cpu_s_per_1000: CPU seconds of the API server for 1,000 tokens.
    """

    tokens_per_s: float
    ttft_ms: float
    itl_ms: float
    cpu_s_per_1000: float


@dataclass(frozen=True)
class Load:
    """What is asked of a server in one run.

    Attributes:
        vllm: The command that makes the load.
        model: Whose tokenizer the prompts are made with.
        prompts: How many requests.
        tokens: How many tokens each answer has.
        at_once: How many requests at the same time.
    """

    vllm: Path
    model: str
    prompts: int
    tokens: int
    at_once: int

    def run(self, server: Server) -> Figures:
        """Put a server under load.

        Raises:
            RuntimeError: Requests failed, or the generator did; what it said is in the message.
        """
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "result.json"
            before = server.cpu_seconds()
            done = subprocess.run(
                [
                    *(str(self.vllm), "bench", "serve", "--backend", "openai-responses"),
                    *("--base-url", server.url, "--endpoint", "/v1/responses"),
                    *("--model", NAME, "--tokenizer", self.model, "--dataset-name", "random"),
                    *("--num-prompts", str(self.prompts), "--max-concurrency", str(self.at_once)),
                    *("--random-input-len", "64", "--random-output-len", str(self.tokens)),
                    *("--ignore-eos", "--temperature", "0", "--seed", "0", "--disable-tqdm"),
                    *("--save-result", "--result-dir", folder, "--result-filename", file.name),
                ],
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
                check=False,
            )
            cpu = server.cpu_seconds() - before
            if done.returncode or not file.exists():
                raise RuntimeError(f"vllm bench serve failed:\n{done.stdout}{done.stderr}"[-3000:])
            result = json.loads(file.read_text())
        if result["completed"] != self.prompts:
            raise RuntimeError(f"only {result['completed']} of {self.prompts} requests completed")
        return Figures(
            tokens_per_s=result["output_throughput"],
            ttft_ms=result["median_ttft_ms"],
            itl_ms=result["median_itl_ms"],
            cpu_s_per_1000=1000 * cpu / result["total_output_tokens"],
        )
