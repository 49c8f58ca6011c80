"""A call of a wrapped method: its arguments by name, and the method itself."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Arguments(Protocol):
    """The arguments of a call, by name."""

    def __getitem__(self, name: str, /) -> Any:
        """One argument.

        Raises:
            LookupError: The call has none of that name.
        """


class Call:
    """A call of a wrapped method.

    Attributes:
        instance: The object whose method is called; `None` for a function.
        arguments: Its arguments by name.
        proceed: Calls vLLM's own method; keyword arguments replace arguments of the call.
    """

    __slots__ = ("arguments", "instance", "proceed")

    def __init__(self, instance: Any, arguments: Arguments, proceed: Callable[..., Any]) -> None:
        """Make a call."""
        self.instance = instance
        self.arguments = arguments
        self.proceed = proceed


def for_wrapt(
    wrapper: Callable[[Call], Any], signature: inspect.Signature, *, is_method: bool
) -> Callable[[Any, Any, tuple[Any, ...], Any], Any]:
    """A wrapper as wrapt calls it.

    A call that does not fit the signature goes to vLLM's method, which raises what it raises.

    Args:
        wrapper: Called in place of vLLM's method.
        signature: The method's signature.
        is_method: Whether the signature begins with `self`.
    """
    fits, names = _checks(signature, is_method=is_method)

    def call(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
        if not fits(args, kwargs):
            return wrapped(*args, **kwargs)
        given = (names, args, kwargs)
        return wrapper(Call(instance, _Given(*given), partial(_proceed, wrapped, *given)))

    return call


class _Given:
    """The arguments of a call as they were given; a wrapper reads one or two of them."""

    __slots__ = ("_args", "_kwargs", "_names")

    def __init__(self, names: tuple[str, ...], args: tuple[Any, ...], kwargs: Any) -> None:
        self._names = names
        self._args = args
        self._kwargs = kwargs

    def __getitem__(self, name: str) -> Any:
        if name in self._names and (place := self._names.index(name)) < len(self._args):
            return self._args[place]
        return self._kwargs[name]


def _proceed(
    wrapped: Any, names: tuple[str, ...], args: tuple[Any, ...], kwargs: Any, /, **instead: Any
) -> Any:
    given = [instead.pop(name, value) for name, value in zip(names, args, strict=False)]
    return wrapped(*given, *args[len(given) :], **kwargs | instead)


def _checks(
    signature: inspect.Signature, *, is_method: bool
) -> tuple[Callable[[tuple[Any, ...], Any], bool], tuple[str, ...]]:
    """A check whether a call fits `signature`, and the names of its positional parameters.

    `Signature.bind` takes longer than all else that is done when a stream begins, so it is used
    only where the names and the number of arguments do not decide.
    """
    parameters = list(signature.parameters.values())[is_method:]
    known = frozenset(each.name for each in parameters)
    required = frozenset(each.name for each in parameters if each.default is each.empty)
    is_plain = all(each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters)
    counts = range(len(required), len(known) + 1) if is_plain else range(0)
    names = tuple(each.name for each in parameters if each.kind in POSITIONAL)
    signature = signature.replace(parameters=parameters)

    def fits(args: tuple[Any, ...], kwargs: Any) -> bool:
        if not kwargs and len(args) in counts:
            return True
        given = kwargs.keys() | names[: len(args)]
        if is_plain and len(given) == len(args) + len(kwargs) and known >= given >= required:
            return True
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            return False
        return True

    return fits, names
