"""Two models without weights: enough for vLLM to load, tokenise and detokenise for real.

vLLM fills the weights with random numbers (`--load-format dummy`), and the scripted logits
processor overrules what they say, so a model here is its configuration and its tokenizer.
`simple` is a Qwen3-style model with text markup for reasoning and calls. `harmony` has the
`gpt_oss` model type, which makes vLLM take its Harmony path, and the o200k vocabulary, whose ids
the Harmony parser insists on.

The tokenizer packages come with vLLM and are imported where they are used: streams can be sent
and judged (through a proxy, from captures) where no vLLM is installed.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import importlib.util
import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

ModelPath = Literal["simple", "harmony"]

BUILD = Path(__file__).resolve().parents[2] / ".build"
TIKTOKEN_FOLDER = BUILD / "tiktoken"
MAX_MODEL_LEN = 65536

FOLDER_NAMES: dict[ModelPath, str] = {"simple": "qwen3", "harmony": "gpt-oss"}

QWEN_SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
# Real Qwen3 tokenizers hold these as added tokens that are not special: they stay in the text
# when special tokens are skipped, which is what the text parsers look for.
QWEN_MARKUP = ("<think>", "</think>", "<tool_call>", "</tool_call>")

# What the merges are learned from. Words of the scripted outputs come as one token, or a few;
# anything else falls apart into small pieces, down to single bytes.
QWEN_CORPUS = """
The user wants the weather. The user wants to know about the weather in Paris and Rome.
It is sunny and warm in Paris today, with a light wind from the west and no rain.
Sure, let me check. Let me look at the weather for you. Hm. Think about it.
{"name": "get_weather", "arguments": {"city": "Paris"}}
{"name": "get_weather", "arguments": {"city": "Rome"}}
[{"name": "get_weather", "parameters": {"city": "Paris"}}]
"""

QWEN_CHAT_TEMPLATE = """\
{%- if tools %}{{ '<|im_start|>system\\n# Tools\\n' }}
{%- for tool in tools %}{{ tool | tojson }}{{ '\\n' }}{% endfor %}{{ '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' }}
{%- if message.content is string %}{{ message.content }}{% endif %}
{%- for call in message.tool_calls or [] %}{{ '<tool_call>\\n' }}{{ call.function | tojson }}
{{- '\\n</tool_call>' }}{% endfor %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
"""

O200K_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
HARMONY_NAMED = {
    "<|startoftext|>": 199998,
    "<|endoftext|>": 199999,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|call|>": 200012,
    "<|endofprompt|>": 200018,
}
HARMONY_VOCABULARY = 201088
# Without <|call|> generation runs on after a call, and the Harmony parser throws.
HARMONY_STOPS = [200002, 199999, 200012]


def model_folder(path: ModelPath) -> Path:
    """Return the folder of a path's model, made on first use.

    The folder carries a digest of this file, so that a change here is never tested against
    yesterday's model, and appears by a rename, so that two test runs can want it at once.
    """
    folder = BUILD / "models" / FOLDER_NAMES[path]
    recipe = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    stamp = folder / ".recipe"
    if stamp.exists() and stamp.read_text() == recipe:
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    makers: dict[ModelPath, Callable[[Path], None]] = {"simple": _qwen, "harmony": _gpt_oss}
    fresh = Path(tempfile.mkdtemp(dir=folder.parent))
    makers[path](fresh)
    (fresh / ".recipe").write_text(recipe)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        fresh.rename(folder)
    except OSError:
        # Another run put the same model there between the two lines above.
        shutil.rmtree(fresh)
    return folder


@functools.cache
def tiktoken_folder() -> Path:
    """Return the folder for TIKTOKEN_ENCODINGS_BASE, with the o200k vocabulary in it.

    openai-harmony would download the vocabulary; the `bpe-openai` package carries the same file.
    """
    file = TIKTOKEN_FOLDER / "o200k_base.tiktoken"
    if not file.exists():
        # Only the file is wanted: importing the package runs code that warns of deprecations.
        found = importlib.util.find_spec("bpe_openai")
        if found is None or found.origin is None:
            raise RuntimeError("bpe-openai is not installed: make the environment again")
        packed = Path(found.origin).with_name("data") / "o200k_base.tiktoken.gz"
        content = gzip.decompress(packed.read_bytes())
        if hashlib.sha256(content).hexdigest() != O200K_SHA256:
            raise RuntimeError("the o200k vocabulary of bpe-openai is not the one Harmony uses")
        TIKTOKEN_FOLDER.mkdir(parents=True, exist_ok=True)
        # Threads of one process start servers at the same time: a name of its own for each.
        with tempfile.NamedTemporaryFile(dir=TIKTOKEN_FOLDER, delete=False) as partial:
            partial.write(content)
        Path(partial.name).rename(file)
    return TIKTOKEN_FOLDER


def _qwen(folder: Path) -> None:
    """Write the Qwen3-style model: a byte-level BPE learned from a few lines."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(QWEN_CORPUS.splitlines(), trainer)
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in QWEN_SPECIALS])
    tokenizer.add_tokens([AddedToken(name, normalized=False) for name in QWEN_MARKUP])
    tokenizer.save(str(folder / "tokenizer.json"))
    stop = tokenizer.token_to_id("<|im_end|>")
    end_of_text = tokenizer.token_to_id("<|endoftext|>")
    _write(
        folder,
        chat_template=QWEN_CHAT_TEMPLATE,
        tokenizer={"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"},
        generation={"eos_token_id": [stop, end_of_text], "pad_token_id": end_of_text},
        config={
            "architectures": ["Qwen3ForCausalLM"],
            "model_type": "qwen3",
            "hidden_size": 64,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "head_dim": 32,
            "vocab_size": tokenizer.get_vocab_size(),
            "eos_token_id": stop,
            "rms_norm_eps": 1e-6,
            "hidden_act": "silu",
            "tie_word_embeddings": True,
        },
    )


