"""The entry point that vLLM calls in each of its processes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVING_MODULE = "vllm.entrypoints.openai.responses.serving"
"""Where vLLM 0.15 and later make the events of a Responses stream."""

ROUTER_MODULE = "vllm.entrypoints.openai.responses.api_router"
"""Where vLLM writes those events; it imports the serving module while it is imported itself."""

APP_MODULES = (
    "vllm.entrypoints.openai.api_server",  # up to 0.28
    "vllm.entrypoints.launchers.app",
    "vllm.entrypoints.launchers.api_server.entry",  # has it from there, by name
)
"""Where vLLM's `build_app` is called, or may be imported from."""

COMMAND_MODULE = "vllm.entrypoints.cli.serve"
"""What `vllm serve` imports in its first process, before it loads plugins."""

NOT_PATCHED = "not patched, vLLM's own ids are in force"
UNENCODED = "all events are written by vLLM"
UNGUARDED = "nothing takes over where vLLM cannot be patched"

_registered = False


def register() -> None:
    """Have the Responses API patched as soon as vLLM imports it.

    Called by vLLM for the entry point `stable_ids` of the group `vllm.general_plugins`, in the
    API server, the engine core and every worker. It only leaves hooks: a process that never
    serves HTTP pays for nothing else. It never raises, since vLLM dies of a plugin that does.
    """
    global _registered  # noqa: PLW0603 - once per process, and vLLM may call more than once
    if _registered:
        return
    with _surviving(NOT_PATCHED):
        import wrapt  # noqa: PLC0415 - an import that fails must not stop vLLM

        wrapt.register_post_import_hook(_patch, SERVING_MODULE)
        wrapt.register_post_import_hook(_patch_router, ROUTER_MODULE)
        for module in APP_MODULES:
            wrapt.register_post_import_hook(_guard, module)
        wrapt.register_post_import_hook(_guard_command, COMMAND_MODULE)
        _registered = True


def _patch(module: object) -> None:
    with _surviving(NOT_PATCHED):
        from vllm_stable_ids import fallback  # noqa: PLC0415 - only the API server gets here

        # A fault of ours is no vLLM that does not fit: after one, nothing of ours shall act.
        fallback.settle(None)
        from vllm_stable_ids import patches  # noqa: PLC0415 - may fail, see above

        patches.apply(module)
        fallback.settle(patches.outcome.reason)


def _patch_router(module: object) -> None:
    with _surviving(UNENCODED):
        from vllm_stable_ids import patches  # noqa: PLC0415 - only the API server gets here

        patches.join(module)


def _guard(module: object) -> None:
    with _surviving(UNGUARDED):
        from vllm_stable_ids import fallback  # noqa: PLC0415 - only the API server gets here

        fallback.guard(module)


def _guard_command(module: object) -> None:
    with _surviving(UNGUARDED):
        from vllm_stable_ids import fallback  # noqa: PLC0415 - only `vllm serve` gets here

        fallback.guard_command(module)


@contextlib.contextmanager
def _surviving(what: str) -> Iterator[None]:
    """Turn any exception into a warning: whatever it is, vLLM goes on without us."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - see above
        with contextlib.suppress(Exception):
            from vllm_stable_ids.log import fail_open  # noqa: PLC0415 - part of what may fail

            fail_open(f"stable_ids: {what}", error)
