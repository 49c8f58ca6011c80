"""Keeps the ids of vLLM's Responses API stream stable.

Importing this package costs nothing: vLLM loads it in every process, and only the API server
needs more than `vllm_stable_ids.plugin.register`.
"""
