"""Changes to upstream's objects, and how they are taken back.

Fields are set without pydantic's checks: what is set has been decided, and the checks take longer
than the decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Change = tuple[dict[str, Any], str, Any]
    """The fields of an object, the one that was set, and what it was before."""


class Edits:
    """Changes made for the event of upstream's that is at hand, which can be taken back.

    Attributes:
        made: The fields that were set, with what they were before.
        inserted: The types of the events that are sent besides it.
        repaired: The fields that were corrected, as (field, event, item type).
    """

    __slots__ = ("inserted", "made", "repaired")

    def __init__(self) -> None:
        """Start with no change made."""
        self.made: list[Change] = []
        self.inserted: list[str] = []
        self.repaired: list[tuple[str, str, str]] = []

    def set(self, target: Any, name: str, value: Any) -> None:
        """Set a field."""
        fields = target.__dict__
        if name not in fields:
            # The model has it, and its class does not: vLLM is newer than its openai.
            fields = target.__pydantic_extra__
        self.made.append((fields, name, fields[name]))
        fields[name] = value

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
        while self.made:
            fields, name, value = self.made.pop()
            fields[name] = value

    def settle(self) -> None:
        """Have the changes stand, and be ready for another event."""
        self.made.clear()
        self.inserted.clear()
        self.repaired.clear()
