"""The register of everything this plugin changes in vLLM.

Each patch is one file and one entry here. They stand or fall together: a stream whose end is
not reconciled would announce ids that its terminal event contradicts.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any

from vllm_stable_ids import settings
from vllm_stable_ids.events import EventClasses
from vllm_stable_ids.log import logger
from vllm_stable_ids.patches import stream, terminal
from vllm_stable_ids.patches.seam import Patch, Seam

PATCHES: tuple[Patch, ...] = (stream.PATCH, terminal.PATCH)

SERVING_CLASS = "OpenAIServingResponses"


def apply(module: Any) -> None:
    """Patch vLLM's Responses API, and say so in one line.

    Args:
        module: `vllm.entrypoints.openai.responses.serving`, as imported.

    Raises:
        Exception: Whatever went wrong; nothing is patched then.
    """
    switches, problems = settings.load()
    for problem in problems:
        logger.warning("stable_ids: %s", problem)
    us, vllm = _version("vllm-stable-ids"), _vllm_version()
    if not switches.enabled:
        logger.info("stable_ids %s: vLLM %s not patched (VLLM_STABLE_IDS is off)", us, vllm)
        return
    serving = getattr(module, SERVING_CLASS, None)
    seams = [Seam.find(serving, patch) for patch in PATCHES]
    missing = [patch.target for patch, seam in zip(PATCHES, seams, strict=True) if seam is None]
    if missing:
        logger.warning(
            "stable_ids %s: vLLM %s not patched, it has no %s.%s as known up to vLLM 0.33; "
            "look for a newer vllm-stable-ids",
            us,
            vllm,
            SERVING_CLASS,
            f" or {SERVING_CLASS}.".join(missing),
        )
        return
    found = [seam for seam in seams if seam is not None and not seam.is_put]
    if not found:
        return
    stream.configure(EventClasses(), openai_vocabulary=switches.vocabulary)
    put: list[Seam] = []
    try:
        for seam in found:
            seam.put()
            put.append(seam)
        logger.info(
            "stable_ids %s: patched %s of vLLM %s; event vocabulary: %s",
            us,
            ", ".join(patch.target for patch in PATCHES),
            vllm,
            "OpenAI's" if switches.vocabulary else "vLLM's own",
        )
    except Exception:
        for seam in put:
            seam.take_back()
        raise


def _vllm_version() -> str:
    """What vLLM calls itself; whichever distribution it came in."""
    version: str = getattr(importlib.import_module("vllm"), "__version__", "of unknown version")
    return version


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"
