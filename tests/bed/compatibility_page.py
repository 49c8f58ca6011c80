"""Which vLLM needs which patch, as a page of the documentation: `make pages` writes it."""

from __future__ import annotations

from pathlib import Path

from vllm_stable_ids.patches import PATCHES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility.md"

HEAD = """\
# Compatibility

Made by `make pages` from the register in `python/vllm_stable_ids/patches/`; do not edit.

| vLLM | |
|---|---|
| 0.25 to 0.33 | supported, both generator paths |
| 0.15 to 0.24 | the plugin acts, and mends [what it can](contract.md#text-that-vllm-itself-loses) |
| others | where methods are not as known, [the middleware](middleware.md) takes over instead |
| Rust frontend | no plugin reaches it: [the proxy](proxy.md) |

[What was measured](compatibility-matrix.md) on real servers is a page of its own. Python 3.10 or
newer, Linux.

## What is needed by which vLLM

Versions are for orientation. When vLLM starts, the plugin looks at what it has, not at its number,
and leaves out what it does without. A name leads to what the patch does.

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
