"""Replaces names, types, ids and numbers: equal ones by equal ones, others by others."""

from __future__ import annotations

import re
from hashlib import shake_256
from itertools import count
from string import ascii_lowercase, ascii_uppercase, digits

from vllm_stable_ids.check.redact.exact_json import LONE_SURROGATE, Number
from vllm_stable_ids.check.redact.members import OWN_NAMES, TYPES

PREFIXES = (
    *("msg_", "rs_", "fc_", "ctc_", "mcp_", "ci_", "ws_", "tool_", "item_"),
    *("call_", "chatcmpl-tool-", "chatcmpl-", "functions.", "resp_", "conv_"),
    *("fs_", "ig_", "mcpl_", "mcpr_", "cmp_", "cu_", "cntr_", "file-"),
)
"""How ids begin: it shows what they are of, and stays."""

HEX = "0123456789abcdef"
HEX_TEXT = re.compile(r"[0-9a-f]+")
CLASSES = (HEX, digits, ascii_lowercase, ascii_uppercase)
SEPARATORS = "-_.:"
ATTEMPTS = 8
"""How often an id of the same shape is looked for; few are short enough to need a second one."""
LONG = 1024
"""From here on a replacement has as many bytes as the name: the checker has a limit on them."""
NUMBER_BYTES = 6
CALL = "_call"
PART = "_part"
REASONING = "reasoning_"


class Pseudonyms:
    """Replaces by a random key, and remembers what by what."""

    def __init__(self, key: bytes) -> None:
        """Begin with nothing.

        Args:
            key: Whoever does not know it cannot tell what was replaced.
        """
        self._key = key
        self._names: dict[str, str] = {}
        self._ids: dict[str, str] = {}
        self._taken: set[str] = set()

    def name(self, name: str) -> str:
        """For a name, or a key that is none of the API's."""
        if not name:
            return name
        made = self._names.get(name)
        if made is None:
            made = f"name_{len(self._names) + 1}"
            if _size(name) > LONG:
                made = made.ljust(_size(name), "x")
            if LONE_SURROGATE.search(name):
                # A string with half a surrogate pair is no name to the checker.
                made += "\ud800"
            self._names[name] = made
        return made

    def names(self, name: str) -> str:
        """For a name that may have dots in it: that of a server's tool ends with the tool's."""
        parts = name.split(".") if _size(name) <= LONG else [name]
        return ".".join(one if one in OWN_NAMES else self.name(one) for one in parts)

    def type(self, name: str) -> str:
        """For the type of an item, part, annotation or tool. That of a call still ends so."""
        if name in TYPES:
            return name
        if name.endswith(CALL):
            return self.name(name.removesuffix(CALL)) + CALL
        return self.name(name)

    def event(self, name: str) -> str:
        """For the type of an event, which is about the same types of items as before."""
        return ".".join(map(self._segment, name.split(".")))

    def _segment(self, segment: str) -> str:
        """For what stands between the dots of an event's type."""
        if segment in TYPES:
            return segment
        if segment.startswith(REASONING):
            return REASONING + self._segment(segment.removeprefix(REASONING))
        own, call, rest = segment.partition(f"{CALL}_")
        if call and not segment.endswith(CALL):
            return f"{self.type(own + CALL)}_{self._segment(rest)}"
        if segment.endswith(PART):
            return self.name(segment.removesuffix(PART)) + PART
        return self.type(segment)

    def id(self, value: str) -> str:
        """For an id: of the same shape, and with the prefix that shows what it is of."""
        prefix = next(filter(value.startswith, PREFIXES), "")
        rest = value[len(prefix) :]
        if not rest:
            return value
        made = self._ids.get(rest)
        if made is None:
            made = self._ids[rest] = self._free(rest)
            self._taken.add(made)
        return prefix + made

    def _free(self, rest: str) -> str:
        """An id of the same shape that is in no use yet."""
        for attempt in count():
            made = self._like(rest, attempt)
            if attempt >= ATTEMPTS:
                # Not hexadecimal, lest it look like an id of vLLM's.
                made += f"z{attempt}"
            if made not in self._taken and not made.startswith(PREFIXES):
                break
        return made

    def _like(self, rest: str, attempt: int) -> str:
        size = _size(rest)
        chosen = self._random(f"{attempt} {rest}", 2 * size)
        if HEX_TEXT.fullmatch(rest):
            return "".join(HEX[byte % 16] for byte in chosen[:size])
        made = []
        at = 0
        for character in rest:
            if character in SEPARATORS or LONE_SURROGATE.match(character):
                made.append(character if character in SEPARATORS else "\ud800")
                at += _size(character)
                continue
            letters = next((one for one in CLASSES[1:] if character in one), ascii_lowercase)
            for _ in range(_size(character)):
                number = chosen[2 * at] << 8 | chosen[2 * at + 1]
                made.append(letters[number % len(letters)])
                at += 1
        return "".join(made)

    def number(self, number: Number) -> Number:
        """For a number that is content."""
        text = number.text
        if not any(map(str.isdigit, text)):
            # NaN and its like say nothing, and are no JSON to some.
            return number
        same = text if text.removeprefix("-").isdigit() else repr(float(text))
        return Number(str(int.from_bytes(self._random(f"# {same}", NUMBER_BYTES), "big")))

    def _random(self, text: str, size: int) -> bytes:
        return shake_256(self._key + text.encode(errors="surrogatepass")).digest(size)


def _size(text: str) -> int:
    """How many bytes a text has."""
    return len(text.encode(errors="surrogatepass"))
