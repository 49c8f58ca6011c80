"""What the model says to a client: a first answer by case, and one answer to every tool output."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from bed.cases import Case, case

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bed.models import ModelPath

ANSWER = "It is sunny."
CALLING = ("call", "two-calls", "preamble-call")
NAMES = ("text", *CALLING)

# A call of gpt-oss ends its turn: the model says <|call|>, and stops.
_H_THOUGHT = "<|channel|>analysis<|message|>Think.<|end|><|start|>assistant<|channel|>"
_H_CALL = (
    "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json"
    '<|message|>{"city":"Paris"}<|call|>'
)
_HARMONY = {
    "text": f"{_H_THOUGHT}final<|message|>{ANSWER}<|return|>",
    "preamble-call": f"{_H_THOUGHT}commentary<|message|>Let me look.<|end|>{_H_CALL}",
}

FIRST: Mapping[ModelPath, Mapping[str, Case]] = {
    "simple": {
        "text": case("q-text"),
        "call": case("q-call"),
        "two-calls": case("q-two-calls"),
        "preamble-call": case("q-text-call"),
    },
    "harmony": {
        "call": case("h-call"),
        **{name: Case(name, "harmony", output) for name, output in _HARMONY.items()},
    },
}


_ARGUMENTS = re.compile(r'\{"city": ?"\w+"\}')


def first(path: ModelPath, name: str, tool: tuple[str, str] | None = None) -> Case:
    """Return what the model says at first, with calls of another tool if there is one."""
    said = FIRST[path][name]
    if tool is None:
        return said
    called, arguments = tool
    output = said.output.replace("get_weather", called)
    return replace(said, output=_ARGUMENTS.sub(lambda _: arguments, output))


def answer(path: ModelPath) -> Case:
    """Return what the model says once its calls are answered."""
    return FIRST[path]["text"]
