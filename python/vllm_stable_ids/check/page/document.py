"""Puts the page together. It loads nothing, and no script runs but its own."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from vllm_stable_ids.check.page.chart import chart_of
from vllm_stable_ids.check.page.events import events_of
from vllm_stable_ids.check.page.markup import Html, joined, tag
from vllm_stable_ids.check.page.places import Places
from vllm_stable_ids.check.page.summary import (
    LABEL,
    breaches_of,
    items_of,
    notes_of,
    verdict_of,
)

if TYPE_CHECKING:
    from vllm_stable_ids.check.page.timeline import Timeline
    from vllm_stable_ids.check.verdict import Verdict


def as_html(verdict: Verdict, timeline: Timeline) -> bytes:
    """The verdict as a page.

    Args:
        verdict: What the checker says.
        timeline: What was seen of the stream, to its end.
    """
    style, script = _own("style.css"), _own("script.js")
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    )
    title = f"{LABEL[verdict.status]}: {verdict.source}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", style),
    )
    body = tag(
        "body",
        tag("header", tag("h1", "vllm-stable-ids check"), _links(verdict)),
        tag("main", verdict_of(verdict), *_parts(verdict, timeline), id="main"),
        tag("script", script),
    )
    page = joined(Html("<!doctype html>\n"), tag("html", head, body, lang="en"))
    return page.encode()


def _parts(verdict: Verdict, timeline: Timeline) -> list[Html | None]:
    stream = verdict.stream
    if stream is None:
        return []
    places = Places(timeline.marks, stream)
    parts = [items_of(stream, places), breaches_of(stream, places), notes_of(stream, places)]
    if places.marks:
        parts += [chart_of(places), events_of(places)]
    return parts


def _links(verdict: Verdict) -> Html | None:
    stream = verdict.stream
    if stream is None:
        return None
    names = ["items"] if stream.items else []
    names += ["breaches"] if stream.breaches else []
    names += ["timeline", "events"]
    links = (tag("li", tag("a", name.capitalize(), href=f"#{name}")) for name in names)
    return tag("nav", tag("ul", *links), aria_label="Parts of this page")


def _own(name: str) -> Html:
    """A file of this package; neither has anything in it that ends its element."""
    return Html(files(__package__).joinpath(name).read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    """What the policy calls a text that is in the page."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
