"""From the text that a model shall say to the token ids that say it.

Apart from `scripted`, which needs vLLM and torch, so that a test process starts at once.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from bed.models import ModelPath, model_folder, tiktoken_folder

if TYPE_CHECKING:
    from openai_harmony import HarmonyEncoding
    from tokenizers import Tokenizer

STOPS: dict[ModelPath, tuple[str, ...]] = {
    "simple": ("<|im_end|>",),
    "harmony": ("<|return|>", "<|call|>"),
}


@functools.cache
def _tokenizer() -> Tokenizer:
    """Return the tokenizer of the simple model."""
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(model_folder("simple") / "tokenizer.json"))


@functools.cache
def _harmony() -> HarmonyEncoding:
    """Return Harmony's own encoding: its parser knows no other ids."""
    os.environ["TIKTOKEN_ENCODINGS_BASE"] = str(tiktoken_folder())
    from openai_harmony import HarmonyEncodingName, load_harmony_encoding

    return load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)


def encode(path: ModelPath, text: str) -> list[int]:
    """Turn an output text, special tokens written out, into the script that produces it.

    Args:
        path: Which model is to say it.
        text: What it says. A stop token must end it, and none may come before: after a script
            the model says random things, and at a stop token vLLM stops listening. To cut an
            output short, keep the stop token and set `max_output_tokens`.

    Raises:
        ValueError: The text does not end with its first stop token.
    """
    stops = STOPS[path]
    places = [text.find(stop) for stop in stops if stop in text]
    if not text.endswith(stops) or min(places) != max(text.rfind(stop) for stop in stops):
        raise ValueError(f"a script must end with its first {' or '.join(stops)}: {text!r}")
    if path == "simple":
        ids: list[int] = _tokenizer().encode(text, add_special_tokens=False).ids
        return ids
    return list(_harmony().encode(text, allowed_special="all"))


def decode(path: ModelPath, ids: list[int]) -> str:
    """Turn a script back into its text, special tokens written out."""
    if path == "simple":
        text: str = _tokenizer().decode(ids, skip_special_tokens=False)
        return text
    return str(_harmony().decode_utf8(ids))
