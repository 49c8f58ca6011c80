"""Which vLLM was tested, and which versions are running."""

from __future__ import annotations

import importlib
import importlib.metadata

from vllm_stable_ids import vllm_names

NEWEST_TESTED_VLLM = "0.33"


def vllm_version() -> str:
    """The running vLLM's version, as vLLM itself states it."""
    module = importlib.import_module(vllm_names.PACKAGE)
    version: str = getattr(module, "__version__", "of unknown version")
    return version


def own_version() -> str:
    """The plugin's version."""
    try:
        return importlib.metadata.version("vllm-stable-ids")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"
