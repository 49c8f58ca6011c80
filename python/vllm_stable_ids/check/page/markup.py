"""Builds HTML of which nothing that a stream says can become a part.

Text becomes markup in one place, `escaped`. Whatever is not `Html` goes through it.
"""

from __future__ import annotations

from html import escape

from vllm_stable_ids.check.words import shown

VOID = frozenset({"line", "meta", "path", "circle", "rect"})
"""Elements that are written without an end tag."""


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def escaped(text: str, *, quote: bool = False) -> Html:
    """Text as it can stand between tags, or, with its quotes escaped, in an attribute.

    Characters that do not print, or that turn the direction of what follows, are spelt out.
    """
    return Html(escape("\n".join(map(shown, text.split("\n"))), quote=quote))


def joined(*parts: str | None) -> Html:
    """The parts one after the other; nothing for `None`."""
    return Html(
        "".join(
            part if isinstance(part, Html) else escaped(part) for part in parts if part is not None
        )
    )


def tag(name: str, /, *parts: str | None, **attributes: str | float | None) -> Html:
    """An element.

    Args:
        name: What it is.
        parts: What is in it, as for `joined`.
        attributes: Its attributes. An underscore is a hyphen, one at the end is left out, and so
            is an attribute that is `None`.
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(str(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Html(f"<{name}{written}{'' if name == 'meta' else '/'}>")
    return Html(f"<{name}{written}>{joined(*parts)}</{name}>")
