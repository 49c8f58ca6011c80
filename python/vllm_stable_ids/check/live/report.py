"""Writes the verdict on a server as JSON and as JUnit XML."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, SubElement, fromstring, indent, tostring

from vllm_stable_ids.check.junit import SUITE, as_junit
from vllm_stable_ids.check.report_json import SCHEMA, as_json
from vllm_stable_ids.check.words import shown

if TYPE_CHECKING:
    from vllm_stable_ids.check.live.outcome import LiveVerdict, Outcome

COUNTS = ("tests", "failures", "errors", "skipped")
OF_ALL = {"schema", "version"}


def live_json(live: LiveVerdict) -> str:
    """The verdict as one JSON object, in ASCII."""
    reason = live.reason
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "version": version("vllm-stable-ids"),
        "source": live.url,
        "model": live.model,
        "status": live.status,
        "exit_status": live.exit_status,
        "reason": reason and {"code": reason.code, "message": reason.message},
        "advice": live.advice,
        "requests": [_request(outcome) for outcome in live.outcomes],
    }
    return json.dumps(report, indent=2)


def _request(outcome: Outcome) -> dict[str, Any]:
    of_one: dict[str, Any] = json.loads(as_json(outcome.verdict))
    rest = {name: value for name, value in of_one.items() if name not in OF_ALL}
    return {"request": outcome.request, "of": outcome.of, **rest}


def live_junit(live: LiveVerdict) -> bytes:
    """The verdict as an XML document, a suite for each request."""
    suites = Element("testsuites", name=SUITE)
    for outcome in live.outcomes:
        suites.append(_suite(outcome))
    if live.stopped is not None or not live.outcomes:
        suite = SubElement(suites, "testsuite", name=shown(live.url))
        case = SubElement(suite, "testcase", classname=shown(live.url), name="the server answers")
        if live.reason is not None:
            text = shown(live.reason.message)
            error = SubElement(case, "error", message=text, type=live.reason.code)
            error.text = shown(f"{live.reason.message} {live.reason.advice}")
    for suite in suites:
        _count(suite, suite.findall("testcase"))
    _count(suites, suites.findall("testsuite/testcase"))
    indent(suites)
    document: bytes = tostring(suites, encoding="utf-8", xml_declaration=True)
    return document


def _suite(outcome: Outcome) -> Element:
    verdict = outcome.verdict
    if outcome.of is None and verdict.stream is not None and verdict.stream.items:
        suite: Element = fromstring(as_junit(verdict))[0]  # noqa: S314 - written just now
        suite.set("name", outcome.request)
        return suite
    suite = Element("testsuite", name=outcome.request)
    case = SubElement(suite, "testcase", classname=outcome.request, name="C8")
    if outcome.of is None and verdict.status != "broken":
        case.set("name", "the request can be judged")
    if verdict.status == "broken" and verdict.stream is not None:
        title = verdict.stream.rules[0].title
        failure = SubElement(case, "failure", message=title, type="C8")
        failure.text = "\n".join(shown(breach.sentence) for breach in verdict.stream.breaches)
    elif verdict.status == "not_judged" and verdict.reason is not None:
        kind = "skipped" if outcome.is_left_out else "error"
        told = SubElement(case, kind, message=shown(verdict.reason.message))
        if kind == "error":
            told.set("type", verdict.reason.code)
        told.text = shown(f"{verdict.reason.message} {verdict.reason.advice}")
    return suite


def _count(element: Element, cases: list[Element]) -> None:
    found = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
        "skipped": sum(case.find("skipped") is not None for case in cases),
    }
    for name in COUNTS:
        element.set(name, str(found[name]))
