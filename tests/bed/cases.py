"""The scripted cases: what a model says, and what comes with the request.

`cases.json` holds them by name; an object has `path` (which model), `output` (the text, special
tokens written out) and `request` (request fields beyond the client's defaults).
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bed.tokens import encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bed.models import ModelPath


@dataclass(frozen=True)
class Case:
    """One output to make a model say."""

    name: str
    path: ModelPath
    output: str
    request: Mapping[str, Any] = field(default_factory=dict)

    def ids(self) -> list[int]:
        """Return the script: the token ids that say the output."""
        return encode(self.path, self.output)


@functools.cache
def all_cases() -> Mapping[str, Case]:
    """Return every case of `cases.json` by its name, in the file's order."""
    content = json.loads(Path(__file__).with_name("cases.json").read_text())
    return {name: Case(name=name, **fields) for name, fields in content.items()}


def cases_of(path: ModelPath) -> list[Case]:
    """Return the cases of one model, for `pytest.mark.parametrize`."""
    return [case for case in all_cases().values() if case.path == path]


def case(name: str) -> Case:
    """Return one case by its name."""
    return all_cases()[name]
