"""What is known of a server in the end; docs/check.md describes each member."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vllm_stable_ids.check.live.failure import OPTIONAL
from vllm_stable_ids.check.verdict import EXIT_STATUS

if TYPE_CHECKING:
    from vllm_stable_ids.check.verdict import Reason, Status, Verdict


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict on one request, or on what the server says of it later."""

    request: str
    of: str | None
    """The request whose stream it is compared with; `None` for a stream itself."""
    title: str
    verdict: Verdict

    @property
    def is_left_out(self) -> bool:
        """Whether it was not judged for want of something that a server may lack."""
        reason = self.verdict.reason
        return (
            self.verdict.status == "not_judged" and reason is not None and reason.code in OPTIONAL
        )


@dataclass(slots=True)
class LiveVerdict:
    """What the checker says of a server."""

    url: str
    model: str | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    stopped: Reason | None = None
    """Why nothing more was asked."""

    @property
    def status(self) -> Status:
        """The verdict over all."""
        verdicts = [outcome.verdict for outcome in self.outcomes]
        if any(verdict.status == "broken" for verdict in verdicts):
            return "broken"
        return "kept" if self.reason is None else "not_judged"

    @property
    def exit_status(self) -> int:
        """The exit status of the command."""
        return EXIT_STATUS[self.status]

    @property
    def reason(self) -> Reason | None:
        """Why the server was not judged, or not in everything that counts."""
        if self.stopped is not None:
            return self.stopped
        for outcome in self.outcomes:
            if outcome.verdict.status == "not_judged" and not outcome.is_left_out:
                return outcome.verdict.reason
        streams = [outcome.verdict for outcome in self.outcomes if outcome.of is None]
        if streams and all(verdict.status == "not_judged" for verdict in streams):
            return streams[0].reason
        return None

    @property
    def advice(self) -> str:
        """What to do, a sentence or two."""
        broken = [outcome for outcome in self.outcomes if outcome.verdict.status == "broken"]
        if broken:
            # What mends a stream without the store would leave the answers to calls refused.
            worst = next((outcome for outcome in broken if outcome.of), broken[0])
            return worst.verdict.advice
        if self.reason is not None:
            return self.reason.advice
        notes = [outcome.verdict.advice for outcome in self.outcomes if outcome.of is None]
        notes += [outcome.verdict.advice for outcome in self.outcomes if outcome.is_left_out]
        said = list(
            dict.fromkeys(note for note in notes if not note.startswith("There is nothing"))
        )
        return " ".join(said) or "There is nothing to do."
