"""JSON as it stands: repeated keys, their order and the spelling of numbers are kept.

The checker sees these, so a redacted copy must have them too.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

MOST_DEPTH = 200
STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
OPENING = {"[", "{"}
CLOSING = {"]", "}"}
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Members(list[tuple[str, Any]]):
    """The members of an object, in order."""

    def last(self, name: str) -> Any:
        """The value of a member, of which the last counts; `None` where there is none."""
        return next((value for key, value in reversed(self) if key == name), None)


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is spelt, or `NaN`, `Infinity`, `-Infinity`."""

    text: str


def read(text: str) -> Any:
    """Read JSON: `Members`, lists, strings, `Number`, booleans and `None`.

    Raises:
        ValueError: It is none.
        RecursionError: It is none, and nested too deep for Python to see it.
    """
    is_deep = text.count("[") + text.count("{") > MOST_DEPTH
    return json.loads(
        _shallow(text) if is_deep else text,
        object_pairs_hook=Members,
        parse_float=Number,
        parse_int=Number,
        parse_constant=Number,
    )


def written(value: Any) -> str:
    """Write what `read` gives."""
    if isinstance(value, Number):
        return value.text
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, Members):
        pairs = [f"{_quoted(name)}:{written(inner)}" for name, inner in value]
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return json.dumps(value)


def _shallow(text: str) -> str:
    """The text with a string in place of what is nested deeper than Python reads.

    The checker reads any depth.
    """
    out = []
    depth = done = start = 0
    for token in STRING_OR_BRACKET.finditer(text):
        if token[0] in OPENING:
            depth += 1
            if depth == MOST_DEPTH:
                start = token.start()
        elif token[0] in CLOSING:
            depth -= 1
            if depth == MOST_DEPTH - 1:
                out += [text[done:start], json.dumps(text[start : token.end()])]
                done = token.end()
    return "".join([*out, text[done:]])


def _quoted(text: str) -> str:
    # UTF-8 has no lone surrogates, JSON text has them as escapes.
    return LONE_SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", encode_basestring(text))
