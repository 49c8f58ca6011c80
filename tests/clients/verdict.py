"""Whether a client got through a case, told from what it said and from what the relay saw."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from clients.cases import ANSWER, CALLING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clients.relay import Turn

OK = "ok"
OTHER_IDS = "works, but answers call_ids that were not announced"
UNPAIRED = "unpaired: the output's call_id is that of no call"
LONGEST = 160

# Ids differ from run to run; what they are ids of is what matters.
_ID = re.compile(r"\b((?:[a-z]+[-_])+)?(?=[0-9a-f]*\d)[0-9a-f]{14,}\b")


def judge(
    case: str,
    said: Mapping[str, Any] | None,
    ending: str,
    turns: Sequence[Turn],
    stored_calls: Callable[[str], set[str]],
) -> str:
    """Return OK, or in one line what went wrong, the first thing that did.

    Args:
        case: The name of the case.
        said: What the driver said of the case; None where it said nothing.
        ending: How the driver's process ended, for a case of which it said nothing.
        turns: What the relay saw of the case.
        stored_calls: Gives the call_ids that the server has stored of a response.
    """
    if said is None:
        return ending
    if "error" in said:
        return plain(str(said["error"]))
    for turn in turns:
        if turn.failure is not None:
            return plain(turn.failure)
    if case in CALLING:
        wrong = _pairing(turns, stored_calls)
        if wrong is not None:
            return wrong
    # The simple path leaves the white space before a text to the model.
    if str(said.get("text")).strip() != ANSWER:
        return plain(f"the final text is {said.get('text')!r}")
    return _announced(turns) if case in CALLING else OK


def _pairing(turns: Sequence[Turn], stored_calls: Callable[[str], set[str]]) -> str | None:
    """Say what is wrong with the outputs that were sent for the calls."""
    answering = [turn for turn in turns if turn.answers]
    if not answering:
        return "no second turn: the tool's output was not sent"
    for turn in answering:
        known = {item.get("call_id") for item in turn.items if item.get("type") == "function_call"}
        before = turn.request.get("previous_response_id")
        if before:
            known |= stored_calls(str(before))
        if not known.issuperset(turn.answers):
            return UNPAIRED
    announced = len(turns[0].announced)
    answered = len({call_id for turn in answering for call_id in turn.answers})
    if announced != answered:
        return f"of {announced} calls {answered} were answered"
    return None


def _announced(turns: Sequence[Turn]) -> str:
    """Say whether the calls were answered under the ids that the stream announced.

    A client may add to an id, in the call and in its output: OpenClaw does where the item's own id
    is not as in the API.
    """
    answered = {call_id for turn in turns for call_id in turn.answers}
    kept = all(
        any(given == told or given.startswith(f"{told}_") for given in answered)
        for told in turns[0].announced
    )
    return OK if kept else OTHER_IDS


def plain(message: str) -> str:
    """Return a message in one line, without the ids of this run, and not endless."""
    line = _ID.sub(lambda found: f"{found[1] or ''}…", " ".join(message.split()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
