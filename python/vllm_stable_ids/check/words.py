"""Texts of a stream as they are safe to show."""

from __future__ import annotations


def shown(text: str) -> str:
    """The text without what would steer a terminal or break an XML document."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, width: int) -> str:
    """The text, shortened in the middle."""
    if len(text) <= width:
        return text
    head = (width - 1) * 2 // 3
    return f"{text[:head]}…{text[head + 1 - width :]}"


def plural(count: int, word: str) -> str:
    """How many there are."""
    if count == 1:
        return f"1 {word}"
    return f"{count:,} {word}{'es' if word.endswith('h') else 's'}"
