"""What the plugin costs a whole `vllm serve`: pairs of runs, on and off, of vLLM's load generator.

    python benches/gpu.py                       # a machine with a CUDA vLLM
    python benches/gpu.py --cpu                 # a vLLM built for CPUs
    python benches/gpu.py --model Qwen/Qwen3-0.6B --load-format auto

Both servers are under load at the same time, so that what else the machine does hits both. Without
--model it is a small model without weights, which needs no network and makes tokens faster than any
real one: what is done for each token then weighs most. The result goes to a JSON file and a table;
only figures of one run can be compared.
"""

from __future__ import annotations

import argparse
import platform
import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import vllm  # noqa: E402
from benches.report.tables import served as table  # noqa: E402
from benches.results import leave  # noqa: E402
from benches.served.load import Generator, Load  # noqa: E402
from benches.served.pairs import measure  # noqa: E402
from benches.served.servers import Served  # noqa: E402

from bed.models import BUILD, model_folder  # noqa: E402


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cpu", action="store_true", help="vLLM is built for CPUs")
    parser.add_argument("--model", help="a model's name or folder")
    parser.add_argument("--load-format", default="dummy", help="as vLLM's; dummy: no weights")
    parser.add_argument("--pairs", type=int, default=80, help="pairs of runs (default: 80)")
    parser.add_argument("--prompts", type=int, help="requests in a run")
    parser.add_argument("--tokens", type=int, default=256, help="tokens of an answer, on average")
    parser.add_argument(
        "--in-step", action="store_true", help="answers of one length, which end and begin at once"
    )
    parser.add_argument("--at-once", type=int, help="requests at the same time")
    parser.add_argument(
        "--bench", type=Path, help="the `vllm` to make the load with, 0.32 or newer"
    )
    parser.add_argument("--out", type=Path, help="the result file (default: in .build/bench)")
    return parser.parse_args()


def main() -> int:
    """Measure, write and print."""
    asked = arguments()
    device = "cpu" if asked.cpu else "gpu"
    prompts = asked.prompts or (24 if asked.cpu else 512)
    at_once = asked.at_once or (8 if asked.cpu else 128)
    model = asked.model or str(model_folder("simple"))
    bench = asked.bench or Path(sys.executable).with_name("vllm")
    load = Load(model, prompts, asked.tokens, at_once, asked.in_step)
    settings = ["--enforce-eager"] if asked.cpu else ["--gpu-memory-utilization", "0.4"]

    def start(on_first: bool) -> Served:
        return Served(model, asked.load_format, settings, on_first=on_first)

    python = bench.with_name("python")
    logs = BUILD / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with (
        closing(Generator(python, logs / "generator-1.log")) as one,
        closing(Generator(python, logs / "generator-2.log")) as two,
    ):
        result = measure(start, (one, two), load, asked.pairs)
    content = {
        "command": " ".join(["python", "benches/gpu.py", *sys.argv[1:]]),
        "vllm": vllm.__version__,
        "python": platform.python_version(),
        "device": device,
        "model": model if asked.model else "the test bed's, without weights",
        "prompts": prompts,
        "tokens": asked.tokens,
        "at_once": at_once,
        "in_step": asked.in_step,
        "pairs": [asdict(pair) for pair in result],
    }
    print(table(content))
    name = f"served-{device}-{vllm.__version__}{'-in-step' if asked.in_step else ''}"
    print(f"\nwritten to {leave(name, content, asked.out)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
