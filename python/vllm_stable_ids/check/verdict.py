"""What is known of a stream in the end; docs/check.md describes each member."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

Status = Literal["kept", "broken", "not_judged"]
Format = Literal["sse", "jsonl"]

EXIT_STATUS: dict[Status, int] = {"kept": 0, "broken": 1, "not_judged": 2}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a stream was not judged, or not to its end."""

    code: str
    message: str
    advice: str
    unquoted: str | None = None
    """The message without what the server said, where it quotes that."""

    def without_quotes(self) -> Reason:
        """The same in our own words."""
        return self if self.unquoted is None else replace(self, message=self.unquoted)


@dataclass(frozen=True, slots=True)
class Told:
    """What one event told of an item."""

    event: int
    output_index: int | None
    type: str
    id: str | None
    call_id: str | None
    name: str | None
    differs: list[str]


@dataclass(frozen=True, slots=True)
class Item:
    """An item as it was first told, and what was told of it each time."""

    response: int
    output_index: int
    type: str
    id: str | None
    call_id: str | None
    name: str | None
    added: Told | None
    done: Told | None
    terminal: Told | None


@dataclass(frozen=True, slots=True)
class Breach:
    """Something that is wrong, and where it was seen first."""

    rule: str
    breach: str
    event: int
    event_type: str
    sequence_number: int | None
    times: int
    response: int
    output_index: int | None
    item_type: str | None
    field: str | None
    announced: str | None
    said: str | None
    mended: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that was broken, and how often."""

    rule: str
    count: int
    title: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something worth knowing that breaks no rule."""

    note: str
    event: int
    times: int
    sentence: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Who probably sent the stream."""

    server: Literal["vllm", "other", "unknown"]
    path: Literal["simple", "harmony"] | None
    because: str | None


@dataclass(frozen=True, slots=True)
class Stream:
    """What the core found in a stream."""

    events: int
    responses: int
    end: Literal["completed", "incomplete", "failed", "error", "none"]
    joined: bool
    cut: bool
    limit: str | None
    origin: Origin
    items: list[Item]
    more_items: int
    breaches: list[Breach]
    more_breaches: int
    rules: list[Rule]
    notes: list[Note]

    @classmethod
    def of_core(cls, text: str) -> tuple[str, Stream]:
        """Read what the core says: its outcome, and the stream."""
        found = json.loads(text)
        found["origin"] = _made(Origin, found["origin"])
        found["items"] = [_item(item) for item in found["items"]]
        found["breaches"] = [_made(Breach, breach) for breach in found["breaches"]]
        found["rules"] = [_made(Rule, rule) for rule in found["rules"]]
        found["notes"] = [_made(Note, note) for note in found["notes"]]
        return found["outcome"], _made(cls, found)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checker says of its input."""

    source: str
    status: Status
    reason: Reason | None
    format: Format | None
    bytes: int
    stream: Stream | None
    advice: str

    @property
    def exit_status(self) -> int:
        """The exit status of the command."""
        return EXIT_STATUS[self.status]

    @property
    def essence(self) -> object:
        """What a redacted copy must have in common: all but ids and names."""
        if self.stream is None:
            return self.status, self.reason and self.reason.code
        kinds = [
            (breach.rule, breach.breach, breach.event, breach.times, breach.output_index)
            for breach in self.stream.breaches
        ]
        return self.status, self.stream.rules, kinds, self.stream.end, self.stream.origin


def _made(cls: type[T], members: Mapping[str, Any]) -> T:
    names = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    return cls(**{name: members[name] for name in names})


def _item(item: dict[str, Any]) -> Item:
    for telling in ("added", "done", "terminal"):
        told = item[telling]
        item[telling] = None if told is None else _made(Told, told)
    return _made(Item, item)
