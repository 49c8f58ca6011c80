"""The report of the benches says what was measured, and the documents quote it and nothing else."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benches.report import page, quotes
from benches.report.aims import aims
from benches.results import KEPT

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS: dict[str, Any] = json.loads(KEPT.read_text())
MEASURED = re.compile(r"[0-9]\s*(?:µs|ns\b|[KMG]B/s|events/s|times (?:as|those))")
"""What only a bench can know."""

each_document = pytest.mark.parametrize("path", quotes.DOCUMENTS, ids=lambda path: path.name)


def test_the_report_is_of_its_results() -> None:
    assert page.PAGE.read_text() == page.render(RESULTS)


@each_document
def test_a_document_quotes_the_report(path: Path) -> None:
    text = path.read_text()
    assert text == quotes.renewed(text, RESULTS)


@each_document
def test_figures_come_from_the_report_alone(path: Path) -> None:
    assert MEASURED.findall(quotes.without(path.read_text())) == []


def test_all_that_can_be_quoted_is() -> None:
    texts = "".join(path.read_text() for path in quotes.DOCUMENTS)
    assert {found[2] for found in quotes.QUOTE.finditer(texts)} == set(quotes.QUOTES)


@pytest.mark.parametrize("quote", quotes.QUOTES.values(), ids=list(quotes.QUOTES))
def test_what_is_quoted_is_in_the_report(quote: Callable[[Any], str]) -> None:
    report = page.PAGE.read_text()
    lost = [
        figure
        for figure in re.findall(r"[0-9][0-9,.]*", quote(RESULTS))
        if figure.rstrip(".,") not in report
    ]
    assert lost == []


def test_an_aim_that_is_missed_is_called_missed() -> None:
    results = json.loads(json.dumps(RESULTS))
    for pair in results["served"][0]["pairs"]:
        pair["on"]["tokens_per_s"] = pair["off"]["tokens_per_s"] / 2
    missed = {aim for aim, _, met in aims(results) if not met}
    assert missed - {aim for aim, _, met in aims(RESULTS) if not met} != set()
    assert page.render(results).count("**missed**") == len(missed)
