"""Shows a verdict to people: the table, the breaches, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from vllm_stable_ids.check.words import plural, shortened, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, RenderableType

    from vllm_stable_ids.check.verdict import Breach, Item, Origin, Stream, Told, Verdict

MARK = " *"
WRONG = "bold red"
FAINT = "dim"
ITEMS = 50
BREACHES = 50
WIDTH = 44
LABEL = {"kept": "KEPT", "broken": "BROKEN", "not_judged": "NOT JUDGED"}
STYLE = {"kept": "bold green", "broken": WRONG, "not_judged": "bold yellow"}
COLUMNS = ("type", "id", "call_id")
IF_WRONG = ("output_index", "name")


def show(verdict: Verdict, console: Console) -> None:
    """Write the verdict to the console."""
    for part in _parts(verdict):
        console.print(part, soft_wrap=not isinstance(part, Table))


def _parts(verdict: Verdict) -> Iterator[RenderableType]:
    stream = verdict.stream
    if stream is not None:
        yield Text(f"{_source(verdict)}: {_summary(stream)}")
        if stream.items:
            yield Text()
            yield _table(stream)
            yield from _more(len(stream.items), ITEMS, stream.more_items, "item")
        if stream.breaches:
            yield Text()
            yield from map(_breach, stream.breaches[:BREACHES])
            yield from _more(len(stream.breaches), BREACHES, stream.more_breaches, "breach")
            yield Text()
            for rule in stream.rules:
                yield Text(f"{rule.rule:<5} {rule.title}: {plural(rule.count, 'time')}")
        if stream.notes:
            yield Text()
        for note in stream.notes:
            times = f" ({plural(note.times, 'time')})" if note.times > 1 else ""
            yield Text(f"note  event {note.event}: {shown(note.sentence)}{times}", style=FAINT)
        yield Text()
    yield _judgement(verdict)
    yield Text(shown(verdict.advice))


def _source(verdict: Verdict) -> str:
    return "standard input" if verdict.source == "-" else shown(verdict.source)


def _summary(stream: Stream) -> str:
    parts = [plural(stream.events, "event")]
    if stream.responses > 1:
        parts.append(plural(stream.responses, "response"))
    if origin := _origin(stream.origin):
        parts.append(origin)
    return ", ".join(parts)


def _origin(origin: Origin) -> str:
    if origin.server == "unknown":
        return ""
    if origin.server == "other":
        return "probably not vLLM"
    return "probably vLLM" + (f", {origin.path} path" if origin.path else "")


def _table(stream: Stream) -> Table:
    tellings = [
        told
        for item in stream.items
        for told in (item.added, item.done, item.terminal)
        if told is not None
    ]
    # Few need more than these; what does has a column where it is wrong.
    wrong = [name for name in IF_WRONG if any(name in told.differs for told in tellings)]
    columns = [*COLUMNS, *wrong]
    table = Table(box=None, pad_edge=False, header_style=FAINT, padding=(0, 2, 0, 0))
    table.add_column("index", justify="right")
    table.add_column("told in")
    for name in columns:
        table.add_column(name, overflow="fold")
    several = stream.responses > 1
    end = stream.end if stream.end in {"completed", "incomplete", "failed"} else "completed"
    for item in stream.items[:ITEMS]:
        label = f"{item.response}:{item.output_index}" if several else str(item.output_index)
        for telling, told in _tellings(item, end):
            table.add_row(Text(label), Text(telling), *_row(told, columns))
            label = ""
    return table


def _tellings(item: Item, end: str) -> tuple[tuple[str, Told | None], ...]:
    return ("added", item.added), ("done", item.done), (end, item.terminal)


def _row(told: Told | None, columns: list[str]) -> list[Text]:
    if told is None:
        return [Text("—", style=FAINT)] * len(columns)
    return [_cell(getattr(told, name), wrong=name in told.differs) for name in columns]


def _cell(value: str | int | None, *, wrong: bool) -> Text:
    text = Text(shortened(shown(str(value)), WIDTH) if value is not None else "")
    if wrong:
        text = Text.assemble((text.plain or "none", WRONG), (MARK, WRONG))
    return text


def _breach(breach: Breach) -> Text:
    where = f"event {breach.event}"
    if breach.event_type:
        where += f", {shortened(shown(breach.event_type), WIDTH)}"
    times = f" ({plural(breach.times, 'time')})" if breach.times > 1 else ""
    return Text.assemble((f"{breach.rule:<5} ", WRONG), f"{where}: {shown(breach.sentence)}{times}")


def _more(listed: int, limit: int, beyond: int, word: str) -> Iterator[Text]:
    rest = max(listed - limit, 0) + beyond
    if rest:
        yield Text(f"and {plural(rest, f'more {word}')}; --json lists up to 1,000", style=FAINT)


def _judgement(verdict: Verdict) -> Text:
    label = (LABEL[verdict.status], STYLE[verdict.status])
    stream = verdict.stream
    if verdict.status == "broken" and stream is not None:
        count = plural(sum(rule.count for rule in stream.rules), "breach")
        rules = ", ".join(rule.rule for rule in stream.rules)
        return Text.assemble(label, f": {count} of {rules}")
    if verdict.reason is not None:
        what = f"{_source(verdict)}: {shown(verdict.reason.message)}"
        return Text.assemble(label, f": {what}")
    return Text.assemble(label, ": every item keeps its identity from its announcement to the end")
