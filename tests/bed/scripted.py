"""The model's prompter: a logits processor that makes a real vLLM say a given text.

It runs in vLLM's engine process, named by `--logits-processors bed.scripted:ScriptedOutput`.
A request brings its script as `"vllm_xargs": {"script": [token ids]}`; a request without one gets
what the random weights say. Everything after sampling (detokenizer, parsers, event generators,
HTTP) is untouched, which is the point: the streams under test are vLLM's own.

Where vLLM runs a tool itself, one request is several to the engine: one for the call, one for what
comes after the tool's answer, and so on. Such a request brings `script_2`, `script_3`, … for those,
and a `marker`: token ids that each answer of the tool puts into the prompt once. A turn says the
script whose number is one more than the markers before it.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from itertools import count, takewhile
from typing import TYPE_CHECKING

from vllm.v1.sample.logits_processor import AdapterLogitsProcessor

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch
    from vllm import SamplingParams

XARG = "script"
MARKER = "marker"

STEP = "BED_STEP_SECONDS"
"""Set, in a server's environment, to how long it takes for a token at least.

Random weights are faster than any model: what makes the events can fall behind.
"""
STEP_SECONDS = float(os.environ.get(STEP, "0"))


@dataclass(frozen=True)
class _Prompter:
    """Forces the k-th output token of one request to the k-th token of its script."""

    script: Sequence[int]

    def __call__(self, output_ids: list[int], logits: torch.Tensor) -> torch.Tensor:
        """Leave one possible token; leave all of them when the script is over.

        The number of tokens so far is all that counts: under asynchronous scheduling vLLM may
        keep placeholders in `output_ids`, and after a preemption it starts over from it.
        """
        time.sleep(STEP_SECONDS)
        place = len(output_ids)
        if place < len(self.script):
            logits.fill_(float("-inf"))
            logits[self.script[place]] = 0.0
        return logits


@dataclass(frozen=True)
class _TurnPrompter:
    """Forces each turn of a request to its own script."""

    scripts: Sequence[Sequence[int]]
    marker: Sequence[int]

    def __call__(
        self, prompt_ids: list[int], output_ids: list[int], logits: torch.Tensor
    ) -> torch.Tensor:
        """Leave one possible token, as `_Prompter`; of the last script if there are no more."""
        width = len(self.marker)
        marker = list(self.marker)
        answers = sum(
            prompt_ids[place : place + width] == marker for place in range(len(prompt_ids))
        )
        script = self.scripts[min(answers, len(self.scripts) - 1)]
        return _Prompter(script)(output_ids, logits)


class ScriptedOutput(AdapterLogitsProcessor):
    """Gives each request that brings a script its prompter."""

    @classmethod
    def validate_params(cls, params: SamplingParams) -> None:
        """Refuse a script that is not token ids, before it reaches the engine.

        An exception in the engine process ends the whole server; here it ends one request.
        """
        for name, ids in (params.extra_args or {}).items():
            if name != MARKER and not name.startswith(XARG):
                continue
            if not all(type(token) is int and token >= 0 for token in ids):
                raise ValueError(f"{name} must be a list of token ids")

    def is_argmax_invariant(self) -> bool:
        """Say that greedy sampling must not skip this processor."""
        return False

    def new_req_logits_processor(self, params: SamplingParams) -> _Prompter | _TurnPrompter | None:
        """Return the prompter of a new request, if it has a script."""
        extra = params.extra_args or {}
        script = extra.get(XARG)
        if not script:
            return None
        if MARKER not in extra:
            return _Prompter(script)
        further = takewhile(extra.__contains__, (f"{XARG}_{turn}" for turn in count(2)))
        return _TurnPrompter([script, *map(extra.__getitem__, further)], extra[MARKER])
