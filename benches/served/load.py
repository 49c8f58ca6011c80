"""Load by vLLM's own generator, `vllm bench serve --backend openai-responses` (0.32 or newer)."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benches.served.servers import NAME

if TYPE_CHECKING:
    from benches.served.servers import Server


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
        model: Whose tokenizer the prompts are made with.
        prompts: How many requests.
        tokens: How many tokens an answer has, on average.
        at_once: How many requests at the same time.
        in_step: Whether all answers have that many; else it is half more or less, evenly spread.
            Answers of one length end at once, and the next requests begin at once.
    """

    model: str
    prompts: int
    tokens: int
    at_once: int
    in_step: bool

    def arguments(self, server: Server) -> list[str]:
        """Those of `vllm bench serve`."""
        return [
            *("--backend", "openai-responses", "--endpoint", "/v1/responses"),
            *("--base-url", server.url, "--model", NAME, "--tokenizer", self.model),
            *("--num-prompts", str(self.prompts), "--max-concurrency", str(self.at_once)),
            *("--dataset-name", "random", "--random-input-len", "64"),
            *("--random-output-len", str(self.tokens), "--ignore-eos", "--temperature", "0"),
            *(
                "--random-range-ratio",
                json.dumps({"input": 0, "output": 0 if self.in_step else 0.5}),
            ),
            *("--seed", "0", "--disable-tqdm"),
        ]


class Generator:
    """vLLM's load generator, in a process that stays for many runs."""

    def __init__(self, python: Path, log: Path) -> None:
        """Start it.

        Args:
            python: That of a vLLM 0.32 or newer.
            log: Where it writes what it prints.
        """
        self._log = log
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                [python, Path(__file__).with_name("generator.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
            )

    def run(self, load: Load, server: Server) -> Figures:
        """Put a server under load.

        Raises:
            RuntimeError: Requests failed, or the generator did; where its log is stands in it.
        """
        into, out = self._process.stdin, self._process.stdout
        assert into is not None
        assert out is not None
        before = server.cpu_seconds()
        into.write(json.dumps(load.arguments(server)) + "\n")
        into.flush()
        line = out.readline()
        cpu = server.cpu_seconds() - before
        if not line:
            raise RuntimeError(f"vLLM's load generator ended; its log is {self._log}")
        result = json.loads(line)
        if result["completed"] != load.prompts:
            done = f"only {result['completed']} of {load.prompts} requests completed"
            raise RuntimeError(f"{done}; the generator's log is {self._log}")
        return Figures(
            tokens_per_s=result["output_throughput"],
            ttft_ms=result["median_ttft_ms"],
            itl_ms=result["median_itl_ms"],
            cpu_s_per_1000=1000 * cpu / result["total_output_tokens"],
        )

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()
