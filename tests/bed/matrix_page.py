"""The results of `bed.matrix` in words: on the terminal, and as a page of the documentation."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    # What a result file of `bed.matrix` holds, and what of it one server and one output gave.
    Result = Mapping[str, Any]
    Side = Mapping[str, Any]
    Outcomes = Mapping[str, Mapping[str, Any]]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility-matrix.md"
SHOWN = 5
WIDEST = 200

INTRODUCTION = """\
Made by `make matrix`; do not edit. Real servers (`vllm serve`) of each vLLM said {scripted}
scripted outputs (`tests/bed/cases.json`) and {random} random ones a path
(`tests/bed/random_outputs.py`), once stock (`VLLM_STABLE_IDS=0`) and once with the plugin:
vllm-stable-ids {plugin}, openai {openai}. The simple path is a Qwen3-style model, harmony is
gpt-oss. A stream counts as clean when it keeps [the contract](contract.md), as does what the
server stored of it, and has OpenAI's event names (VOCABULARY) and id prefixes (PREFIX).
"""
PACE = """\
vLLM before 0.25 [loses text](contract.md#text-that-vllm-itself-loses) where it falls behind the
model, and random weights are faster than any model. Those versions were given one stream at a
time, at 30 ms a token.
"""
TABLE_HEAD = """\
| vLLM | path | scripted: stock | plugin | random: stock | plugin | stock broke | date |
|---|---|---|---|---|---|---|---|
"""


def summary(result: Result) -> Iterator[str]:
    """Yield the rows of one version, without frills for the terminal."""
    for path in result["paths"]:
        yield " | ".join(_row(result, path))


def troubles(result: Result) -> Iterator[str]:
    """Yield what broke with the plugin, and what could not be tried."""
    for path, sides in result["paths"].items():
        where = f"{result['vllm']} {path}"
        for name, side in sides.items():
            if side["failed"]:
                yield f"{where}: the {name} server did not start: {_reason(side['failed'])}"
        for kind in ("scripted", "random"):
            yield from _broken(where, sides["stock"][kind], sides["plugin"][kind])


def unserved(result: Result) -> Iterator[str]:
    """Yield the outputs for which the stock server had no end."""
    for path, sides in result["paths"].items():
        for name, outcome in _outcomes(sides["stock"]):
            if not outcome["ended"]:
                yield f"{result['vllm']} {path}: {name}: {_cut(outcome['breaches'][0])}"


def render(results: Iterable[Result], asked: Sequence[str]) -> tuple[str, bool]:
    """Return the page, and whether all was tried and nothing broke with the plugin."""
    known = sorted(results, key=lambda result: _order(result["vllm"]), reverse=True)
    missing = sorted(set(asked) - {result["vllm"] for result in known}, key=_order)
    if not known:
        return f"No results for {', '.join(missing)}.\n", False
    rows = [f"| {' | '.join(_row(result, path))} |" for result in known for path in result["paths"]]
    rows += [f"| {release} | | not tried | | | | | |" for release in missing]
    bad = [*chain.from_iterable(map(troubles, known))]
    bad += [f"{release}: no result; the environment could not be made" for release in missing]
    introduction = INTRODUCTION.format(
        plugin=_listed(result["plugin"] for result in known),
        openai=_listed(result["openai"] for result in known),
        random=_listed(str(result["random"]) for result in known),
        scripted=_scripted(known[0]),
    )
    page = "# Compatibility, measured\n\n"
    for paragraph in (introduction, PACE):
        page += f"{fill(paragraph, 100, break_on_hyphens=False)}\n\n"
    page += TABLE_HEAD + "\n".join(rows) + "\n"
    page += _section("Broken with the plugin", bad)
    page += _section(
        "Not served by vLLM itself",
        [*chain.from_iterable(map(unserved, known))],
        "The stock server refused these or dropped the connection. They are in no count.",
    )
    return page, not bad


def _row(result: Result, path: str) -> list[str]:
    """Return the cells of one version and path."""
    sides = result["paths"][path]
    stock, plugin = sides["stock"], sides["plugin"]
    cells = [result["vllm"], path]
    for kind in ("scripted", "random"):
        served = [name for name, outcome in stock[kind].items() if outcome["ended"]]
        cells += [_count(side[kind], served) for side in (stock, plugin)]
    rules = Counter[str]()
    for _, outcome in _outcomes(stock):
        rules.update(outcome["rules"].keys())
    cells += [" ".join(rule for rule, _ in rules.most_common()), result["date"]]
    return cells


def _count(outcomes: Outcomes, served: Sequence[str]) -> str:
    """Say how many of the outputs that vLLM serves came clean."""
    if not outcomes:
        return "not tried"
    clean = sum(not outcomes[name]["rules"] for name in served if name in outcomes)
    return f"{clean} of {len(served)}"


def _broken(where: str, stock: Outcomes, plugin: Outcomes) -> Iterator[str]:
    """Yield the first outputs that broke with the plugin; a lost end only where stock had one."""
    endless = {name for name, outcome in stock.items() if not outcome["ended"]}
    broken = [
        f"{where}: {name}: {_cut('; '.join(outcome['breaches']))}"
        for name, outcome in plugin.items()
        if outcome["rules"].keys() - ({"END"} if name in endless else set())
    ]
    yield from broken[:SHOWN]
    if broken[SHOWN:]:
        yield f"{where}: and {len(broken) - SHOWN} more"


def _outcomes(side: Side) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield from chain(side["scripted"].items(), side["random"].items())


def _scripted(result: Result) -> str:
    counts = [
        f"{len(sides['stock']['scripted'])} ({path})" for path, sides in result["paths"].items()
    ]
    return " and ".join(counts)


def _reason(failed: str) -> str:
    """Return the line of a server's log that says why it ended."""
    lines = failed.splitlines()
    errors = [line for line in lines if "Error" in line]
    return _cut((errors or lines)[-1].strip())


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[:WIDEST]}…"


def _listed(values: Iterable[str]) -> str:
    return ", ".join(sorted(set(values)))


def _order(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


def _section(title: str, lines: Sequence[str], text: str = "") -> str:
    if not lines:
        return ""
    listed = "\n".join(f"- `{line.replace('`', chr(39))}`" for line in lines)
    return f"\n## {title}\n\n" + (f"{text}\n\n" if text else "") + f"{listed}\n"
