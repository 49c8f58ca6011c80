"""A method or a function of the running vLLM that fits a patch, and can be wrapped."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import wrapt

from vllm_stable_ids.patches.call import for_wrapt
from vllm_stable_ids.patches.patch import IncompatibleError
from vllm_stable_ids.versions import NEWEST_TESTED_VLLM

if TYPE_CHECKING:
    from vllm_stable_ids.patches.patch import HookSpec, Setup


class _Wrapped(wrapt.FunctionWrapper[..., Any]):
    """A function of vLLM's as this plugin wraps it."""


class Hook:
    """A function of the running vLLM, with the wrapper that replaces it while it is installed."""

    def __init__(self, module: Any, spec: HookSpec, setup: Setup) -> None:
        """Find the function and make its wrapper.

        Args:
            module: The module that the specification names, as imported.
            spec: What to find, and what is expected of it.
            setup: What wrappers share.

        Raises:
            IncompatibleError: It is not there, or not as expected.
        """
        self._owner = _owner(module, spec)
        if spec.old_name is not None and spec.name not in vars(self._owner):
            spec = replace(spec, name=spec.old_name)
        self._name = spec.name
        self._original: Any = vars(self._owner).get(self._name)
        # Another plugin's wrapper may be of any kind, and take any arguments.
        inner = inspect.unwrap(self._original) if callable(self._original) else None
        if inner is None:
            raise IncompatibleError(f"it has no {spec.path}")
        if not spec.kind(inner):
            tested = f"tested up to vLLM {NEWEST_TESTED_VLLM}"
            raise IncompatibleError(f"its {spec.path} has an unexpected signature ({tested})")
        signature = inspect.signature(inner)
        for parameter in spec.parameters:
            if parameter not in signature.parameters:
                raise IncompatibleError(f"its {spec.path} has no parameter {parameter!r}")
        if not self.is_installed:
            wrapper = spec.make_wrapper(setup, self._original)
            self._wrapper = for_wrapt(wrapper, signature, is_method=spec.owner is not None)

    @property
    def is_installed(self) -> bool:
        """Whether the function was wrapped already when it was found."""
        return isinstance(self._original, _Wrapped)

    def install(self) -> None:
        """Wrap the function."""
        setattr(self._owner, self._name, _Wrapped(self._original, self._wrapper))

    def uninstall(self) -> None:
        """Restore vLLM's own function."""
        setattr(self._owner, self._name, self._original)


def _owner(module: Any, spec: HookSpec) -> Any:
    """The class or the module that has the function."""
    if spec.owner is None:
        return module
    owner = getattr(module, spec.owner, None)
    if not isinstance(owner, type):
        raise IncompatibleError(f"its module {module.__name__} has no class {spec.owner}")
    return owner
