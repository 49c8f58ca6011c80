"""Shows what was found to people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from vllm_stable_ids.check.words import shortened, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from vllm_stable_ids.doctor.known_errors import KnownError
    from vllm_stable_ids.doctor.report import Report

LABEL = {"fine": "FINE", "to_do": "TO DO", "could_not_look": "COULD NOT LOOK"}
STYLE = {"fine": "bold green", "to_do": "bold red", "could_not_look": "bold yellow"}
FAINT = "dim"
WIDTH = 200
NAMES = 16


def show(report: Report, console: Console) -> None:
    """Write a report to the console; its last line is the advice."""
    for name, text in _facts(report):
        console.print(Text.assemble((f"{name:<{NAMES}}", FAINT), shown(text)), soft_wrap=True)
    advice = shortened(shown(report.advice), 2 * WIDTH)
    console.print(
        Text.assemble((LABEL[report.status], STYLE[report.status]), f": {advice}"), soft_wrap=True
    )


def show_error(error: KnownError, console: Console) -> None:
    """Write what is known of an error to the console."""
    console.print(Text(error.name, style="bold"), soft_wrap=True)
    for name, text in (
        ("says", " | ".join(error.texts)),
        ("seen in", error.seen_in),
        ("cause", error.cause),
        ("remedy", error.remedy),
    ):
        console.print(Text.assemble((f"{name:<9}", FAINT), _plain(text)), soft_wrap=True)


def _plain(text: str) -> str:
    """Text without the marks that make a page of it."""
    return text.replace("[`vllm-stable-ids proxy`](proxy.md)", "vllm-stable-ids proxy").replace(
        "`", ""
    )


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    here = report.installation
    yield "Python", here.python
    yield "vllm-stable-ids", here.us or "not installed, only on Python's path"
    if here.vllm is None:
        yield "vLLM", "none in this environment"
    else:
        vllm = here.vllm
        how = f"{vllm.distribution}, {vllm.how}" if vllm.distribution else vllm.how
        yield "vLLM", f"{vllm.version or 'of unknown version'} ({how}) in {vllm.path}"
        registered = "stable_ids is registered" if here.registered else "stable_ids is not there"
        others = f"; also {', '.join(here.others)}" if here.others else ""
        yield "plugins", registered + others
    for variable in report.variables:
        yield "environment", f"{variable.name}={shortened(variable.value, 80)}: {variable.says}"
    yield from _of_probe(report)
    if report.model is not None:
        path = "not known" if report.model.path is None else f"{report.model.path} path"
        name = shortened(report.model.name, WIDTH)
        yield "model", f"{name}: {path}, {report.model.because}"
    if report.server is not None:
        said = f": {report.server.message}" if report.server.message else ""
        yield "server", f"{report.server.url}: {report.server.status.replace('_', ' ')}{said}"


def _of_probe(report: Report) -> Iterator[tuple[str, str]]:
    for fix in report.has_upstream:
        since = ".".join(map(str, fix.since))
        numbers = f" ({', '.join(fix.upstream)})" if fix.upstream else ""
        yield "upstream", f"since {since}: {fix.what}{numbers}"
    probe = report.probe
    if probe is None:
        return
    if "error" in probe:
        yield "patches", f"not known: {shortened(probe['error'], WIDTH)}"
        return
    put = [patch["name"] for patch in probe["patches"] if patch["left_out"] is None]
    verb = "patches" if report.acts else "would patch"
    if probe["reason"]:
        yield "patches", f"none: {probe['reason']}"
        return
    yield verb, ", ".join(put)
    for patch in probe["patches"]:
        if patch["left_out"] is not None:
            yield "leaves alone", f"{patch['name']}: {patch['left_out']}"
    for wrapper in probe["wrappers"]:
        yield "also wrapped", f"{wrapper['method']} by {wrapper['by']}"
