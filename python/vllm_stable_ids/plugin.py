"""The entry point that vLLM calls in each of its processes."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from vllm_stable_ids.vllm_names import APP_MODULES, COMMAND_MODULE, ROUTER_MODULE, SERVING_MODULE

if TYPE_CHECKING:
    from collections.abc import Iterator

NOT_PATCHED = "not patched, vLLM's own ids are in force"
NOT_ENCODED = "all events are written by vLLM"
NO_FALLBACK = "nothing takes over where vLLM cannot be patched"

_registered = False


def register() -> None:
    """Have the Responses API patched as soon as vLLM imports it.

    Called by vLLM for the entry point `stable_ids` of the group `vllm.general_plugins`, in the
    API server, the engine core and every worker. It only registers import hooks: a process that
    never serves HTTP pays for nothing else. It never raises, since vLLM dies of a plugin that
    does.
    """
    global _registered  # noqa: PLW0603 - once per process, and vLLM may call more than once
    if _registered:
        return
    with _never_raising(NOT_PATCHED):
        import wrapt  # noqa: PLC0415 - an import that fails must not stop vLLM

        wrapt.register_post_import_hook(_install, SERVING_MODULE)
        wrapt.register_post_import_hook(_install_late, ROUTER_MODULE)
        for module in APP_MODULES:
            wrapt.register_post_import_hook(_wrap_build_app, module)
        wrapt.register_post_import_hook(_check_command, COMMAND_MODULE)
        _registered = True


def _install(module: object) -> None:
    with _never_raising(NOT_PATCHED):
        from vllm_stable_ids.fallback import FALLBACK  # noqa: PLC0415 - only the API server does

        # A fault of this plugin's does not make vLLM incompatible: after one, nothing takes over.
        FALLBACK.record(None)
        from vllm_stable_ids.patches import INSTALLER  # noqa: PLC0415 - may fail, see above

        INSTALLER.install(module)
        FALLBACK.record(INSTALLER.reason)


def _install_late(module: object) -> None:
    with _never_raising(NOT_ENCODED):
        from vllm_stable_ids.patches import INSTALLER  # noqa: PLC0415 - only the API server does

        INSTALLER.install_late(module)


def _wrap_build_app(module: object) -> None:
    with _never_raising(NO_FALLBACK):
        from vllm_stable_ids.fallback import FALLBACK  # noqa: PLC0415 - only the API server does

        FALLBACK.wrap_build_app(module)


def _check_command(module: object) -> None:
    with _never_raising(NO_FALLBACK):
        from vllm_stable_ids.fallback import FALLBACK  # noqa: PLC0415 - only `vllm serve` does

        FALLBACK.check_command(module)


@contextlib.contextmanager
def _never_raising(what: str) -> Iterator[None]:
    """Turn any exception into a warning: whatever it is, vLLM goes on without us."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - see above
        with contextlib.suppress(Exception):
            from vllm_stable_ids.log import fail_open  # noqa: PLC0415 - part of what may fail

            fail_open(f"stable_ids: {what}", error)
