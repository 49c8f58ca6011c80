"""Changes to upstream's objects, and how they are taken back."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    Change = tuple[Any, str, Any]
    """An object, the field of it to set, and the value."""


class Edits:
    """Changes made for one event of upstream's, which can be taken back.

    Attributes:
        inserted: The types of the events that are sent besides it.
        repaired: The fields that were corrected, as (field, event, item type).
    """

    __slots__ = ("_made", "inserted", "repaired")

    def __init__(self) -> None:
        """Start with no change made."""
        self._made: list[tuple[Any, str, Any]] = []
        self.inserted: list[str] = []
        self.repaired: list[tuple[str, str, str]] = []

    @property
    def made_any(self) -> bool:
        """Whether any field was set."""
        return bool(self._made)

    def set(self, target: Any, name: str, value: Any) -> None:
        """Set a field."""
        before = getattr(target, name)
        setattr(target, name, value)
        self._made.append((target, name, before))

    def apply(self, changes: Iterable[Change]) -> None:
        """Set several fields."""
        for target, name, value in changes:
            self.set(target, name, value)

    def correct(self, item: Any, corrections: dict[str, str], told: str) -> None:
        """Set fields of an item.

        Args:
            item: The item.
            corrections: What to set.
            told: The event that has it: `added`, `done` or `terminal`.
        """
        for field, value in corrections.items():
            self.set(item, field, value)
            self.repaired.append((field, told, item.type))

    def undo(self) -> None:
        """Take every change back."""
        while self._made:
            target, name, value = self._made.pop()
            # What could be set can be set back; if not, the stream matters more.
            with contextlib.suppress(Exception):
                setattr(target, name, value)
