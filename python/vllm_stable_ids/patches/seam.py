"""A place in vLLM where a patch goes in, and the patch's entry in the register."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import wrapt

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Patch:
    """One thing changed in vLLM.

    Attributes:
        target: The method that is wrapped.
        why: What goes wrong without it.
        upstream: The issues and pull requests of vLLM that are about it.
        versions: The versions of vLLM whose method is known to be as expected.
        delete_when: What must have happened upstream before the patch can go.
        wrapper: Called in place of the method, as `wrapt` calls wrappers, with the position
            of the parameter `context` in front.
    """

    target: str
    why: str
    upstream: tuple[str, ...]
    versions: str
    delete_when: str
    wrapper: Callable[..., Any]


class _Wrapped(wrapt.FunctionWrapper[..., Any]):
    """A method of vLLM's as this plugin wraps it."""


class Seam:
    """A method of vLLM's that fits a patch."""

    def __init__(self, owner: Any, patch: Patch, context: int) -> None:
        """Remember where `patch` goes.

        Args:
            owner: The class that defines the method.
            patch: What goes in.
            context: The position of the parameter `context`, `self` not counted.
        """
        self._owner = owner
        self._patch = patch
        self._context = context
        self._original = vars(owner)[patch.target]

    @classmethod
    def find(cls, owner: Any, patch: Patch) -> Seam | None:
        """The seam for `patch` in `owner`, or `None` where it is not as expected."""
        method = vars(owner).get(patch.target) if isinstance(owner, type) else None
        if not callable(method):
            return None
        parameters = list(inspect.signature(method).parameters)
        if "context" not in parameters:
            return None
        return cls(owner, patch, parameters.index("context") - 1)

    @property
    def is_put(self) -> bool:
        """Whether the method is wrapped already."""
        return isinstance(self._original, _Wrapped)

    def put(self) -> None:
        """Wrap the method."""
        position = self._context
        wrapper = self._patch.wrapper

        def call(wrapped: Any, _instance: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
            # Called otherwise than declared, vLLM shall complain, not this wrapper.
            context = args[position] if position < len(args) else kwargs.get("context")
            return wrapper(context, wrapped, args, kwargs)

        setattr(self._owner, self._patch.target, _Wrapped(self._original, call))

    def take_back(self) -> None:
        """Restore vLLM's own method."""
        setattr(self._owner, self._patch.target, self._original)
