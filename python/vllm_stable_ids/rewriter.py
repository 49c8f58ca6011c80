"""The wire rewriter: keeps the identities in the bytes of an event stream."""

from vllm_stable_ids._core import SseRewriter

__all__ = ["SseRewriter"]
