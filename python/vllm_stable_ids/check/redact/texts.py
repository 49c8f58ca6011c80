"""Masks texts so that they are equal, begin alike and continue each other as they did."""

from __future__ import annotations

from hashlib import blake2b
from random import SystemRandom

ASCII = "".join(map(chr, range(33, 127)))
WIDE = 0x4E00
WIDE_LETTERS = 20983
"""Characters from U+4E00 on, for those that are not ASCII; a prime number of them."""
TABLES = 256
BRACE = "{"
MOST_REMEMBERED = 1 << 20


class TextMasks:
    """Masks texts under one key.

    Each character becomes another, chosen by the key and all that stands before it: what is masked
    is equal as far as the texts are, and differs from the first character on in which they do.
    White space stays, and so does the number of characters. What stands before a brace does not
    count behind it: the markup of a call that was cut must still end with what was streamed of
    the arguments.
    """

    def __init__(self, key: bytes) -> None:
        """Begin.

        Args:
            key: Whoever does not know it cannot tell what was masked.
        """
        self._key = key
        places = range(len(ASCII))
        chance = SystemRandom()
        self._tables = [
            dict(zip(ASCII, chance.sample(places, len(places)), strict=True)) for _ in range(TABLES)
        ]
        self._known: dict[str, str] = {}
        self._size = 0

    def text(self, text: str) -> str:
        """A whole text."""
        masked = self._known.get(text)
        if masked is None:
            masked = self.begin().masked(text)
            self._size += len(text)
            if self._size > MOST_REMEMBERED:
                # The same text comes a few times in a row.
                self._known.clear()
                self._size = len(text)
            self._known[text] = masked
        return masked

    def begin(self) -> TextMask:
        """A text that comes in pieces."""
        return TextMask(self._key, self._tables)


class TextMask:
    """Masks one text, piece by piece."""

    def __init__(self, key: bytes, tables: list[dict[str, int]]) -> None:
        """Begin it; `TextMasks` does."""
        self._key = key
        self._tables = tables
        self._before = self._nothing()

    def _nothing(self) -> blake2b:
        return blake2b(key=self._key, digest_size=6)

    def masked(self, piece: str) -> str:
        """The next piece."""
        return "".join(map(self._letter, piece))

    def _letter(self, character: str) -> str:
        if character == BRACE:
            self._before = self._nothing()
        table, shift, *rest = self._before.digest()
        self._before.update(character.encode(errors="surrogatepass"))
        place = self._tables[table].get(character)
        if place is not None:
            return ASCII[(place + shift) % len(ASCII)]
        if character.isspace():
            return character
        if "\ud800" <= character <= "\udfff":
            # Half a surrogate pair makes the checker read the bytes of a text: it must stay one.
            return chr(0xD800 + (ord(character) + shift) % 0x400)
        factor = 1 + int.from_bytes(rest[:2], "big") % (WIDE_LETTERS - 1)
        summand = int.from_bytes(rest[2:], "big")
        return chr(WIDE + (factor * ord(character) + summand) % WIDE_LETTERS)
