"""The top of the page: the verdict, the table of the items, the breaches and the notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vllm_stable_ids.check.page.markup import Html, joined, tag
from vllm_stable_ids.check.words import plural, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vllm_stable_ids.check.page.places import Places
    from vllm_stable_ids.check.verdict import Item, Origin, Stream, Told, Verdict

LABEL = {"kept": "Kept", "broken": "Broken", "not_judged": "Not judged"}
COLUMNS = ("type", "id", "call_id")
IF_WRONG = ("output_index", "name")
ITEMS = 200
BREACHES = 1000
WIDTH = 64


def verdict_of(verdict: Verdict) -> Html:
    """What the checker says, and what to do."""
    stream = verdict.stream
    facts: list[tuple[str, str]] = [("Input", _source(verdict)), ("Size", f"{verdict.bytes:,} B")]
    if stream is not None:
        facts += [("Events", f"{stream.events:,}"), ("Items", f"{_items(stream):,}")]
        if stream.responses > 1:
            facts.append(("Responses", f"{stream.responses:,}"))
        facts.append(("Ends with", stream.end))
        if origin := _origin(stream.origin):
            facts.append(("Server", origin))
    return tag(
        "section",
        tag("h2", tag("span", LABEL[verdict.status], class_="label"), id="verdict"),
        tag("p", _judgement(verdict), class_="judgement"),
        tag("p", tag("strong", "What to do: "), verdict.advice, class_="advice"),
        tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in facts)),
        class_=f"verdict {verdict.status}",
        aria_labelledby="verdict",
    )


def items_of(stream: Stream, places: Places) -> Html | None:
    """Each time that the stream tells of an item as a whole."""
    if not stream.items:
        return None
    shown = stream.items[:ITEMS]
    tellings = [told for item in shown for _, told in _tellings(item, "") if told is not None]
    columns = [
        *COLUMNS,
        *(name for name in IF_WRONG if any(name in told.differs for told in tellings)),
    ]
    end = stream.end if stream.end in {"completed", "incomplete", "failed"} else "completed"
    head = tag("tr", *(tag("th", name, scope="col") for name in ("index", "told in", *columns)))
    several = stream.responses > 1
    groups = [_group(item, end, columns, places, several=several) for item in shown]
    table = tag(
        "table",
        tag("caption", "A value with an asterisk is not the one announced."),
        tag("thead", head),
        *groups,
    )
    return tag(
        "section",
        tag("h2", "Items", id="items"),
        # It scrolls where it is wider than the window, and so must be reachable.
        tag("div", table, class_="wide", tabindex=0, role="group", aria_label="Table of items"),
        _more(_items(stream) - len(shown), "item"),
        aria_labelledby="items",
    )


def breaches_of(stream: Stream, places: Places) -> Html | None:
    """Each breach, with a link to its event."""
    if not stream.breaches:
        return None
    rules = (
        tag("li", tag("b", rule.rule), f" {rule.title}: {plural(rule.count, 'time')}")
        for rule in stream.rules
    )
    shown = stream.breaches[:BREACHES]
    rest = len(stream.breaches) - len(shown) + stream.more_breaches
    return tag(
        "section",
        tag("h2", "Breaches", id="breaches"),
        tag("ul", *rules, class_="rules"),
        tag("ol", *_breaches(stream, places), class_="breaches"),
        _more(rest, "breach"),
        aria_labelledby="breaches",
    )


def notes_of(stream: Stream, places: Places) -> Html | None:
    """What is no breach."""
    if not stream.notes:
        return None
    notes = (
        tag(
            "li",
            _event_link(note.event, places),
            f": {note.sentence}",
            f" ({plural(note.times, 'time')})" if note.times > 1 else None,
        )
        for note in stream.notes
    )
    return tag(
        "section", tag("h2", "Notes", id="notes"), tag("ul", *notes), aria_labelledby="notes"
    )


def _items(stream: Stream) -> int:
    return len(stream.items) + stream.more_items


def _source(verdict: Verdict) -> str:
    return "standard input" if verdict.source == "-" else verdict.source


def _origin(origin: Origin) -> str:
    if origin.server == "unknown":
        return ""
    if origin.server == "other":
        return "probably not vLLM"
    return "probably vLLM" + (f", {origin.path} path" if origin.path else "")


def _judgement(verdict: Verdict) -> str:
    stream = verdict.stream
    if verdict.status == "broken" and stream is not None:
        count = plural(sum(rule.count for rule in stream.rules), "breach")
        return f"{count} of {', '.join(rule.rule for rule in stream.rules)}"
    if verdict.reason is not None:
        return verdict.reason.message
    return "Every item keeps its identity from its announcement to the end."


def _tellings(item: Item, end: str) -> tuple[tuple[str, Told | None], ...]:
    return ("added", item.added), ("done", item.done), (end, item.terminal)


def _group(item: Item, end: str, columns: list[str], places: Places, *, several: bool) -> Html:
    label = f"{item.response}:{item.output_index}" if several else str(item.output_index)
    rows = []
    for number, (telling, told) in enumerate(_tellings(item, end)):
        index = tag("th", label, scope="rowgroup", rowspan=3) if number == 0 else None
        link = None if told is None else places.link(told.event)
        name = telling if link is None else tag("a", telling, href=link)
        cells = [_cell(told, column) for column in columns]
        rows.append(tag("tr", index, tag("th", name, scope="row"), *cells))
    return tag("tbody", *rows)


def _cell(told: Told | None, column: str) -> Html:
    if told is None:
        return tag("td", tag("span", "not told", class_="unseen"), "—", class_="faint")
    value = getattr(told, column)
    text = "" if value is None else shortened(str(value), WIDTH)
    if column in told.differs:
        mark = joined(text or "none", " *", tag("span", " (differs)", class_="unseen"))
        return tag("td", tag("code", mark), class_="wrong")
    return tag("td", tag("code", text) if text else None)


def _breaches(stream: Stream, places: Places) -> Iterator[Html]:
    for breach in stream.breaches[:BREACHES]:
        yield tag(
            "li",
            tag("b", breach.rule),
            " ",
            _event_link(breach.event, places),
            f", {breach.event_type}" if breach.event_type else None,
            f": {breach.sentence}",
            f" ({plural(breach.times, 'time')})" if breach.times > 1 else None,
            id=f"b{places.number[id(breach)]}",
        )


def _event_link(event: int, places: Places) -> Html:
    link = places.link(event)
    text = f"event {event:,}"
    return joined(f"{text} (left out)") if link is None else tag("a", text, href=link)


def _more(rest: int, word: str) -> Html | None:
    if rest <= 0:
        return None
    return tag("p", f"and {plural(rest, f'more {word}')}, which are left out here", class_="faint")