def _gpt_oss(folder: Path) -> None:
    """Write the gpt-oss model. Its tokenizer decodes only: scripts come as Harmony's own ids."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    lines = (tiktoken_folder() / "o200k_base.tiktoken").read_bytes().splitlines()
    letters = _byte_letters()
    vocabulary: dict[str, int] = {}
    for line in lines:
        encoded, _, rank = line.partition(b" ")
        vocabulary["".join(letters[byte] for byte in base64.b64decode(encoded))] = int(rank)
    names = {number: name for name, number in HARMONY_NAMED.items()}
    first = HARMONY_NAMED["<|startoftext|>"]
    specials = [
        names.get(number, f"<|reserved_{number}|>") for number in range(first, HARMONY_VOCABULARY)
    ]
    vocabulary.update({name: first + offset for offset, name in enumerate(specials)})
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in specials])
    tokenizer.save(str(folder / "tokenizer.json"))
    _write(
        folder,
        chat_template="{% for message in messages %}{{ message.content }}{% endfor %}",
        tokenizer={"eos_token": "<|return|>", "pad_token": "<|endoftext|>"},
        generation={"eos_token_id": HARMONY_STOPS, "pad_token_id": 199999},
        config={
            "architectures": ["GptOssForCausalLM"],
            "model_type": "gpt_oss",
            "hidden_size": 64,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "layer_types": ["sliding_attention", "full_attention"],
            "sliding_window": 128,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            "head_dim": 64,
            "num_local_experts": 4,
            "num_experts_per_tok": 2,
            "vocab_size": HARMONY_VOCABULARY,
            "eos_token_id": 200002,
            "pad_token_id": 199999,
            "rope_theta": 150000.0,
        },
    )


def _byte_letters() -> dict[int, str]:
    """Return the letter by which byte-level tokenizers write each byte.

    Printable bytes of Latin-1 stand for themselves, the others for the letters from U+0100 on.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable}
    letters.update({byte: chr(0x100 + place) for place, byte in enumerate(others)})
    return letters


def _write(
    folder: Path,
    *,
    chat_template: str,
    tokenizer: dict[str, Any],
    generation: dict[str, Any],
    config: dict[str, Any],
) -> None:
    """Write the files that surround a tokenizer."""
    common = {"torch_dtype": "bfloat16", "max_position_embeddings": MAX_MODEL_LEN}
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": MAX_MODEL_LEN}
    files = {
        "config.json": config | common,
        "generation_config.json": generation,
        "tokenizer_config.json": settings | tokenizer | {"chat_template": chat_template},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, indent=1))
