"""vLLM's load generator, kept running: importing it takes longer than a run of it.

Run by the Python of a vLLM 0.32 or newer. Each line of its input is the arguments of a run of
`vllm bench serve`, as a JSON array; each line of its output is what that run's result file would
say.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def main() -> None:
    """Do one run after the other."""
    # What vLLM prints and logs goes where errors go.
    results = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    from vllm.benchmarks import serve  # noqa: PLC0415
    from vllm.utils.argparse_utils import FlexibleArgumentParser  # noqa: PLC0415

    parser: argparse.ArgumentParser = FlexibleArgumentParser()
    serve.add_cli_args(parser)
    for line in sys.stdin:
        result = serve.main(parser.parse_args(json.loads(line)))
        print(json.dumps(result, default=str), file=results, flush=True)


if __name__ == "__main__":
    main()
