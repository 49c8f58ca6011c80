"""The modules of the Python package import each other in one direction only."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING

from bed.documents import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = ROOT / "python" / "vllm_stable_ids"
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}


def imported(source: str) -> Iterator[str]:
    """The names that a module imports anywhere: in functions and for type checkers, too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in MODULES else str(node.module)


def test_no_module_imports_itself_by_way_of_others() -> None:
    imports = {name: {*imported(path.read_text())} for name, path in MODULES.items()}
    assert "vllm_stable_ids.patches.call" in imports["vllm_stable_ids.patches.hook"]
    TopologicalSorter(imports).prepare()  # CycleError names the modules of a cycle
