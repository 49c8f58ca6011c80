"""Code in an interpreter that has loaded nothing yet."""

from __future__ import annotations

import os
import subprocess
import sys


def run_python(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter, without the caller's settings of vLLM; it must not fail."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={name: value for name, value in os.environ.items() if name[:5] != "VLLM_"} | env,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
