"""Outputs that nobody thought of: seeded, well-formed, and full of odd texts.

`random_case` strings messages, reasoning and calls together the way each format allows, so that
whatever goes wrong downstream is the server's doing. What a format or vLLM itself rejects is left
out on purpose: messages without a channel, unknown browser functions, log probabilities on the
Harmony path, grammar-bound tool choices, and `browser.find`, whose action vLLM 0.29 builds with a
type that openai's current models refuse, so that it drops the connection.
"""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

from bed.cases import Case
from bed.tokens import encode

if TYPE_CHECKING:
    from collections.abc import Callable

    from bed.models import ModelPath

LONGEST = 200

WORDS = (
    *("It", "is", "sunny", "in", "Paris", "today", "and", "no", "rain", "falls", "however"),
    *("3.14", "https://example.org/a?b=c&d", "{}", "[1, 2]", "<b>bold</b>", "it's", '"quoted"'),
    *("back\\slash", "\\n", "\\u2028", "naïve", "e\u0301te\u0301", "漢字かな", "한국어", "עברית"),
    *("😀", "👩‍👩‍👧", "🇫🇷", "\u2028", "\u2029", "\u00a0", "\u200b", "\ufeff", "data:", "event: x"),
)
JOINS = (" ", " ", " ", "\n", "\n\n", "", "\t")
BROKEN_ARGUMENTS = ('{"city": "Par', '{"city": }', "Paris", "[", '{"city": "Paris"}}')
FUNCTIONS = ("get_weather", "get_weather", "get_weather", "get_time")
OTHER_TOOLS = ("repo_browser.list", "container.exec", "mcp.x", "filesystem")
BROWSER_CALLS = (
    ("browser.search", '{"query": "weather", "topn": 3}'),
    ("browser.search", '{"query": "wea'),
    ("browser.open", '{"id": 1, "cursor": 2}'),
    ("browser.open", '{"url": "https://example.org/"}'),
)


def random_case(path: ModelPath, seed: int) -> Case:
    """Return the output and request of a seed; the same ones every time."""
    makers: dict[ModelPath, Callable[[Random], str]] = {
        "simple": _simple_output,
        "harmony": _harmony_output,
    }
    random = Random(f"{path} {seed}")
    while True:
        output = makers[path](random)
        length = len(encode(path, output))
        if length <= LONGEST:
            return Case(f"random-{path}-{seed}", path, output, _request(random, path, length))


def _request(random: Random, path: ModelPath, length: int) -> dict[str, Any]:
    """Return request fields: now and then a cut, no reasoning, log probabilities."""
    request: dict[str, Any] = {"store": random.random() < 0.5}
    if random.random() < 0.25:
        request["max_output_tokens"] = random.randint(1, length)
    if random.random() < 0.2:
        request["include_reasoning"] = False
    if path == "simple" and random.random() < 0.25:
        request["include"] = ["message.output_text.logprobs"]
        request["top_logprobs"] = random.randint(0, 3)
    return request


def _text(random: Random) -> str:
    """Return a text of a few words; now and then none."""
    if random.random() < 0.12:
        return ""
    words = random.choices(WORDS, k=random.randint(1, 8))
    return "".join(word + random.choice(JOINS) for word in words).removesuffix(" ")


def _arguments(random: Random, *, empty: bool) -> str:
    """Return call arguments: mostly JSON, some broken, some (where a format can) none at all."""
    draw = random.random()
    if empty and draw < 0.1:
        return ""
    if draw < 0.25:
        return random.choice(BROKEN_ARGUMENTS)
    if draw < 0.35:
        return "{}"
    content = {"city": _text(random)}
    return json.dumps(content, ensure_ascii=random.random() < 0.5)


def _simple_output(random: Random) -> str:
    """Return an output with `<think>` and `<tool_call>` markup."""
    parts = []
    if random.random() < 0.8:
        gap = random.choice(("\n\n", "\n", ""))
        parts.append(f"<think>{random.choice(('', _newlined(_text(random))))}</think>{gap}")
    for _ in range(random.randint(0, 4)):
        if random.random() < 0.4:
            parts.append(_text(random))
        else:
            name = json.dumps(random.choice(FUNCTIONS))
            call = f'{{"name": {name}, "arguments": {_arguments(random, empty=False)}}}'
            parts.append(f"<tool_call>\n{call}\n</tool_call>{random.choice(('', chr(10)))}")
    return "".join(parts) + "<|im_end|>"


def _newlined(text: str) -> str:
    """Return reasoning the way Qwen3 writes it."""
    return f"\n{text}\n"


def _harmony_output(random: Random) -> str:
    """Return an output of Harmony messages; the last ends it with a stop token."""
    messages = [
        random.choice((_harmony_message, _harmony_message, _harmony_call))(random)
        for _ in range(random.randint(1, 5))
    ]
    whole = "<|end|><|start|>assistant".join(messages)
    return whole + ("<|call|>" if " to=" in messages[-1] else "<|return|>")


def _harmony_message(random: Random) -> str:
    """Return reasoning, a preamble, or a final message, without its end."""
    channel = random.choice(("analysis", "commentary", "final"))
    return f"<|channel|>{channel}<|message|>{_text(random)}"


def _harmony_call(random: Random) -> str:
    """Return a call of a function, a built-in tool, or a server's tool, without its end."""
    draw = random.random()
    if draw < 0.5:
        recipient = f"functions.{random.choice(FUNCTIONS)}"
        arguments = _arguments(random, empty=True)
        if draw < 0.1:
            # The other order that gpt-oss uses: the recipient belongs to the role.
            return f" to={recipient}<|channel|>commentary json<|message|>{arguments}"
        return _addressed(recipient, arguments, kind="<|constrain|>json")
    if draw < 0.65:
        code = random.choice(("print(1+1)", "", f"print({_text(random)!r})"))
        return f"<|channel|>analysis to=python code<|message|>{code}"
    if draw < 0.8:
        return _addressed(*random.choice(BROWSER_CALLS), kind="code")
    return _addressed(random.choice(OTHER_TOOLS), _arguments(random, empty=True), kind="code")


def _addressed(recipient: str, content: str, *, kind: str) -> str:
    """Return a commentary message to a recipient."""
    return f"<|channel|>commentary to={recipient} {kind}<|message|>{content}"
