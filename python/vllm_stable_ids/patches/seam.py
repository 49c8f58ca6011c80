"""A place in vLLM where a patch goes in, and a patch's entry in the register."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import wrapt

if TYPE_CHECKING:
    from collections.abc import Callable

    from vllm_stable_ids.settings import Settings


BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True)
class Patch:
    """One thing that is different with this plugin, as the documents and the start-up line say.

    Attributes:
        name: What it is called there.
        what: What the plugin does about it, in one sentence.
        why: What goes wrong without it.
        upstream: The issues and pull requests of vLLM that are about it.
        versions: The versions of vLLM that need it.
        delete_when: What must have happened upstream before the patch can go.
        not_needed: Why this vLLM, set up like this, does without the patch; `None` where it
            does not. Called with vLLM's serving module and the plugin's settings.
        method: What is wrapped; `None` for what is done while another patch's method runs.
        function: What is wrapped in a module that vLLM imports later than the serving module.
    """

    name: str
    what: str
    why: str
    upstream: tuple[str, ...]
    versions: str
    delete_when: str
    not_needed: Callable[[Any, Settings], str | None]
    method: Method | None = None
    function: Method | None = None


@dataclass(frozen=True)
class Method:
    """A method or a function of vLLM's that is wrapped.

    Attributes:
        owner: The class, as the serving module names it; of a function, the module.
        name: The method.
        parameters: Those that the wrapper reads.
        fits: Whether a function is of the kind expected, such as an asynchronous generator.
        wrapper: Called in the method's place.
        required: Whether nothing at all is patched where the method does not fit.
        or_name: The method to take where there is none of that name.
        proof: Called with what is there; raises `MisfitError` where it does not do what the
            wrapper counts on.
    """

    owner: str
    name: str
    parameters: tuple[str, ...]
    fits: Callable[[Any], bool]
    wrapper: Callable[[Call], Any]
    required: bool = False
    or_name: str | None = None
    proof: Callable[[Any], None] | None = None


class Arguments(Protocol):
    """The arguments of a call, by name."""

    def __getitem__(self, name: str, /) -> Any:
        """One of them.

        Raises:
            LookupError: The call has none of that name.
        """


class Call:
    """A call of a wrapped method.

    Attributes:
        instance: The object whose method is called; `None` for a function.
        arguments: Its arguments by name.
        proceed: Does what the method does without us; with other arguments where it is given
            any, by name.
    """

    __slots__ = ("arguments", "instance", "proceed")

    def __init__(self, instance: Any, arguments: Arguments, proceed: Callable[..., Any]) -> None:
        """Take what there is to know of it."""
        self.instance = instance
        self.arguments = arguments
        self.proceed = proceed


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


class MisfitError(Exception):
    """A method of vLLM's is not as this plugin knows it; the message says in what."""


class _Wrapped(wrapt.FunctionWrapper[..., Any]):
    """A method of vLLM's as this plugin wraps it."""


class Seam:
    """A method or a function of vLLM's that fits a patch."""

    def __init__(self, owner: Any, method: Method) -> None:
        """Look at the method.

        Args:
            owner: The class or the module that has it.
            method: What is expected of it.

        Raises:
            MisfitError: It is not as expected.
        """
        if method.or_name is not None and method.name not in vars(owner):
            method = replace(method, name=method.or_name)
        name = f"{method.owner}.{method.name}"
        original = vars(owner).get(method.name)
        # What another plugin has put around it may be of any kind.
        inner = inspect.unwrap(original) if callable(original) else None
        if inner is None:
            raise MisfitError(f"it has no {name}")
        if not method.fits(inner):
            raise MisfitError(f"its {name} is of another kind than up to vLLM 0.33")
        self._signature = inspect.signature(inner)
        for parameter in method.parameters:
            if parameter not in self._signature.parameters:
                raise MisfitError(f"its {name} has no parameter {parameter!r}")
        if method.proof is not None and not isinstance(original, _Wrapped):
            _compare(name, method.proof, original)
        self._owner = owner
        self._method = method
        self._original: Any = original

    @classmethod
    def find(cls, module: Any, method: Method) -> Seam:
        """The seam for a patch's method.

        Args:
            module: vLLM's serving module, which has the classes.
            method: What is expected.

        Raises:
            MisfitError: It is not there as expected.
        """
        owner = getattr(module, method.owner, None)
        if not isinstance(owner, type):
            raise MisfitError(f"its module {module.__name__} has no class {method.owner}")
        return cls(owner, method)

    @property
    def is_put(self) -> bool:
        """Whether the method is wrapped already."""
        return isinstance(self._original, _Wrapped)

    def put(self) -> None:
        """Wrap the method."""
        wrapper = self._method.wrapper
        fits, names = _checks(self._signature, own=isinstance(self._owner, type))

        def call(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
            if not fits(args, kwargs):
                # Called otherwise than declared, vLLM shall complain.
                return wrapped(*args, **kwargs)
            given = (names, args, kwargs)
            return wrapper(Call(instance, _Given(*given), partial(_proceed, wrapped, *given)))

        setattr(self._owner, self._method.name, _Wrapped(self._original, call))

    def take_back(self) -> None:
        """Restore vLLM's own method."""
        setattr(self._owner, self._method.name, self._original)


def _checks(
    signature: inspect.Signature, *, own: bool
) -> tuple[Callable[[tuple[Any, ...], Any], bool], tuple[str, ...]]:
    """What tells whether a call fits `signature`, and the names of what can be given by place.

    `Signature.bind` takes longer than all else that is done when a stream begins, so it is asked
    where names and number alone do not tell.

    Args:
        signature: The signature.
        own: Whether its first parameter is not among the arguments: `self`, for a method.
    """
    parameters = list(signature.parameters.values())[own:]
    known = frozenset(each.name for each in parameters)
    required = frozenset(each.name for each in parameters if each.default is each.empty)
    is_plain = all(each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters)
    counts = range(len(required), len(known) + 1) if is_plain else range(0)
    names = tuple(each.name for each in parameters if each.kind in BY_PLACE)
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


def _compare(name: str, proof: Callable[[Any], None], original: Any) -> None:
    """Compare what is there with what a wrapper counts on.

    Raises:
        MisfitError: It does something else, an exception included.
    """
    try:
        proof(original)
    except MisfitError:
        raise
    except Exception as error:
        raise MisfitError(f"its {name} fails where known ones do not") from error
