"""What is reported of what a server sends: all as it came, or redacted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.check.redact import MODEL

if TYPE_CHECKING:
    from vllm_stable_ids.check.redact import Redactor
    from vllm_stable_ids.check.verdict import Reason, Verdict


class Shown:
    """Makes of what came what is reported and kept.

    Attributes:
        unlike: What is redacted, and judged otherwise than what came.
    """

    def __init__(self, redactor: Redactor | None) -> None:
        """Begin.

        Args:
            redactor: Takes the content out; `None` leaves all as it is.
        """
        self._redactor = redactor
        self.unlike: list[str] = []

    def stream(self, raw: bytes) -> bytes:
        """A stream."""
        return raw if self._redactor is None else self._redactor.stream(raw)

    def document(self, content: dict[str, Any]) -> dict[str, Any]:
        """A request, or a stored response."""
        return content if self._redactor is None else self._redactor.document(content)

    def id(self, value: str) -> str:
        """An id."""
        return value if self._redactor is None else self._redactor.id(value)

    def model(self, name: str | None) -> str | None:
        """The name of a model."""
        return name if self._redactor is None or name is None else MODEL

    def reason(self, reason: Reason) -> Reason:
        """Why something was not judged."""
        return reason if self._redactor is None else reason.without_quotes()

    def verdict(self, shown: Verdict, judged: Verdict) -> Verdict:
        """The verdict on what is shown, which must be that on what came.

        Args:
            shown: The former.
            judged: The latter.
        """
        if shown.essence == judged.essence:
            return shown
        self.unlike.append(judged.source)
        return replace(shown, status=judged.status)
