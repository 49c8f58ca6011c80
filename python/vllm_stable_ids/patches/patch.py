"""What a patch declares. Each file of this package that declares one is in `PATCHES`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.versions import NEWEST_TESTED_VLLM
from vllm_stable_ids.vllm_names import SERVING_CLASS, SERVING_MODULE

if TYPE_CHECKING:
    from collections.abc import Callable

    from vllm_stable_ids.events import EventClasses
    from vllm_stable_ids.patches.call import Call
    from vllm_stable_ids.settings import Settings


class IncompatibleError(Exception):
    """This vLLM differs from those tested; the message says how, in a clause about it."""


@dataclass(frozen=True)
class Setup:
    """What the wrappers of one installation share.

    Attributes:
        settings: The plugin's settings.
        classes: The event classes of the running vLLM.
        is_in_force: Whether the patch of a name is in force.
        uninstall: Uninstalls every patch, for a reason given in a clause about this vLLM.
    """

    settings: Settings
    classes: EventClasses
    is_in_force: Callable[[str], bool]
    uninstall: Callable[[str], None]


@dataclass(frozen=True)
class HookSpec:
    """A method or a function of vLLM's that a patch wraps, and what the wrapper relies on.

    Attributes:
        name: The method or the function.
        kind: Whether a function is of the kind expected, such as an asynchronous generator.
        make_wrapper: Makes the wrapper for vLLM's own function. Raises `IncompatibleError` where
            that one does not do what the wrapper relies on.
        parameters: Those that the wrapper reads.
        old_name: The name that earlier versions have.
        module: The module that has the class, or the function. The hook is installed when vLLM
            imports it.
        owner: The class, by its name in the module; `None` for a function.
    """

    name: str
    kind: Callable[[Any], bool]
    make_wrapper: Callable[[Setup, Any], Callable[[Call], Any]]
    parameters: tuple[str, ...] = ()
    old_name: str | None = None
    module: str = SERVING_MODULE
    owner: str | None = SERVING_CLASS

    @property
    def path(self) -> str:
        """What it is called in messages and documents."""
        return f"{self.owner or self.module}.{self.name}"


@dataclass(frozen=True)
class Patch:
    """One thing that this plugin changes in vLLM.

    The start-up line of the log and `docs/patches.md` are made from these fields.

    Attributes:
        name: The name of its file.
        what: What the plugin does about it, in one sentence.
        why: What goes wrong without it.
        upstream: The issues and pull requests of vLLM about it.
        needed_since: The first vLLM that needs it.
        needed_until: The last vLLM that needs it; `None` where every later one tested does.
        delete_when: What must have happened upstream before it can be deleted.
        not_needed: Why this vLLM, with these settings, does without it; `None` where it does
            not. Called with vLLM's serving module.
        hooks: What it wraps; nothing where it acts inside another patch's wrapper.
        is_required: Whether nothing at all is patched where a hook is incompatible.
    """

    name: str
    what: str
    why: str
    upstream: tuple[str, ...]
    needed_since: str
    delete_when: str
    needed_until: str | None = None
    not_needed: Callable[[Any, Settings], str | None] = lambda _serving, _settings: None
    hooks: tuple[HookSpec, ...] = ()
    is_required: bool = False

    @property
    def versions(self) -> str:
        """The versions of vLLM that need it, for people."""
        return f"{self.needed_since} to {self.needed_until or NEWEST_TESTED_VLLM}"
