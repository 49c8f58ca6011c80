"""Everything that this plugin changes in vLLM: one file for each patch, and one installer.

`stream` and `terminal` are installed together or not at all: a stream whose end is not reconciled
would announce ids that its terminal event contradicts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_stable_ids.patches import (
    browser,
    encode,
    failure,
    item_reference,
    replay,
    stream,
    terminal,
    tool_output,
    vocabulary,
)
from vllm_stable_ids.patches.installer import Installer

if TYPE_CHECKING:
    from vllm_stable_ids.patches.patch import Patch

PATCHES: tuple[Patch, ...] = (
    stream.PATCH,
    terminal.PATCH,
    vocabulary.PATCH,
    browser.PATCH,
    failure.PATCH,
    replay.PATCH,
    tool_output.PATCH,
    item_reference.PATCH,
    encode.PATCH,
)

INSTALLER = Installer(PATCHES)
"""Installs them in this process."""


def active() -> bool:
    """Whether this process makes its streams with the plugin."""
    return INSTALLER.active
