"""The entry point that vLLM calls in each of its processes."""

from __future__ import annotations

import contextlib

SERVING_MODULE = "vllm.entrypoints.openai.responses.serving"
"""Where vLLM 0.15 and later make the events of a Responses stream."""

_registered = False


def register() -> None:
    """Have the Responses API patched as soon as vLLM imports it.

    Called by vLLM for the entry point `stable_ids` of the group `vllm.general_plugins`, in the
    API server, the engine core and every worker. It only leaves a hook: a process that never
    serves HTTP pays for nothing else. It never raises, since vLLM dies of a plugin that does.
    """
    global _registered  # noqa: PLW0603 - once per process, and vLLM may call more than once
    if _registered:
        return
    try:
        import wrapt  # noqa: PLC0415 - an import that fails must not stop vLLM

        wrapt.register_post_import_hook(_patch, SERVING_MODULE)
        _registered = True
    except Exception as error:  # noqa: BLE001 - whatever it is, vLLM goes on without us
        _give_up(error)


def _patch(module: object) -> None:
    try:
        from vllm_stable_ids import patches  # noqa: PLC0415 - only the API server gets here

        patches.apply(module)
    except Exception as error:  # noqa: BLE001 - whatever it is, vLLM goes on without us
        _give_up(error)


def _give_up(error: Exception) -> None:
    with contextlib.suppress(Exception):
        from vllm_stable_ids.log import fail_open  # noqa: PLC0415 - part of what may fail

        fail_open("stable_ids: not patched, vLLM's own ids are in force", error)
