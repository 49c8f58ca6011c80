"""Rule C8: what the server says when it is asked again is what it streamed.

The core judges this, too: the stream is put together with what the server says later, and what it
finds wrong there is a breach.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vllm_stable_ids.check.capture import judge
from vllm_stable_ids.check.live.events import TERMINALS, Event, events_of, frames
from vllm_stable_ids.check.verdict import Breach, Note, Origin, Rule, Stream, Verdict
from vllm_stable_ids.check.words import plural

if TYPE_CHECKING:
    from collections.abc import Callable

TITLE = "the server keeps what it streamed, under the same ids"
ADVICE = (
    "Install vllm-stable-ids beside vLLM (pip install vllm-stable-ids) and restart it: what the "
    "server stores can only be mended inside of it."
)
# What the final response can be blamed for; that an item was never closed is the stream's fault.
OF_RESPONSE = {"C1", "C4", "C5", "C6", "C7", "C11"}


def stored_verdict(source: str, raw: bytes, stored: dict[str, Any]) -> Verdict:
    """Whether a stored response is what was streamed.

    Args:
        source: What to call the comparison.
        raw: The stream, which has a terminal event.
        stored: The response that the server gave later.
    """
    events = events_of(raw)
    end = next(place for place, event in enumerate(events) if event.get("type") in TERMINALS)
    joined = [*events[:end], {**events[end], "response": stored}]
    judged = judge([frames(joined)], source)

    def is_of_stored(breach: Breach) -> bool:
        return breach.event == len(joined) and breach.rule in OF_RESPONSE

    return _verdict(judged, is_of_stored, "the stored response")


def rejoined_verdict(source: str, raw: bytes, after: int, rest: bytes) -> Verdict:
    """Whether a stream that was joined again goes on as it did at first.

    Args:
        source: What to call the comparison.
        raw: The stream as it first came.
        after: The `sequence_number` after which it was joined again.
        rest: What came then.
    """
    events = events_of(raw)
    place = next(place for place, event in enumerate(events) if number(event) == after)
    known = events[: place + 1]
    at_first = {_said(breach) for breach in _breaches(judge([frames(events)], source))}
    judged = judge([frames([*known, *events_of(rest)])], source)

    def is_new(breach: Breach) -> bool:
        return breach.event > len(known) and _said(breach) not in at_first

    verdict = _verdict(judged, is_new, "the final response")
    first, again = _numbers(events[place + 1 :]), _numbers(events_of(rest))
    if verdict.status == "broken" or first == again:
        return verdict
    sentence = (
        f"Joined again after {after}, the stream has {_told(again)}; at first there were "
        f"{_told(first)}."
    )
    breach = _breach("other_events", sentence, event=len(known) + 1)
    return replace(verdict, status="broken", advice=ADVICE, stream=_stream([breach], judged.stream))


def unknown_call(source: str, call_id: str, answer: str) -> Verdict:
    """The verdict where the server does not know the `call_id` that it streamed."""
    sentence = f"The call was streamed with call_id {call_id}, but the server answers: {answer}"
    breach = replace(
        _breach("unknown_call", sentence),
        item_type="function_call",
        field="call_id",
        announced=call_id,
    )
    return Verdict(source, "broken", None, None, 0, _stream([breach]), ADVICE)


def number(event: Event) -> int | None:
    """The number of an event, if it has one."""
    found = event.get("sequence_number")
    return found if isinstance(found, int) else None


def _numbers(events: list[Event]) -> list[int | None]:
    return [number(event) for event in events]


def _told(numbers: list[int | None]) -> str:
    if not numbers:
        return "no events"
    return f"{plural(len(numbers), 'event')} from {numbers[0]} to {numbers[-1]}"


def _breach(kind: str, sentence: str, event: int = 0) -> Breach:
    """A breach that the core cannot see."""
    return Breach(
        rule="C8",
        breach=kind,
        event=event,
        event_type="",
        sequence_number=None,
        times=1,
        response=1,
        output_index=None,
        item_type=None,
        field=None,
        announced=None,
        said=None,
        mended=False,
        sentence=sentence,
    )


def _verdict(judged: Verdict, counts: Callable[[Breach], bool], instead: str) -> Verdict:
    """The verdict on what counts of the breaches."""
    found = [
        replace(
            breach,
            rule="C8",
            mended=False,
            sentence=breach.sentence.replace("he final response", f"he {instead[4:]}"),
        )
        for breach in _breaches(judged)
        if counts(breach)
    ]
    return replace(
        judged,
        status="broken" if found else "kept",
        reason=None,
        advice=ADVICE if found else "There is nothing to do.",
        stream=_stream(found, judged.stream),
    )


def _breaches(verdict: Verdict) -> list[Breach]:
    return verdict.stream.breaches if verdict.stream is not None else []


def _said(breach: Breach) -> tuple[object, ...]:
    return breach.rule, breach.breach, breach.output_index, breach.announced, breach.said


def _stream(breaches: list[Breach], judged: Stream | None = None) -> Stream:
    """What was found, with nothing of what the stream itself is judged for."""
    count = sum(breach.times for breach in breaches)
    rules = [Rule("C8", count, TITLE)] if breaches else []
    notes: list[Note] = []
    if judged is not None:
        return replace(judged, breaches=breaches, more_breaches=0, rules=rules, notes=notes)
    unknown = Origin("unknown", None, None)
    return Stream(
        events=0,
        responses=0,
        end="none",
        joined=False,
        cut=False,
        limit=None,
        origin=unknown,
        items=[],
        more_items=0,
        breaches=breaches,
        more_breaches=0,
        rules=rules,
        notes=notes,
    )
