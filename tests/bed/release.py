"""Which vLLM is installed beside the running Python."""

from __future__ import annotations

from importlib.metadata import version


def vllm_release() -> tuple[int, ...]:
    """Return the first two numbers of its version."""
    return tuple(map(int, version("vllm").split(".")[:2]))
