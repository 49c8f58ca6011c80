"""Writes a verdict as JUnit XML, one test case for each rule."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from vllm_stable_ids.check.words import plural, shown

if TYPE_CHECKING:
    from vllm_stable_ids.check.verdict import Breach, Verdict

SUITE = "vllm-stable-ids check"
JUDGED = "the stream can be judged to its end"
RULES = ("C1", "C2", "C3", "C4", "C5", "C6", "C7", "C11", "C12", "end", "frame")


def as_junit(verdict: Verdict) -> bytes:
    """The verdict as an XML document."""
    suites = Element("testsuites", name=SUITE)
    suite = SubElement(suites, "testsuite", name=SUITE)
    reason = verdict.reason
    case = _case(suite, verdict, JUDGED)
    errors = failures = 0
    if reason is not None:
        # A breach is certain however the stream goes on; that it stops is then no more than said.
        errors = int(verdict.status == "not_judged")
        kind = "error" if errors else "system-out"
        told = SubElement(case, kind)
        told.text = shown(f"{reason.message} {reason.advice}")
        if errors:
            told.set("message", shown(reason.message))
            told.set("type", reason.code)
    if verdict.stream is not None:
        counts = {rule.rule: rule for rule in verdict.stream.rules}
        for rule in RULES:
            case = _case(suite, verdict, rule)
            broken = counts.get(rule)
            if broken is None:
                continue
            failures += 1
            breaches = [breach for breach in verdict.stream.breaches if breach.rule == rule]
            message = f"{broken.title}: broken {plural(broken.count, 'time')}"
            failure = SubElement(case, "failure", message=message, type=rule)
            failure.text = "\n".join(map(_line, breaches))
    for element in (suites, suite):
        element.set("tests", str(len(suite)))
        element.set("failures", str(failures))
        element.set("errors", str(errors))
    indent(suites)
    document: bytes = tostring(suites, encoding="utf-8", xml_declaration=True)
    return document


def _case(suite: Element, verdict: Verdict, name: str) -> Element:
    return SubElement(suite, "testcase", classname=shown(verdict.source), name=name)


def _line(breach: Breach) -> str:
    return shown(f"event {breach.event}, {breach.event_type}: {breach.sentence}")
