"""The wire rewriter takes over in the API server where vLLM cannot be patched.

`StableIdsMiddleware` is added to the application, and one warning says so. It is added by a wrapper
of `build_app`: the last function that changes the application before it serves, and the one during
which every vLLM tested imports the module that is patched.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import wrapt

from vllm_stable_ids.log import fail_open, logger
from vllm_stable_ids.versions import own_version, vllm_version
from vllm_stable_ids.vllm_names import (
    APP_MODULES,
    BUILD_APP,
    RUST_FRONTEND_CLASS,
    SERVING_MODULE,
)

OWN_IDS = "vLLM's own ids are in force"
WIRE = "the wire rewriter is in force in the API server, and stored responses keep vLLM's ids"

NO_SERVING_MODULE = f"it has no module {SERVING_MODULE}"


class _Wrapped(wrapt.FunctionWrapper[..., Any]):
    """A function of vLLM's as this module wraps it."""


class Fallback:
    """Adds the middleware where it is needed, and logs the one warning."""

    def __init__(self) -> None:
        """Start before vLLM's serving module is imported."""
        self._reason: str | None = NO_SERVING_MODULE
        self._is_building = False
        self._has_warned = False

    def record(self, reason: str | None) -> None:
        """Record what became of the patches when vLLM imported its serving module.

        Args:
            reason: Why vLLM is not patched, in a clause about it; `None` where it is, or must
                not be.
        """
        self._reason = reason
        if reason is not None and not self._is_building:
            self._warn(OWN_IDS)

    def wrap_build_app(self, module: Any) -> None:
        """Wrap the `build_app` of a module, so that the middleware can be added."""
        build_app = getattr(module, BUILD_APP, None)
        # A module that imports the function by name may have got the wrapper.
        if callable(build_app) and not isinstance(build_app, _Wrapped):
            setattr(module, BUILD_APP, _Wrapped(build_app, self._build))

    def check_command(self, module: Any) -> None:
        """Warn where no hook helps: of a Rust frontend, and of a vLLM with other modules.

        Args:
            module: The module of `vllm serve`.
        """
        frontend = getattr(module, RUST_FRONTEND_CLASS, None)
        if callable(frontend) and not isinstance(frontend, _Wrapped):
            setattr(module, RUST_FRONTEND_CLASS, _Wrapped(frontend, _start_frontend))
        is_known = any(hasattr(sys.modules.get(name), BUILD_APP) for name in APP_MODULES)
        if not is_known and not _can_import(SERVING_MODULE) and _is_enabled():
            self._warn(OWN_IDS)

    def _build(self, wrapped: Any, _instance: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        self._is_building = True
        try:
            app = wrapped(*args, **kwargs)
        finally:
            self._is_building = False
        try:
            self._complete(app)
        except Exception as error:  # noqa: BLE001 - the server must start
            fail_open(f"stable_ids: the wire rewriter is not in place, {OWN_IDS}", error)
        return app

    def _complete(self, app: Any) -> None:
        if self._reason is None or not _is_enabled():
            return
        # An application without a Responses API, such as that of an embedding model, does not
        # import the serving module either.
        if self._reason == NO_SERVING_MODULE and not _serves_responses(app):
            return
        if not hasattr(app, "add_middleware"):
            self._warn(OWN_IDS)
            return
        from vllm_stable_ids.asgi import StableIdsMiddleware  # noqa: PLC0415 - seldom needed

        added = [getattr(entry, "cls", None) for entry in getattr(app, "user_middleware", ())]
        if StableIdsMiddleware not in added:
            # vLLM's last step has built the middleware stack already; none can be added then.
            if (stack := getattr(app, "middleware_stack", None)) is not None:
                app.middleware_stack = StableIdsMiddleware(stack)
            else:
                app.add_middleware(StableIdsMiddleware)
        self._warn(WIRE)

    def _warn(self, in_force: str) -> None:
        """Log the one warning; what is found out after it is logged as information."""
        from vllm_stable_ids import metrics  # noqa: PLC0415 - engine and workers do without

        mode: metrics.Mode = "wire" if in_force == WIRE else "not_patched"
        metrics.show_mode(own_version(), vllm_version(), mode)
        if self._has_warned:
            logger.info("stable_ids: %s", in_force)
            return
        self._has_warned = True
        logger.warning(
            "stable_ids: vLLM %s is not patched, %s; %s; look for a newer vllm-stable-ids",
            vllm_version(),
            self._reason,
            in_force,
        )


FALLBACK = Fallback()
"""What this process has."""


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
                vllm_version(),
                OWN_IDS,
            )
    except Exception as error:  # noqa: BLE001 - the server must start
        fail_open("stable_ids: the Rust frontend is in use", error)
    return wrapped(*args, **kwargs)


def _is_enabled() -> bool:
    from vllm_stable_ids import settings  # noqa: PLC0415 - engine and workers do without

    return settings.load()[0].enabled


def _can_import(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package
        return False
