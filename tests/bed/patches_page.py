"""The register of patches as a page of the documentation: `make pages` writes it."""

from __future__ import annotations

from pathlib import Path

from vllm_stable_ids.patches import PATCHES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "patches.md"

HEAD = """\
# What is changed in vLLM

Made by `make pages` from the register in `python/vllm_stable_ids/patches/`; do not edit. When
vLLM starts, the plugin checks for each patch whether this vLLM needs it and has the method it
wraps. The start-up line of the log lists the patches that were installed, and those left out with
the reason.

`stream` and `terminal` are installed together or not at all. Any other can be left out alone.
"""


def render() -> str:
    """Return the page."""
    sections = [HEAD]
    for patch in PATCHES:
        rows = {
            "what it does": patch.what,
            "without it": patch.why,
            "wraps": ", ".join(f"`{hook.path}`" for hook in patch.hooks)
            or "nothing of its own: it is done while `stream` runs",
            "upstream": ", ".join(
                f"[{number}](https://github.com/vllm-project/vllm/issues/{number[1:]})"
                for number in patch.upstream
            )
            or "not reported yet",
            "needed by vLLM": patch.versions,
            "can go when": patch.delete_when,
            "code": f"`patches/{patch.name}.py`",
        }
        table = "\n".join(f"| {name} | {text} |" for name, text in rows.items())
        sections.append(f"## {patch.name}\n\n| | |\n|---|---|\n{table}\n")
    return "\n".join(sections)


if __name__ == "__main__":
    PAGE.write_text(render())
