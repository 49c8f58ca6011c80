"""The checker: judges a recorded event stream. See docs/check.md."""

from vllm_stable_ids.check.capture import judge
from vllm_stable_ids.check.verdict import Verdict

__all__ = ["Verdict", "judge"]
