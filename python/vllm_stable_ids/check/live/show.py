"""Shows the verdict on a server to people."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from vllm_stable_ids.check.table import BREACHES, FAINT, LABEL, STYLE, WRONG, show
from vllm_stable_ids.check.words import plural, shown

if TYPE_CHECKING:
    from rich.console import Console

    from vllm_stable_ids.check.live.outcome import LiveVerdict, Outcome
    from vllm_stable_ids.check.verdict import Breach, Verdict

SHORT = {"kept": "kept", "broken": "BROKEN", "not_judged": "not judged"}
NUMBER = re.compile(r"C(\d+)")


def show_live(live: LiveVerdict, console: Console) -> None:
    """Write the verdict to the console."""
    if live.outcomes:
        console.print(Text(_heading(live)), soft_wrap=True)
        console.print()
        console.print(_table(live))
        console.print()
    streams = {outcome.request: outcome.verdict for outcome in live.outcomes}
    for outcome in live.outcomes:
        if outcome.verdict.status == "broken":
            _show_broken(outcome, streams.get(outcome.of or ""), console)
    notes = _notes(live)
    for note in notes:
        console.print(Text(f"note  {shown(note)}", style=FAINT), soft_wrap=True)
    if notes:
        console.print()
    if live.stopped is not None and live.status == "broken":
        console.print(
            Text(f"Nothing more was asked: {shown(live.stopped.message)}"), soft_wrap=True
        )
    console.print(_judgement(live), soft_wrap=True)
    console.print(Text(shown(live.advice)), soft_wrap=True)


def _heading(live: LiveVerdict) -> str:
    model = f", model {live.model}" if live.model else ""
    streams = [outcome.verdict.stream for outcome in live.outcomes if outcome.of is None]
    known = [stream.origin for stream in streams if stream and stream.origin.server == "vllm"]
    paths = [origin.path for origin in known if origin.path]
    origin = ", probably vLLM" if known else ""
    if paths:
        origin += f", {paths[0]} path"
    return shown(f"{live.url}{model}{origin}")


def _table(live: LiveVerdict) -> Table:
    table = Table(box=None, pad_edge=False, header_style=FAINT, padding=(0, 2, 0, 0))
    for name in ("request", "verdict", ""):
        table.add_column(name, overflow="fold")
    for outcome in live.outcomes:
        verdict = outcome.verdict
        title = f"  {outcome.title}" if outcome.of else outcome.title
        style = FAINT if outcome.is_left_out else STYLE[verdict.status]
        table.add_row(Text(title), Text(SHORT[verdict.status], style), Text(_why(verdict)))
    return table


def _why(verdict: Verdict) -> str:
    """Which rules were broken, or why it was not judged."""
    if verdict.status == "broken" and verdict.stream is not None:
        return ", ".join(f"{rule.rule} ({rule.count:,})" for rule in verdict.stream.rules)
    if verdict.status == "not_judged" and verdict.reason is not None:
        return shown(verdict.reason.message)
    if verdict.stream is None or not verdict.stream.notes:
        return ""
    return f"noted: {', '.join(note.note for note in verdict.stream.notes)}"


def _show_broken(outcome: Outcome, of: Verdict | None, console: Console) -> None:
    """Write what is wrong with an answer.

    Args:
        outcome: The answer.
        of: The stream that it is compared with, if it is.
        console: Where to.
    """
    stream = outcome.verdict.stream
    if stream is None:
        return
    if outcome.of is None and stream.items:
        # Notes and what to do are the same for all, and said once.
        alone = replace(stream, notes=[])
        show(replace(outcome.verdict, source=outcome.title, stream=alone, advice=""), console)
        return
    title = f"{outcome.of}, {outcome.title}" if outcome.of else outcome.title
    known = of.stream.breaches if of is not None and of.stream is not None else []
    if {_said(breach) for breach in stream.breaches} <= {_said(breach) for breach in known}:
        count = plural(sum(rule.count for rule in stream.rules), "breach")
        again = f"{title}: what was wrong in the final response is stored, {count} of C8"
        console.print(Text(again), soft_wrap=True)
    else:
        console.print(Text(f"{title}:"), soft_wrap=True)
        for breach in stream.breaches[:BREACHES]:
            text = Text.assemble((f"{breach.rule:<5} ", WRONG), shown(breach.sentence))
            console.print(text, soft_wrap=True)
    console.print()


def _said(breach: Breach) -> tuple[object, ...]:
    return breach.breach, breach.output_index, breach.field, breach.announced, breach.said


def _notes(live: LiveVerdict) -> list[str]:
    """What is worth knowing, once each, as it was first seen."""
    found: dict[str, str] = {}
    for outcome in live.outcomes:
        for note in outcome.verdict.stream.notes if outcome.verdict.stream is not None else []:
            found.setdefault(note.note, f"{outcome.title}, event {note.event}: {note.sentence}")
    return list(found.values())


def _judgement(live: LiveVerdict) -> Text:
    label = (LABEL[live.status], STYLE[live.status])
    if live.status == "broken":
        broken = [outcome for outcome in live.outcomes if outcome.verdict.status == "broken"]
        streams = [outcome.verdict.stream for outcome in broken]
        rules = {rule.rule for stream in streams if stream for rule in stream.rules}
        named = ", ".join(sorted(rules, key=_place))
        judged = sum(outcome.verdict.status != "not_judged" for outcome in live.outcomes)
        of_all = f"{len(broken)} of {plural(judged, 'answer')}"
        return Text.assemble(label, f": {of_all}, by {named}")
    if live.reason is not None:
        return Text.assemble(label, f": {shown(f'{live.url}: {live.reason.message}')}")
    left = [outcome for outcome in live.outcomes if outcome.is_left_out]
    rest = f"; {plural(len(left), 'request')} not judged" if left else ""
    return Text.assemble(label, f": every item keeps its identity{rest}")


def _place(rule: str) -> tuple[bool, int, str]:
    """Where a rule stands among the others: C1 to C12, then those without a number."""
    number = NUMBER.fullmatch(rule)
    return number is None, int(number[1]) if number else 0, rule
