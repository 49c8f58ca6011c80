"""Which of vLLM's two event generators a model takes."""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from pathlib import Path

CONFIG = "config.json"
HARMONY = "gpt_oss"


@dataclass(frozen=True, slots=True)
class Model:
    """A model as its configuration says.

    Attributes:
        name: As it was given.
        path: `harmony` or `simple`; `None` where it is not known.
        because: Why.
    """

    name: str
    path: str | None
    because: str


def look(name: str) -> Model:
    """Look at a model's folder, or at the copy that was downloaded; nothing is downloaded."""
    try:
        found = _in_folder(name) or _downloaded(name)
        if found is None:
            because = f"there is no {CONFIG} in a folder of that name, nor was one downloaded"
            return Model(name, None, because)
        kind = json.loads(found.read_text(encoding="utf-8"))["model_type"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError, RuntimeError) as error:
        return Model(name, None, f"its {CONFIG} cannot be read ({type(error).__name__})")
    is_harmony = kind == HARMONY
    return Model(name, "harmony" if is_harmony else "simple", f"its model_type is {kind}")


def _in_folder(name: str) -> Path | None:
    folder = Path(name).expanduser()
    config = folder if folder.name == CONFIG else folder / CONFIG
    return config if config.is_file() else None


def _downloaded(name: str) -> Path | None:
    """Where Hugging Face's client, which comes with vLLM, has put it."""
    try:
        hub = importlib.import_module("huggingface_hub")
        found = hub.try_to_load_from_cache(name, CONFIG)
    except Exception:  # noqa: BLE001 - not there, or no name it takes
        return None
    return Path(found) if isinstance(found, str) else None
