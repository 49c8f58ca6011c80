"""The checker's page: what is on it, that it stands alone, and that no stream gets into it."""

from __future__ import annotations

import base64
import hashlib
import json
import random
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from vllm_stable_ids.check import judge
from vllm_stable_ids.check.page import Timeline, as_html, timeline
from vllm_stable_ids.cli import app

CAPTURES = Path(__file__).parent / "captures"
RECORDED = ["simple-0.29.sse", "harmony-0.29.sse", "kept.sse", "kept.jsonl"]
VOID = {"line", "meta", "path", "circle", "rect"}
LOADS = {"src", "srcset", "action", "formaction", "data", "poster", "background", "xlink:href"}
INJECTED = (
    "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&"
    "</title></pre></code></style><style>*{display:none}</style>"
    "\u202egnp.exe\u2066\x00\ud800\u2028\x1b[31m<!-- ]]>"
)


class Page(HTMLParser):
    """A page as it was read, which must be well formed."""

    def __init__(self, html: bytes) -> None:
        """Read it to its end."""
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, str] = {}
        self.feed(html.decode())
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in an element."""
        assert len({name for name, _ in attrs}) == len(attrs)
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take in an element that holds nothing."""
        assert tag in VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """It must be the element that was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Take in text."""
        self.texts[self.open[-1] if self.open else ""] = (
            self.texts.get(self.open[-1] if self.open else "", "") + data
        )

    @property
    def text(self) -> str:
        """All of its text but what is no content."""
        return " ".join(text for tag, text in self.texts.items() if tag not in {"script", "style"})

    def all(self, tag: str, **attributes: str) -> list[dict[str, str]]:
        """The attributes of the elements of that name that have these."""
        return [
            found
            for name, found in self.elements
            if name == tag and attributes.items() <= found.items()
        ]


def page_of(raw: bytes, source: str = "s.sse", size: int = 1 << 16) -> tuple[Page, bytes]:
    """The page of a stream that comes in pieces."""
    seen = Timeline()
    pieces = (raw[at : at + size] for at in range(0, len(raw), size))
    verdict = judge(pieces, source, seen.feed)
    seen.finish()
    if verdict.stream is not None:
        assert seen.events == verdict.stream.events
    html = as_html(verdict, seen)
    return Page(html), html


def frame(kind: str, **members: Any) -> bytes:
    """An event, as no decent server would send it."""
    text = json.dumps({"type": kind, **members})
    return f"data: {text}\n\n".encode()


