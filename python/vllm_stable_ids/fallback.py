"""What is done where vLLM's generators cannot be patched.

`StableIdsMiddleware` is added to the application of the API server, and one warning says so. It
is added by a wrapper of `build_app`, which is the last to touch the application before it serves,
and in whose course vLLM 0.15 to 0.33 imports the module that is patched.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import wrapt

from vllm_stable_ids.log import fail_open, logger
from vllm_stable_ids.plugin import APP_MODULES, SERVING_MODULE

BUILD_APP = "build_app"
RUST_FRONTEND = "RustFrontendProcessManager"

OWN_IDS = "vLLM's own ids are in force"
WIRE = "the wire rewriter is in force in the API server, and stored responses keep vLLM's ids"

_ABSENT = f"it has no module {SERVING_MODULE}"


class _Wrapped(wrapt.FunctionWrapper[..., Any]):
    """A function of vLLM's as this module wraps it."""


class _State:
    """What is known in this process.

    Attributes:
        reason: Why the generators are not patched; `None`: they are, or shall not be.
        building: Whether `build_app` is running, which will say what comes of it.
        warned: Whether the warning was logged.
    """

    reason: str | None = _ABSENT
    building = False
    warned = False


_state = _State()


def settle(reason: str | None) -> None:
    """Take note of what became of the patches once vLLM's serving module is there.

    Args:
        reason: As in `_State`.
    """
    _state.reason = reason
    if reason is not None and not _state.building:
        _say(OWN_IDS)


def guard(module: Any) -> None:
    """Have the application completed that the module's `build_app` makes."""
    build_app = getattr(module, BUILD_APP, None)
    # A module that has the function by name may have got the wrapper.
    if callable(build_app) and not isinstance(build_app, _Wrapped):
        setattr(module, BUILD_APP, _Wrapped(build_app, _build))


def guard_command(module: Any) -> None:
    """Warn of what no hook can mend: a Rust frontend, or a vLLM where nothing is as known."""
    frontend = getattr(module, RUST_FRONTEND, None)
    if callable(frontend) and not isinstance(frontend, _Wrapped):
        setattr(module, RUST_FRONTEND, _Wrapped(frontend, _start_frontend))
    guarded = any(hasattr(sys.modules.get(name), BUILD_APP) for name in APP_MODULES)
    if not guarded and not _can_import(SERVING_MODULE) and _is_enabled():
        _say(OWN_IDS)


def _build(wrapped: Any, _instance: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    _state.building = True
    try:
        app = wrapped(*args, **kwargs)
    finally:
        _state.building = False
    try:
        _complete(app)
    except Exception as error:  # noqa: BLE001 - the server must start
        fail_open(f"stable_ids: the wire rewriter is not in place, {OWN_IDS}", error)
    return app


def _complete(app: Any) -> None:
    if _state.reason is None or not _is_enabled():
        return
    # An application without a Responses API, such as that of an embedding model, does not import
    # the serving module either.
    if _state.reason is _ABSENT and not _serves_responses(app):
        return
    if not hasattr(app, "add_middleware"):
        _say(OWN_IDS)
        return
    from vllm_stable_ids.asgi import StableIdsMiddleware  # noqa: PLC0415 - seldom needed

    there = [getattr(entry, "cls", None) for entry in getattr(app, "user_middleware", ())]
    if StableIdsMiddleware not in there:
        # vLLM's last step has put the middlewares together already; none can be added then.
        if (stack := getattr(app, "middleware_stack", None)) is not None:
            app.middleware_stack = StableIdsMiddleware(stack)
        else:
            app.add_middleware(StableIdsMiddleware)
    _say(WIRE)


def _serves_responses(app: Any) -> bool:
    """Whether an application has a route for streams, or does not show its routes."""
    scope = {"type": "http", "method": "POST", "path": "/v1/responses", "headers": []}
    routes = getattr(app, "routes", None)
    return routes is None or any(route.matches(scope)[0].value for route in routes)


def _start_frontend(wrapped: Any, _instance: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    try:
        if _is_enabled():
            logger.warning(
                "stable_ids: vLLM %s serves HTTP by its Rust frontend, which no plugin reaches; "
                "%s; put `vllm-stable-ids proxy` in front of it",
                _vllm_version(),
                OWN_IDS,
            )
    except Exception as error:  # noqa: BLE001 - the server must start
        fail_open("stable_ids: the Rust frontend is in use", error)
    return wrapped(*args, **kwargs)


def _say(in_force: str) -> None:
    """Log the one warning; what is found out after it is no second one."""
    from vllm_stable_ids import metrics, patches  # noqa: PLC0415 - engine and workers do without

    mode: metrics.Mode = "wire" if in_force == WIRE else "not_patched"
    metrics.show_mode(patches.own_version(), patches.vllm_version(), mode)
    if _state.warned:
        logger.info("stable_ids: %s", in_force)
        return
    _state.warned = True
    logger.warning(
        "stable_ids: vLLM %s is not patched, %s; %s; look for a newer vllm-stable-ids",
        _vllm_version(),
        _state.reason,
        in_force,
    )


def _is_enabled() -> bool:
    from vllm_stable_ids import settings  # noqa: PLC0415 - engine and workers do without

    return settings.load()[0].enabled


def _vllm_version() -> str:
    from vllm_stable_ids import patches  # noqa: PLC0415 - engine and workers do without

    return patches.vllm_version()


def _can_import(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package
        return False
