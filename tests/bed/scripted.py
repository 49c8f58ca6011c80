"""The model's prompter: a logits processor that makes a real vLLM say a given text.

It runs in vLLM's engine process, named by `--logits-processors bed.scripted:ScriptedOutput`.
A request brings its script as `"vllm_xargs": {"script": [token ids]}`; a request without one gets
what the random weights say. Everything after sampling (detokenizer, parsers, event generators,
HTTP) is untouched, which is the point: the streams under test are vLLM's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vllm.v1.sample.logits_processor import AdapterLogitsProcessor

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch
    from vllm import SamplingParams

XARG = "script"


@dataclass(frozen=True)
class _Prompter:
    """Forces the k-th output token of one request to the k-th token of its script."""

    script: Sequence[int]

    def __call__(self, output_ids: list[int], logits: torch.Tensor) -> torch.Tensor:
        """Leave one possible token; leave all of them when the script is over.

        The number of tokens so far is all that counts: under asynchronous scheduling vLLM may
        keep placeholders in `output_ids`, and after a preemption it starts over from it.
        """
        place = len(output_ids)
        if place < len(self.script):
            logits.fill_(float("-inf"))
            logits[self.script[place]] = 0.0
        return logits


class ScriptedOutput(AdapterLogitsProcessor):
    """Gives each request that brings a script its prompter."""

    @classmethod
    def validate_params(cls, params: SamplingParams) -> None:
        """Refuse a script that is not token ids, before it reaches the engine.

        An exception in the engine process ends the whole server; here it ends one request.
        """
        script = (params.extra_args or {}).get(XARG)
        if script is not None and not all(type(token) is int and token >= 0 for token in script):
            raise ValueError(f"{XARG} must be a list of token ids")

    def is_argmax_invariant(self) -> bool:
        """Say that greedy sampling must not skip this processor."""
        return False

    def new_req_logits_processor(self, params: SamplingParams) -> _Prompter | None:
        """Return the prompter of a new request, if it has a script."""
        script = (params.extra_args or {}).get(XARG)
        return _Prompter(script) if script else None
