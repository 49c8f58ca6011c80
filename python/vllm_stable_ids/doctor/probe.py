"""Looks at a real vLLM: does what its API server does at its start, short of the server.

It is run in a process of its own, since importing vLLM takes long, imports torch and may end a
process in ways that nobody can catch. Its last line is what it found, as JSON.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.plugin import ROUTER_MODULE, SERVING_MODULE

if TYPE_CHECKING:
    from vllm_stable_ids.patches.seam import Patch
    from vllm_stable_ids.settings import Settings

MARK = "@@vllm-stable-ids "
OURS = "vllm_stable_ids"


def main() -> None:
    """Print what was found."""
    try:
        found = probe()
    except Exception as error:  # noqa: BLE001 - that is what was found then
        # The message is vLLM's or Python's about an import, and quotes nobody.
        found = {"error": f"{type(error).__name__}: {error}"}
    print(f"\n{MARK}{json.dumps(found)}", flush=True)  # noqa: T201 - it is what is asked for


def probe() -> dict[str, Any]:
    """Load the plugins as vLLM does, import what is patched, and see what came of it."""
    importlib.import_module("vllm.plugins").load_general_plugins()
    module = importlib.import_module(SERVING_MODULE)
    with contextlib.suppress(ImportError):  # what is patched there says so if it is left out
        importlib.import_module(ROUTER_MODULE)
    from vllm_stable_ids import patches, settings  # noqa: PLC0415 - not before vLLM is there

    outcome = patches.outcome
    switches, _ = settings.load()
    left_out = dict(outcome.left_out)
    return {
        "enabled": outcome.enabled,
        "active": outcome.active,
        "reason": outcome.reason,
        "patches": [
            {
                "name": patch.name,
                "does": patch.what,
                "needed_by": patch.versions,
                "upstream": list(patch.upstream),
                "left_out": left_out.get(patch.name)
                if outcome.active
                else _why_not(module, patch, switches),
            }
            for patch in patches.PATCHES
        ],
        "wrappers": _wrappers(module, patches.PATCHES),
    }


def _why_not(module: Any, patch: Patch, switches: Settings) -> str | None:
    """Why a patch would be left out if the plugin acted."""
    from vllm_stable_ids.patches.seam import MisfitError, Seam  # noqa: PLC0415 - see above

    reason = patch.not_needed(module, switches)
    if reason is None and patch.method is not None:
        try:
            Seam.find(module, patch.method)
        except MisfitError as misfit:
            return f"not as known, {misfit}"
    return reason


def _wrappers(module: Any, patches: tuple[Patch, ...]) -> list[dict[str, str]]:
    """What others have put around the methods that this plugin wraps."""
    found = []
    for patch in patches:
        method = patch.method
        owner = None if method is None else getattr(module, method.owner, None)
        if method is None or owner is None:
            continue
        layer = inspect.getattr_static(owner, method.name, None)
        seen = set()
        while layer is not None and id(layer) not in seen:
            seen.add(id(layer))
            by = _module_of(layer)
            if by.partition(".")[0] not in {"vllm", OURS}:
                found.append({"method": f"{method.owner}.{method.name}", "by": by})
            # Of a wrapper the next layer; an attribute of its own, not one passed on.
            layer = getattr(layer, "__wrapped__", None)
    return found


def _module_of(layer: Any) -> str:
    """The module whose code a layer runs; a wrapper has the name of what it wraps."""
    wrapper = getattr(layer, "_self_wrapper", None)
    if type(layer).__module__.startswith(OURS):
        return OURS
    code = wrapper if wrapper is not None else layer
    names = getattr(code, "__globals__", None)
    return str(names["__name__"] if names else type(code).__module__)
