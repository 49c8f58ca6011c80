"""The compatibility matrix tells what its results hold, and is red where the plugin broke."""

from __future__ import annotations

from typing import Any

from bed import matrix_page

CLEAN: dict[str, Any] = {"ended": True, "rules": {}, "breaches": []}
BROKEN: dict[str, Any] = {"ended": True, "rules": {"C1": 1}, "breaches": ["C1 at 4: another id"]}
CUT: dict[str, Any] = {"ended": False, "rules": {"END": 1}, "breaches": ["END at -1: no end"]}


def side(*scripted: dict[str, Any], failed: str = "") -> dict[str, Any]:
    outcomes = {f"q-{number}": outcome for number, outcome in enumerate(scripted)}
    return {"failed": failed, "log": [], "scripted": outcomes, "random": {}}


def page(stock: dict[str, Any], plugin: dict[str, Any]) -> tuple[str, bool]:
    paths = {"simple": {"stock": stock, "plugin": plugin}}
    common = {"plugin": "1.0", "openai": "3.0", "date": "2026-01-01", "random": 100}
    return matrix_page.render([{"vllm": "0.30.0", "paths": paths, **common}], ["0.30.0"])


def test_what_the_plugin_repairs_is_good() -> None:
    text, good = page(side(BROKEN, CLEAN), side(CLEAN, CLEAN))
    assert good
    assert "| 0.30.0 | simple | 1 of 2 | 2 of 2 | not tried | not tried | C1 | 2026-01-01 |" in text


def test_what_breaks_with_the_plugin_is_not() -> None:
    text, good = page(side(CLEAN, CLEAN), side(CLEAN, BROKEN))
    assert not good
    assert "- `0.30.0 simple: q-1: C1 at 4: another id`" in text


def test_what_vllm_cannot_serve_is_told_and_not_counted() -> None:
    text, good = page(side(CLEAN, CUT), side(CLEAN, CUT))
    assert good
    assert "| 1 of 1 | 1 of 1 |" in text
    assert "- `0.30.0 simple: q-1: END at -1: no end`" in text


def test_an_end_lost_with_the_plugin_alone_is_a_breach() -> None:
    assert not page(side(CLEAN), side(CUT))[1]


def test_a_server_that_does_not_start_is_not_good() -> None:
    text, good = page(side(CLEAN), side(failed="ended\nValueError: no such flag\nbye"))
    assert not good
    assert "the plugin server did not start: ValueError: no such flag" in text


def test_a_version_without_a_result_is_not_good() -> None:
    text, good = matrix_page.render([], ["0.30.0"])
    assert not good
    assert "0.30.0" in text
