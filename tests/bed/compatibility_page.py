"""Which vLLM needs which patch, as a page of the documentation: `make pages` writes it."""

from __future__ import annotations

from pathlib import Path

from vllm_stable_ids.patches import PATCHES
from vllm_stable_ids.versions import NEWEST_TESTED_VLLM

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility.md"

HEAD = f"""\
# Compatibility

Made by `make pages` from the register in `python/vllm_stable_ids/patches/`; do not edit.

| vLLM | |
|---|---|
| 0.25 to {NEWEST_TESTED_VLLM} | supported, both generator paths |
| 0.15 to 0.24 | the plugin repairs [what it can](contract.md#text-that-vllm-itself-loses) |
| others | where a required method is incompatible, [the middleware](middleware.md) takes over |
| Rust frontend | no plugin reaches it: [the proxy](proxy.md) |

[What was measured](compatibility-matrix.md) on real servers is a page of its own. Python 3.10 or
newer, Linux.

## What is needed by which vLLM

Versions are for orientation. When vLLM starts, the plugin checks what this vLLM does, not its
number, and leaves out the patches that it does not need. Each name links to what the patch does.

| patch | needed by vLLM | can go when |
|---|---|---|
"""


def render() -> str:
    """Return the page."""
    rows = (
        f"| [{patch.name}](patches.md#{patch.name}) | {patch.versions} | {patch.delete_when} |\n"
        for patch in PATCHES
    )
    return HEAD + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(render())
