"""What the plugin costs a whole `vllm serve`: pairs of runs, on and off, of vLLM's load generator.

    python benches/gpu.py                       # a machine with a CUDA vLLM
    python benches/gpu.py --cpu                 # a vLLM built for CPUs
    python benches/gpu.py --model Qwen/Qwen3-0.6B --load-format auto

Both servers run all the time and take turns under load, so that what else the machine does hits
both. Without --model it is a small model without weights, which needs no network and makes tokens
faster than any real one: what is done for each token then weighs most. The result goes to a JSON
file and a table; only figures of one run can be compared.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from dataclasses import asdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import vllm  # noqa: E402
from benches.served.load import Load  # noqa: E402
from benches.served.pairs import measure  # noqa: E402
from benches.served.ratio import table  # noqa: E402
from benches.served.servers import Served  # noqa: E402

from bed.models import BUILD, model_folder  # noqa: E402


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cpu", action="store_true", help="vLLM is built for CPUs")
    parser.add_argument("--model", help="a model's name or folder")
    parser.add_argument("--load-format", default="dummy", help="as vLLM's; dummy: no weights")
    parser.add_argument("--pairs", type=int, default=10, help="pairs of runs (default: 10)")
    parser.add_argument("--prompts", type=int, help="requests in a run")
    parser.add_argument("--tokens", type=int, default=256, help="tokens of each answer")
    parser.add_argument("--at-once", type=int, help="requests at the same time")
    parser.add_argument(
        "--bench", type=Path, help="the `vllm` to make the load with, 0.32 or newer"
    )
    parser.add_argument("--out", type=Path, default=BUILD / "bench" / "served.json")
    return parser.parse_args()


def main() -> int:
    """Measure, write and print."""
    asked = arguments()
    prompts = asked.prompts or (32 if asked.cpu else 512)
    at_once = asked.at_once or (8 if asked.cpu else 128)
    model = asked.model or str(model_folder("simple"))
    bench = asked.bench or Path(sys.executable).with_name("vllm")
    load = Load(bench, model, prompts, asked.tokens, at_once)
    settings = [] if not asked.cpu else ["--enforce-eager"]
    began = time.strftime("%Y-%m-%d")
    with Served(model, asked.load_format, settings) as served:
        result = measure(served, load, asked.pairs)
    content = {
        "date": began,
        "command": " ".join(["python", "benches/gpu.py", *sys.argv[1:]]),
        "vllm": vllm.__version__,
        "python": platform.python_version(),
        "device": "cpu" if asked.cpu else "gpu",
        "model": model if asked.model else "the test bed's, without weights",
        "prompts": prompts,
        "tokens": asked.tokens,
        "at_once": at_once,
        "pairs": [asdict(pair) for pair in result],
    }
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(content, indent=1) + "\n")
    print(table(content))
    print(f"written to {asked.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
