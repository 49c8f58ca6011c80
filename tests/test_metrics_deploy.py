"""The dashboard and the alerts ask for what there is; promtool judges rules and pages."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from bed.scrape import PLUGIN, PROXY, only, page, proxy_page, read
from vllm_stable_ids import metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bed.server import VllmServer

ROOT = Path(__file__).parents[1]
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "vllm-stable-ids.json"
DOCS = ROOT / "docs" / "metrics.md"
BUILT = ROOT / ".build" / "promtool" / "usr" / "bin" / "promtool"

OF_PROMETHEUS = {"job", "instance"}
METRIC = re.compile(rf"\b(?:{PLUGIN}|{PROXY})\w+")
SELECTOR = re.compile(rf"\b((?:{PLUGIN}|{PROXY})\w+)(\{{[^}}]*\}})?")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
GROUPED = re.compile(r"\bby\s*\(([^)]*)\)")
VARIABLES = {"$__rate_interval": "5m", "$__range": "6h", "$job": ".*", "$instance": ".*"}


def promtool(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run promtool."""
    found = shutil.which("promtool") or (str(BUILT) if BUILT.exists() else None)
    if found is None:
        missing = (
            "no promtool on the PATH or in .build/promtool: CONTRIBUTING.md says how to get it"
        )
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return subprocess.run(
        [found, *arguments], capture_output=True, text=True, check=False, timeout=60, **options
    )


def panels() -> Iterator[dict[str, Any]]:
    """The panels that ask for something."""
    yield from (one for one in json.loads(DASHBOARD.read_text())["panels"] if one["type"] != "row")


def queries() -> list[str]:
    """Every query of the dashboard and of the alerts."""
    asked = [target["expr"] for panel in panels() for target in panel["targets"]]
    for group in yaml.safe_load(ALERTS.read_text())["groups"]:
        asked += [rule["expr"] for rule in group["rules"]]
    return asked


def known(plugin_page: str, proxy_page: str) -> dict[str, dict[str, set[str]]]:
    """The labels of every metric, with their values."""
    found: dict[str, dict[str, set[str]]] = {}
    for one in {**read(plugin_page, PLUGIN), **read(proxy_page, PROXY)}:
        labels = found.setdefault(one.name, {})
        for name, value in one.labels:
            labels.setdefault(name, set()).add(value)
    # A server is in one mode; a proxy tells of an upstream when it has looked at it.
    found[f"{PLUGIN}info"]["mode"] |= set(metrics.PATHS)
    found[f"{PLUGIN}streams_total"]["path"].add("wire")
    found.setdefault(f"{PROXY}upstream_up", {}).setdefault("upstream", set())
    return found


def faults(query: str, there: dict[str, dict[str, set[str]]]) -> list[str]:
    """What a query asks for that is not there."""
    wrong = []
    for name, matchers in SELECTOR.findall(query):
        if name not in there:
            wrong.append(name)
            continue
        grouped = {
            label.strip() for labels in GROUPED.findall(query) for label in labels.split(",")
        }
        matched = MATCHER.findall(matchers)
        asked = {label for label, _, _ in matched} | grouped
        wrong += [f"{name}{{{label}}}" for label in asked - OF_PROMETHEUS - set(there[name])]
        for label, _, pattern in matched:
            values = there[name].get(label, set())
            if label not in OF_PROMETHEUS:
                wrong += [
                    f"{name}{{{label}={one}}}" for one in pattern.split("|") if one not in values
                ]
    return wrong


@pytest.fixture(scope="module")
def proxy_text() -> Iterator[str]:
    """What a proxy says."""
    with proxy_page() as text:
        yield text


def test_every_query_asks_for_what_is_there(servers: Any, proxy_text: str) -> None:
    there = known(page(servers.get("simple", fixed=True).url), proxy_text)
    assert len(queries()) > 15
    assert {query: wrong for query in queries() if (wrong := faults(query, there))} == {}
    assert faults(f"sum by (nothing) ({PLUGIN}nothing_total)", there)
    assert faults(f'{PLUGIN}streams_total{{outcome="nothing"}}', there)
    assert faults(f"sum by (nothing) ({PLUGIN}streams_total)", there)


def test_every_metric_of_the_plugin_is_shown_and_explained(servers: Any) -> None:
    names = {one.name for one in read(page(servers.get("simple", fixed=True).url), PLUGIN)}
    assert names
    assert names <= set(METRIC.findall(" ".join(queries())))
    assert names <= set(METRIC.findall(DOCS.read_text()))


@pytest.mark.parametrize(
    "labels", [metrics.OUTCOMES, metrics.REASONS, metrics.ITEM_TYPES, tuple(metrics.PATHS)]
)
def test_every_label_is_explained(labels: tuple[str, ...]) -> None:
    text = DOCS.read_text()
    assert [label for label in labels if f"`{label}`" not in text] == []


def test_the_dashboard_has_no_two_panels_in_one_place() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    assert len({one["id"] for one in dashboard["panels"]}) == len(dashboard["panels"])
    taken: set[tuple[int, int]] = set()
    for one in dashboard["panels"]:
        at = one["gridPos"]
        place = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not place & taken, one["title"]
        assert all(x < 24 for x, _ in place), one["title"]
        taken |= place


def test_promtool_takes_the_rules_and_their_tests() -> None:
    checked = promtool("check", "rules", str(ALERTS))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    tested = promtool("test", "rules", "alerts_test.yml", cwd=ALERTS.parent)
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_promtool_takes_every_query(tmp_path: Path) -> None:
    rules = []
    for number, query in enumerate(queries()):
        expression = query
        for variable, value in VARIABLES.items():
            expression = expression.replace(variable, value)
        assert "$" not in expression
        rules.append({"record": f"query:{number}", "expr": expression})
    file = tmp_path / "queries.yml"
    file.write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))
    checked = promtool("check", "rules", str(file))
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_promtool_finds_nothing_in_what_a_server_says(fixed: VllmServer) -> None:
    said = only(page(fixed.url), PLUGIN)
    assert f"# TYPE {PLUGIN}streams_total counter" in said
    checked = promtool("check", "metrics", input=said)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
