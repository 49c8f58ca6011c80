"""The register of everything this plugin changes in vLLM.

Each patch is one file and one entry here, and each method that one wraps is probed before
anything is put in. `stream` and `terminal` stand or fall together: a stream whose end is not
reconciled would announce ids that its terminal event contradicts.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from dataclasses import dataclass
from typing import Any

from vllm_stable_ids import metrics, settings
from vllm_stable_ids.events import EventClasses
from vllm_stable_ids.log import logger
from vllm_stable_ids.patches import (
    browser,
    encode,
    failure,
    item_reference,
    replay,
    stream,
    terminal,
    tool_output,
    vocabulary,
)
from vllm_stable_ids.patches.seam import MisfitError, Patch, Seam

PATCHES: tuple[Patch, ...] = (
    stream.PATCH,
    terminal.PATCH,
    vocabulary.PATCH,
    browser.PATCH,
    failure.PATCH,
    replay.PATCH,
    tool_output.PATCH,
    item_reference.PATCH,
    encode.PATCH,
)


@dataclass
class Outcome:
    """What became of the patches in this process.

    Attributes:
        enabled: Whether the environment lets the plugin act.
        active: Whether vLLM's streams are made with it.
        reason: Why they are not although they should be, in a clause about this vLLM.
        left_out: Which patches do without being put in, and why.
    """

    enabled: bool = True
    active: bool = False
    reason: str | None = None
    left_out: tuple[tuple[str, str], ...] = ()


outcome = Outcome()

_put: list[Seam] = []


def active() -> bool:
    """Whether this process makes its streams with the plugin."""
    return outcome.active


def apply(module: Any) -> None:
    """Patch vLLM's Responses API, say so in one line, and keep the outcome.

    Where vLLM does not fit nothing is patched, and `outcome.reason` says in what; the warning
    about it is the caller's.

    Args:
        module: `vllm.entrypoints.openai.responses.serving`, as imported.

    Raises:
        Exception: Something of ours went wrong; nothing is patched then.
    """
    try:
        _apply(module)
    except Exception:
        metrics.show_mode(own_version(), vllm_version(), "not_patched")
        raise


def _apply(module: Any) -> None:
    switches, problems = settings.load()
    for problem in problems:
        logger.warning("stable_ids: %s", problem)
    us, vllm = own_version(), vllm_version()
    outcome.enabled = switches.enabled
    if not switches.enabled:
        metrics.show_mode(us, vllm, "off")
        logger.info("stable_ids %s: vLLM %s not patched (VLLM_STABLE_IDS is off)", us, vllm)
        return
    try:
        seams, left_out = _fit(module, switches)
        classes = EventClasses()
    except MisfitError as misfit:
        outcome.reason = str(misfit)
        return
    except ImportError as error:
        outcome.reason = f"it has no module {error.name}"
        return
    if any(seam.is_put for seam in seams):
        return
    needless = {name for name, _ in left_out}
    stream.configure(
        classes,
        openai_vocabulary=vocabulary.is_openais(switches),
        misfit=withdraw,
    )
    item_reference.configure(on=item_reference.PATCH.name not in needless)
    try:
        for seam in seams:
            seam.put()
            _put.append(seam)
        outcome.left_out = tuple(left_out)
        logger.info(
            "stable_ids %s: vLLM %s patched: %s%s",
            us,
            vllm,
            ", ".join(patch.name for patch in PATCHES if patch.name not in needless),
            "".join(f"; {name} left out: {reason}" for name, reason in left_out),
        )
        outcome.active = True
    except Exception:
        _take_back()
        raise
    metrics.show_mode(us, vllm, "patched")


def join(module: Any) -> None:
    """Patch what lies in a module that vLLM imports later, if anything is patched.

    Args:
        module: The module, as imported.

    Raises:
        Exception: Something of ours went wrong; this module is as it was then.
    """
    needless = {name for name, _ in outcome.left_out}
    for patch in PATCHES:
        function = patch.function
        if function is None or function.owner != module.__name__ or patch.name in needless:
            continue
        if not outcome.active:
            return
        try:
            seam = Seam(module, function)
        except MisfitError as misfit:
            reason = f"not as known, {misfit}"
            outcome.left_out += ((patch.name, reason),)
            logger.info("stable_ids: %s is left out after all: %s", patch.name, reason)
            continue
        if not seam.is_put:
            seam.put()
            _put.append(seam)


def withdraw(reason: str) -> None:
    """Take every patch back: what a stream is made of is not as this plugin knows it.

    Args:
        reason: In what, in a clause about this vLLM.
    """
    if not outcome.active:
        return
    _take_back()
    outcome.reason = reason
    metrics.show_mode(own_version(), vllm_version(), "not_patched")
    logger.warning(
        "stable_ids: vLLM %s is no longer patched, its own ids are in force: %s; "
        "look for a newer vllm-stable-ids",
        vllm_version(),
        reason,
    )


def _take_back() -> None:
    outcome.active = False
    while _put:
        _put.pop().take_back()


def _fit(module: Any, switches: settings.Settings) -> tuple[list[Seam], list[tuple[str, str]]]:
    """The seams to wrap, and why other patches are left out."""
    seams: list[Seam] = []
    left_out: list[tuple[str, str]] = []
    for patch in PATCHES:
        reason = patch.not_needed(module, switches)
        if reason is None and patch.method is not None:
            try:
                seams.append(Seam.find(module, patch.method))
            except MisfitError as misfit:
                if patch.method.required:
                    raise
                reason = f"not as known, {misfit}"
        if reason is not None:
            left_out.append((patch.name, reason))
    return seams, left_out


def vllm_version() -> str:
    """What vLLM calls itself; whichever distribution it came in."""
    version: str = getattr(importlib.import_module("vllm"), "__version__", "of unknown version")
    return version


def own_version() -> str:
    """The plugin's version."""
    try:
        return importlib.metadata.version("vllm-stable-ids")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"
