"""The settings as a page of the documentation: `make pages` writes it."""

from __future__ import annotations

from pathlib import Path

from vllm_stable_ids.settings import Settings, variables

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"

HEAD = """\
# Settings

Made by `make pages` from `python/vllm_stable_ids/settings.py`; do not edit.

Settings are environment variables, read once, when vLLM starts. On is `1`, `true`, `on` or `yes`;
off is `0`, `false`, `off` or `no`; in any case, and blanks around the word do not count. An empty
value is as good as none. Any other keeps the default, and a warning says so; the server starts all
the same.

They go where vLLM's own go: before the command, into `Environment=` of a unit, `env` of a pod.

"""

TAIL = """\
## What vLLM makes of them

vLLM warns of every variable that begins with `VLLM_` and is not its own:

    Unknown vLLM environment variable detected: VLLM_STABLE_IDS

That does no harm. Under `--fail-on-environ-validation` vLLM does not start with it: leave the
variable away where it says what is the default anyway.

## VLLM_PLUGINS

This one is vLLM's: a list of the plugins that it loads, by name, with commas between. Unset means
all. If you set it, name this one:

    VLLM_PLUGINS=stable_ids,lora_filesystem_resolver

A list without `stable_ids` keeps the plugin out. `vllm-stable-ids doctor` [says so](doctor.md).

The [proxy](proxy.md#arguments) has arguments and reads none of these.
"""


def render() -> str:
    """Return the page."""
    sections = [HEAD]
    for variable, name in variables().items():
        field = Settings.model_fields[name]
        on, _, off = (field.description or "").rpartition("Off: ")
        rows = {
            "default": "on" if field.default else "off",
            "on": on.strip() or "The plugin acts.",
            "off": off if off.startswith("vLLM") else off[0].upper() + off[1:],
        }
        table = "\n".join(f"| {state} | {text} |" for state, text in rows.items())
        sections.append(f"## {variable}\n\n| | |\n|---|---|\n{table}\n\n")
    return "".join([*sections, TAIL])


if __name__ == "__main__":
    PAGE.write_text(render())