def hostile() -> bytes:
    """A stream that says markup wherever it can say anything."""
    item = {"id": INJECTED, "call_id": INJECTED, "name": INJECTED, "type": "function_call"}
    raw = json.dumps(INJECTED, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return b"".join(
        (
            frame("response.created", response={"id": INJECTED}),
            frame("response.output_item.added", output_index=0, item=item),
            frame("response.function_call_arguments.delta", item_id=INJECTED, delta=INJECTED),
            frame("response." + INJECTED, output_index=0, item_id=f"{INJECTED}x"),
            b'data: {"type": "response.x", "a": ' + raw + b"}\n\n",
            f"event: {INJECTED[:80]}\ndata: {INJECTED[:80]}\n\n".encode(),
            frame("response.completed", response={"id": "r", "output": [{**item, "id": "y"}]}),
        )
    )


@pytest.mark.parametrize("name", RECORDED)
def test_a_page_stands_alone_and_its_links_lead_somewhere(name: str) -> None:
    page, html = page_of((CAPTURES / name).read_bytes())
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.elements:
        assert not LOADS & attributes.keys(), tag
        assert not any(attribute.startswith("on") for attribute in attributes)
        assert "style" not in attributes  # the policy would refuse it
        if "href" in attributes:
            assert attributes["href"][0] == "#"
            assert attributes["href"][1:] in ids
        for refers in ("aria-labelledby", "aria-describedby"):
            assert attributes.get(refers, "verdict") in ids
    assert {tag for tag, _ in page.elements}.isdisjoint(
        {
            "link",
            "iframe",
            "object",
            "embed",
            "base",
            "form",
            "img",
            "use",
            "image",
            "foreignobject",
        }
    )
    assert b"http://" not in html
    assert b"https://" not in html
    assert "url(" not in page.texts["style"]
    assert "import" not in page.texts["style"]


def test_the_policy_lets_only_the_page_itself_act() -> None:
    page, _ = page_of((CAPTURES / "kept.sse").read_bytes())
    (policy,) = page.all("meta", **{"http-equiv": "Content-Security-Policy"})
    allowed = policy["content"]
    assert allowed.startswith("default-src 'none'; base-uri 'none'; form-action 'none'; ")
    assert "unsafe" not in allowed
    for part, element in (("style-src", "style"), ("script-src", "script")):
        digest = hashlib.sha256(page.texts[element].encode()).digest()
        assert f"{part} 'sha256-{base64.b64encode(digest).decode()}'" in allowed


def test_the_fault_is_told_drawn_and_linked() -> None:
    page, html = page_of((CAPTURES / "simple-0.29.sse").read_bytes())
    assert "Broken" in page.texts["span"]
    assert "3 breaches of C1" in page.text
    assert "pip install vllm-stable-ids" in page.text
    # The table, and beside the last mark of a lane the announced id and the one said.
    assert page.texts["code"].count("chatcmpl-tool-878dd447ef4d81ef") == 1
    assert page.texts["tspan"].count("call_951f53b107639ed7") == 1
    assert page.texts["tspan"].count("chatcmpl-tool-878dd447ef4d81ef") == 1
    assert {found["href"] for found in page.all("a", **{"class": "callout"})} == {
        "#b1",
        "#b2",
        "#b3",
    }
    # A lane for each item and one for the response; two deltas are one mark.
    marks = page.all("a", **{"class": "mark"})
    assert [mark["aria-label"].split(",")[0] for mark in marks if mark["href"] == "#e5"] == [
        "event 5 to 6"
    ]
    assert sum(mark["href"] == "#e15" for mark in marks) == 3
    assert html.count(b"<h1") == 1
    assert "Says: " in page.texts["p"]
    assert "The user asks for the weather." in page.texts["q"]


def test_what_is_right_is_drawn_without_a_fault() -> None:
    page, _ = page_of((CAPTURES / "kept.sse").read_bytes())
    assert "Kept" in page.texts["span"]
    assert "breaches" not in {found.get("id") for _, found in page.elements}
    assert not page.all("a", **{"class": "callout"})


def test_nothing_of_a_stream_becomes_markup() -> None:
    ordinary, _ = page_of((CAPTURES / "simple-0.29.sse").read_bytes())
    page, html = page_of(hostile(), source=INJECTED)
    assert len(page.all("script")) == len(page.all("style")) == len(page.all("title")) == 1
    assert {tag for tag, _ in page.elements} <= {*(tag for tag, _ in ordinary.elements), "p"}
    names = {name for _, attributes in ordinary.elements for name in attributes}
    assert {name for _, attributes in page.elements for name in attributes} <= names
    assert page.texts["script"] == ordinary.texts["script"]
    assert page.texts["style"] == ordinary.texts["style"]
    # It is there to be read, and steers neither the browser nor the reader.
    assert "<img src=x onerror=alert(1)>" in page.texts["pre"]
    read = html.decode()
    assert not {"\u202e", "\u2066", "\x00", "\u2028", "\x1b"}.intersection(read)
    assert "\\u202e" in read
    assert "\\ud800" in read


def test_what_is_no_stream_has_a_page_too() -> None:
    for raw in (b"", b"<html><script>alert(1)</script>", b"\xff\xfe\x00"):
        page, _ = page_of(raw)
        assert "Not judged" in page.texts["span"]
        assert not page.all("svg")


def test_a_long_stream_gives_a_short_page() -> None:
    delta = "response.output_text.delta"
    raw = frame("response.created", response={"id": "r"}) + b"".join(
        frame(
            delta,
            output_index=number % 2,
            item_id=f"m{number % 2}",
            content_index=0,
            delta="<&>'\"" * 60,
        )
        for number in range(8_000)
    )
    page, html = page_of(raw, size=1000)
    shown = timeline.FIRST_MARKS + timeline.LAST_MARKS
    assert len(page.all("details")) == shown
    assert f"{8_001 - shown:,} events left out here: 1,501 to 7,501" in page.texts["li"]
    assert len(html) < 4_000_000
    # Deltas of one part are one mark, however many.
    raw = frame("response.created", response={"id": "r"}) + 20_000 * frame(
        delta, output_index=0, item_id="m", content_index=0, delta="word "
    )
    page, html = page_of(raw)
    assert "2 to 20001" in page.texts["span"]
    assert len(page.all("details")) == 2
    assert len(html) < 40_000


def test_a_huge_frame_is_shortened_and_still_known() -> None:
    output = [{"id": "m", "type": "message", "content": [{"text": "<" * (2 << 20)}]}]
    raw = frame("response.created", response={"id": "r"})
    raw += frame("response.completed", response={"id": "r", "output": output})
    page, html = page_of(raw)
    assert "bytes are left out here" in page.texts["pre"]
    assert "response.completed" in page.texts["span"]
    assert len(html) < 60_000


def counted(raw: bytes, size: int) -> tuple[int, int]:
    """How many events the timeline counts, and the core."""
    seen = Timeline()
    pieces = (raw[at : at + size] for at in range(0, len(raw), size))
    verdict = judge(pieces, "s.sse", seen.feed)
    seen.finish()
    return seen.events, 0 if verdict.stream is None else verdict.stream.events


def test_events_are_counted_as_the_core_counts_them() -> None:
    good = (CAPTURES / "simple-0.29.sse").read_bytes()
    rng = random.Random(5)
    junk = [b"\n", b"\r", b"\r\n", b"\n\n", b": hm\n", b"data:\n", b"data: [DONE]\n\n", b"x", b"{"]
    for _ in range(100):
        mutated = bytearray(good)
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(mutated))
            mutated[at : at + rng.choice([0, 0, 1, 40])] = rng.choice(junk)
        seen, there = counted(bytes(mutated), rng.choice([7, 333, 5000]))
        assert seen == there
    for raw in (
        good + b"data: [DONE]\n\n",
        good.replace(b"\n", b"\r\n"),
        good.replace(b"\n", b"\r"),
        b"\xef\xbb\xbf" + good,
    ):
        assert counted(raw, 1) == counted(raw, 64) == (15, 15)


def test_the_event_line_counts_where_the_payload_has_no_type() -> None:
    raw = b'event: response.created\ndata: {"response": {"id": "r"}}\n\n'
    raw += frame("ping") + b'event: response.completed\ndata: {"type": "x", "response": {}}\n\n'
    page, _ = page_of(raw)
    marks = [mark["aria-label"] for mark in page.all("a", **{"class": "mark"})]
    assert marks == ["event 1, response.created", "event 2, ping", "event 3, response.completed"]


def test_the_command_writes_it_and_says_where_it_cannot(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    asked = ["check", str(CAPTURES / "simple-0.29.sse"), "--html"]
    done = CliRunner().invoke(app, [*asked, str(file)])
    assert done.exit_code == 1
    assert "BROKEN" in done.stdout
    assert Page(file.read_bytes()).all("svg")
    target = tmp_path / "missing" / "report.html"
    done = CliRunner().invoke(app, [*asked, str(target)])
    assert done.exit_code == 2
    assert f"cannot write {target}: No such file or directory" in done.stderr
