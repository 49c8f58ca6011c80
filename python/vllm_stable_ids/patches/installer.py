"""Installs the patches in this process's vLLM, and uninstalls them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from vllm_stable_ids import metrics, settings
from vllm_stable_ids.events import EventClasses
from vllm_stable_ids.log import logger
from vllm_stable_ids.patches.hook import Hook
from vllm_stable_ids.patches.patch import IncompatibleError, Patch, Setup
from vllm_stable_ids.versions import own_version, vllm_version

if TYPE_CHECKING:
    from collections.abc import Iterable


class Installer:
    """Installs a register of patches, each one where it is needed and compatible.

    Attributes:
        enabled: Whether the settings let the plugin act.
        active: Whether vLLM's streams are made with it.
        reason: Why they are not although they should be, in a clause about this vLLM.
        left_out: The patches that are not installed, and why.
    """

    def __init__(self, patches: tuple[Patch, ...]) -> None:
        """Take the register; nothing is installed yet."""
        self.enabled = True
        self.active = False
        self.reason: str | None = None
        self.left_out: dict[str, str] = {}
        self._patches = patches
        self._undo = ExitStack()
        self._setup: Setup | None = None

    def install(self, serving: Any) -> None:
        """Patch vLLM's Responses API, and list the patches in one line of the log.

        Where a required patch is incompatible nothing is patched and `reason` says why; the
        caller warns about it.

        Args:
            serving: vLLM's serving module, as imported.

        Raises:
            Exception: A fault of this plugin's; nothing is patched then.
        """
        try:
            self._install(serving)
        except Exception:
            metrics.show_mode(own_version(), vllm_version(), "not_patched")
            raise

    def _install(self, serving: Any) -> None:
        switches, problems = settings.load()
        for problem in problems:
            logger.warning("stable_ids: %s", problem)
        us, vllm = own_version(), vllm_version()
        self.enabled = switches.enabled
        if not switches.enabled:
            metrics.show_mode(us, vllm, "off")
            logger.info("stable_ids %s: vLLM %s not patched (VLLM_STABLE_IDS is off)", us, vllm)
            return
        try:
            setup = self._make_setup(switches)
            hooks, left_out = self._find(serving, setup, strict=True)
        except IncompatibleError as error:
            self.reason = str(error)
            return
        except ImportError as error:
            self.reason = f"it has no module {error.name}"
            return
        if any(hook.is_installed for hook in hooks):
            return
        with _installed(hooks) as undo:
            logger.info(
                "stable_ids %s: vLLM %s patched: %s%s",
                us,
                vllm,
                ", ".join(patch.name for patch in self._patches if patch.name not in left_out),
                "".join(f"; {name} left out: {reason}" for name, reason in left_out.items()),
            )
            self._undo = undo.pop_all()
        self._setup, self.left_out, self.active = setup, left_out, True
        metrics.show_mode(us, vllm, "patched")

    def install_late(self, module: Any) -> None:
        """Install the hooks in a module that vLLM imports after the serving module.

        Nothing is done where the serving module is not patched.

        Args:
            module: The module, as imported.

        Raises:
            Exception: A fault of this plugin's; the module is not changed then.
        """
        for patch in self._patches:
            if self._setup is None or not self.is_in_force(patch.name):
                continue
            try:
                hooks = _hooks_in(module, patch, self._setup)
            except IncompatibleError as error:
                self.left_out[patch.name] = str(error)
                logger.info("stable_ids: %s left out: %s", patch.name, error)
                continue
            with _installed(hook for hook in hooks if not hook.is_installed) as undo:
                self._undo.callback(undo.pop_all().close)

    def uninstall(self, reason: str) -> None:
        """Uninstall every patch, with one warning; nothing is done where none is installed.

        Args:
            reason: Why, in a clause about this vLLM.
        """
        if not self.active:
            return
        self.active = False
        self._undo.close()
        self.reason = reason
        metrics.show_mode(own_version(), vllm_version(), "not_patched")
        logger.warning(
            "stable_ids: vLLM %s is no longer patched, its own ids are in force: %s; "
            "look for a newer vllm-stable-ids",
            vllm_version(),
            reason,
        )

    def is_in_force(self, name: str) -> bool:
        """Whether the patch of that name acts in this process."""
        return self.active and name not in self.left_out

    def would_leave_out(self, serving: Any) -> dict[str, str]:
        """The patches that `install` would leave out, and why, if the settings let it act."""
        _, left_out = self._find(serving, self._make_setup(settings.load()[0]), strict=False)
        return left_out

    def _make_setup(self, switches: settings.Settings) -> Setup:
        return Setup(switches, EventClasses(), self.is_in_force, self.uninstall)

    def _find(
        self, serving: Any, setup: Setup, *, strict: bool
    ) -> tuple[list[Hook], dict[str, str]]:
        """The hooks to install in the serving module, and the patches to leave out.

        Raises:
            IncompatibleError: A required patch is incompatible; only if `strict`.
        """
        found: list[Hook] = []
        left_out: dict[str, str] = {}
        for patch in self._patches:
            reason = patch.not_needed(serving, setup.settings)
            if reason is None:
                try:
                    found += _hooks_in(serving, patch, setup)
                except IncompatibleError as error:
                    if strict and patch.is_required:
                        raise
                    reason = str(error)
            if reason is not None:
                left_out[patch.name] = reason
        return found, left_out


def _hooks_in(module: Any, patch: Patch, setup: Setup) -> list[Hook]:
    """The hooks of a patch in one module.

    Raises:
        IncompatibleError: One of them is incompatible.
    """
    return [Hook(module, spec, setup) for spec in patch.hooks if spec.module == module.__name__]


def _installed(hooks: Iterable[Hook]) -> ExitStack:
    """Install all hooks or none; closing the result uninstalls them."""
    with ExitStack() as undo:
        for hook in hooks:
            hook.install()
            undo.callback(hook.uninstall)
        return undo.pop_all()
