"""The register of patches as a page of the documentation: `make pages` writes it."""

from __future__ import annotations

from pathlib import Path

from vllm_stable_ids.patches import PATCHES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "patches.md"

HEAD = """\
# What is changed in vLLM

Made by `make pages` from the register in `python/vllm_stable_ids/patches/`; do not edit. When
vLLM starts, each patch asks the vLLM it finds whether it is needed and whether the method is as
known, and the start-up line of the log lists what was put in and what was left out, and why.

`stream` and `terminal` are put in together or not at all. The rest can be left out one by one.
"""


def render() -> str:
    """Return the page."""
    sections = [HEAD]
    for patch in PATCHES:
        rows = {
            "what it does": patch.what,
            "without it": patch.why,
            "wraps": f"`{wrapped.owner}.{wrapped.name}`"
            if (wrapped := patch.method or patch.function) is not None
            else "nothing of its own: it is done while `stream` runs",
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
