"""A picture of one stream, announced against terminal ids; `make pages` writes it.

It brings its own background, so that it can be read on a light page and on a dark one.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CAPTURE = ROOT / "tests" / "captures" / "simple-0.29.sse"
PICTURE = ROOT / "docs" / "one-stream.svg"

WIDTH, LEFT, LANE, TOP, STEP = 800, 250, 275, 76, 26
COLOURS = ("#00695c", "#4527a0")
WRONG = "#b71c1c"

Event = dict[str, Any]


def events(capture: str) -> list[Event]:
    """The events of a recording."""
    lines = (line.removeprefix("data: ") for line in capture.splitlines() if line[:5] == "data:")
    return [json.loads(line) for line in lines]


def _text(x: float, y: float, text: str, colour: str = "#212121", weight: str = "normal") -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" font-weight="{weight}">{escape(text)}</text>'


def _ids(item: Event) -> list[str]:
    return [item[name] for name in ("id", "call_id") if name in item]


def render() -> str:
    """Return the picture: a row for each event, a lane for each item."""
    announced: dict[int, list[str]] = {}
    drawn: list[str] = []
    y = TOP
    opened: dict[int, int] = {}
    for event in events(CAPTURE.read_text()):
        kind = event["type"]
        drawn.append(_text(16, y + 4, kind.removeprefix("response.")))
        if "output_index" in event:
            index: int = event["output_index"]
            x, colour = LEFT + index * LANE, COLOURS[index]
            drawn.append(f'<circle cx="{x}" cy="{y}" r="5" fill="{colour}"/>')
        if kind == "response.output_item.added":
            opened[index] = y
            announced[index] = _ids(event["item"])
            for line, value in enumerate(announced[index]):
                drawn.append(_text(x + 14, y + 4 + 16 * line, value, colour))
        elif kind == "response.output_item.done":
            drawn.append(
                f'<line x1="{x}" y1="{opened[index]}" x2="{x}" y2="{y}" '
                f'stroke="{colour}" stroke-width="2"/>'
            )
            for line, value in enumerate(_ids(event["item"])):
                right = value == announced[index][line]
                drawn.append(_text(x + 14, y + 4 + 16 * line, value, colour if right else WRONG))
            y += 16 * (len(announced[index]) - 1)
        elif kind == "response.completed":
            for place, item in enumerate(event["response"]["output"]):
                x = LEFT + place * LANE
                for line, value in enumerate(_ids(item)):
                    right = value == announced[place][line]
                    colour = COLOURS[place] if right else WRONG
                    said = value if right else f"≠ {value}"
                    drawn.append(_text(x - 5, y + 4 + 16 * line, said, colour, "bold"))
        y += STEP
    heads = [
        _text(LEFT - 5 + place * LANE, 44, f"output_index {place}", COLOURS[place], "bold")
        for place in announced
    ]
    height = y + 12
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            'font-family="ui-monospace, monospace" font-size="12">',
            "<title>One stream: what is announced, and what it ends with</title>",
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#fafafa" stroke="#bdbdbd"/>',
            _text(16, 44, "event", weight="bold"),
            *heads,
            *drawn,
            "</svg>\n",
        )
    )


if __name__ == "__main__":
    PICTURE.write_text(render())
