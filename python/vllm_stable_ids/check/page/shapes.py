"""The marks of the timeline as they are drawn."""

from __future__ import annotations

from vllm_stable_ids.check.page.markup import Html, tag

THOUSAND = 1000
ABOVE = frozenset({"delta", "part", "response", "error", "unreadable"})
TIMES = "\N{MULTIPLICATION SIGN}"


def shape(kind: str, x: float, y: float, count: int, *, wrong: bool) -> Html:
    """A mark around a point.

    Args:
        kind: What it is a mark of, as a `Mark` says.
        x: The point.
        y: The point.
        count: How many events it stands for.
        wrong: Whether an event breaks a rule.
    """
    drawn = _drawn(kind, x, y, count)
    name = f"shape {kind} wrong" if wrong else f"shape {kind}"
    # Not by colour alone. Where there is no room inside, it stands above.
    above = kind in ABOVE
    flag = tag("text", "!", x=x, y=y - 10 if above else y + 5, class_="flag") if wrong else None
    return tag("g", *drawn, flag, class_=name)


def _drawn(kind: str, x: float, y: float, count: int) -> list[Html]:
    if kind == "delta":
        width = 34 if count > 1 else 12
        pill = tag("rect", x=round(x - width / 2, 1), y=y - 8, width=width, height=16, rx=8)
        if count == 1:
            return [pill]
        return [pill, tag("text", compact(count), x=x, y=y + 4)]
    if kind == "part":
        return [tag("rect", x=x - 2.5, y=y - 7, width=5, height=14, rx=2)]
    if kind == "terminal":
        return [tag("path", d=f"M{x} {y - 12}l12 12-12 12-12-12z")]
    if kind in {"error", "unreadable"}:
        return [tag("path", d=f"M{x - 7} {y - 7}l14 14m0-14l-14 14")]
    return [tag("circle", cx=x, cy=y, r=5 if kind == "response" else 8)]


def compact(count: int) -> str:
    """How many, in five characters."""
    if count < THOUSAND:
        return f"{TIMES}{count}"
    for unit in ("k", "M"):
        count_of = count / THOUSAND
        if count_of < THOUSAND:
            return f"{count_of:.3g}{unit}"
        count //= THOUSAND
    return "many"
