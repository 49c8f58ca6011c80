"""A place in vLLM where a patch goes in, and a patch's entry in the register."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import wrapt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from vllm_stable_ids.settings import Settings


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


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a wrapped method.

    Attributes:
        instance: The object whose method is called; `None` for a function.
        arguments: Its arguments by name.
        proceed: Does what the method does without us; with other arguments where it is given
            any, by name.
    """

    instance: Any
    arguments: Mapping[str, Any] = field(repr=False)
    proceed: Callable[..., Any] = field(repr=False)


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
        signature, wrapper = self._signature, self._method.wrapper
        bind = _binder(signature)

        def call(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
            own = () if instance is None else (instance,)
            try:
                arguments = bind(own + args, kwargs)
            except TypeError:
                # Called otherwise than declared, vLLM shall complain.
                return wrapped(*args, **kwargs)

            def proceed(**instead: Any) -> Any:
                if not instead:
                    return wrapped(*args, **kwargs)
                bound = inspect.BoundArguments(signature, OrderedDict(arguments | instead))
                return wrapped(*bound.args[len(own) :], **bound.kwargs)

            return wrapper(Call(instance, arguments, proceed))

        setattr(self._owner, self._method.name, _Wrapped(self._original, call))

    def take_back(self) -> None:
        """Restore vLLM's own method."""
        setattr(self._owner, self._method.name, self._original)


def _binder(signature: inspect.Signature) -> Callable[[tuple[Any, ...], Any], dict[str, Any]]:
    """What binds the arguments of a call to the parameters of `signature`.

    `Signature.bind` takes longer than all else that is done when a stream begins, so a call is
    bound by name and place here where that is all there is to it.
    """
    parameters = signature.parameters.values()
    names = tuple(signature.parameters)
    known = frozenset(names)
    required = frozenset(each.name for each in parameters if each.default is each.empty)
    is_plain = all(each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters)

    def bind(args: tuple[Any, ...], kwargs: Any) -> dict[str, Any]:
        arguments = dict(zip(names, args, strict=False))
        arguments.update(kwargs)
        fits = len(arguments) == len(args) + len(kwargs) and known >= arguments.keys() >= required
        if is_plain and fits:
            return arguments
        return dict(signature.bind(*args, **kwargs).arguments)

    return bind


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
