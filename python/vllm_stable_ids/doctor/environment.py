"""What the environment variables say that matter here."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vllm_stable_ids import settings
from vllm_stable_ids.doctor.installation import NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

RUST_FRONTEND = "VLLM_USE_RUST_FRONTEND"
RESTART = ", then restart vLLM"


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable that is set.

    Attributes:
        name: Its name.
        value: What it is set to.
        says: What that means.
        remedy: What to do about it; `None` where it is right.
    """

    name: str
    value: str
    says: str
    remedy: str | None = None


def look() -> list[Variable]:
    """The variables that are set, in the order of their names."""
    return sorted([*_ours(), *_plugins(), *_vllms()], key=lambda variable: variable.name)


def _ours() -> Iterator[Variable]:
    switches, problems = settings.load()
    for name, field in settings.variables().items():
        value = os.environ.get(name, "")
        if not value:
            continue
        wrong = [problem for problem in problems if problem.startswith(f"{name}=")]
        if wrong:
            says = f"neither {wrong[0].rpartition(' is neither ')[2]}"
            yield Variable(name, value, says, f"correct {name}, or unset it{RESTART}")
        elif getattr(switches, field):
            yield Variable(name, value, "on, as by default")
        else:
            # Without the rest one can live well; without any of it, nobody needs the doctor.
            remedy = f"unset {name}{RESTART}" if field == "enabled" else None
            yield Variable(name, value, f"off: {settings.off_means(field)}", remedy)


def _plugins() -> Iterator[Variable]:
    value = os.environ.get("VLLM_PLUGINS")
    if value is None:
        return
    # As vLLM splits it: blanks count.
    if NAME in value.split(","):
        yield Variable("VLLM_PLUGINS", value, "vLLM loads this plugin")
    else:
        yield Variable(
            "VLLM_PLUGINS",
            value,
            f"vLLM loads these plugins only, and {NAME} is not among them",
            f"add {NAME} to VLLM_PLUGINS, without blanks, or unset it{RESTART}",
        )


def _vllms() -> Iterator[Variable]:
    proxy = "put vllm-stable-ids proxy in front of the server"
    is_rust = _switch(RUST_FRONTEND, "HTTP is not served by Python: no plugin reaches it", proxy)
    stores = _switch("VLLM_ENABLE_RESPONSES_API_STORE", "vLLM stores responses", None)
    parses = _switch(
        "VLLM_USE_EXPERIMENTAL_PARSER_CONTEXT", "vLLM runs the tools of text models", None
    )
    yield from (variable for variable in (is_rust, stores, parses) if variable is not None)


def _switch(name: str, on: str, remedy: str | None) -> Variable | None:
    """A switch of vLLM's, which is a whole number."""
    value = os.environ.get(name)
    if value is None:
        return None
    try:
        is_on = int(value) != 0
    except ValueError:
        return Variable(
            name, value, "vLLM takes a whole number only", f"set {name} to 0 or 1{RESTART}"
        )
    return Variable(name, value, on, remedy) if is_on else Variable(name, value, "off")
