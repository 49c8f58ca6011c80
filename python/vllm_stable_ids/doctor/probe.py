"""Does what vLLM's API server does at its start, short of serving, and reports what was patched.

It runs in a process of its own, since importing vLLM takes long, imports torch and may end a
process in ways that nobody can catch. Its last line is the result, as JSON.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.vllm_names import PACKAGE, PLUGINS_MODULE, ROUTER_MODULE, SERVING_MODULE

if TYPE_CHECKING:
    from vllm_stable_ids.patches.patch import Patch

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
    """Load the plugins as vLLM does, import the modules that are patched, and report."""
    importlib.import_module(PLUGINS_MODULE).load_general_plugins()
    module = importlib.import_module(SERVING_MODULE)
    with contextlib.suppress(ImportError):
        importlib.import_module(ROUTER_MODULE)
    from vllm_stable_ids.patches import INSTALLER, PATCHES  # noqa: PLC0415 - needs openai's classes

    left_out = INSTALLER.left_out if INSTALLER.active else INSTALLER.would_leave_out(module)
    return {
        "enabled": INSTALLER.enabled,
        "active": INSTALLER.active,
        "reason": INSTALLER.reason,
        "patches": [
            {
                "name": patch.name,
                "does": patch.what,
                "needed_by": patch.versions,
                "upstream": list(patch.upstream),
                "left_out": left_out.get(patch.name),
            }
            for patch in PATCHES
        ],
        "wrappers": _wrappers(module, PATCHES),
    }


def _wrappers(module: Any, patches: tuple[Patch, ...]) -> list[dict[str, str]]:
    """The wrappers of other plugins around the methods that this plugin wraps."""
    found = []
    for spec in (spec for patch in patches for spec in patch.hooks):
        owner = None if spec.owner is None else getattr(module, spec.owner, None)
        if owner is None:
            continue
        layer = inspect.getattr_static(owner, spec.name, None)
        seen = set()
        while layer is not None and id(layer) not in seen:
            seen.add(id(layer))
            by = _module_of(layer)
            if by.partition(".")[0] not in {PACKAGE, OURS}:
                found.append({"method": spec.path, "by": by})
            # The next layer, where the wrapper has this attribute itself.
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
