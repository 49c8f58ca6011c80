"""The command `vllm-stable-ids doctor`."""

from __future__ import annotations

import io
import json as json_text
import sys
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console

from vllm_stable_ids.doctor import environment, installation
from vllm_stable_ids.doctor import model as models
from vllm_stable_ids.doctor.explain import UNKNOWN
from vllm_stable_ids.doctor.explain import explain as explained
from vllm_stable_ids.doctor.probing import probed
from vllm_stable_ids.doctor.report import EXIT_STATUS, Report
from vllm_stable_ids.doctor.server import look as look_at_server
from vllm_stable_ids.doctor.show import show, show_error
from vllm_stable_ids.output import console, written


def doctor(
    model: Annotated[
        str | None,
        typer.Option(metavar="DIR|NAME", help="Say which event generator of vLLM it takes."),
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="Also ask a running server, such as http://localhost:8000.")
    ] = None,
    api_key: Annotated[
        str | None, typer.Option(help="The key that the server wants.", envvar="OPENAI_API_KEY")
    ] = None,
    explain: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Say what an error means, and nothing else."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Write JSON (docs/doctor.md).")] = False,
) -> None:
    """Say what the plugin does to the vLLM of this environment, and what there is to do.

    Imports vLLM in a process of its own, which takes some seconds. Exit status 0: fine, 1: there
    is something to do, 2: it could not be looked at.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if explain is not None:
        raise typer.Exit(_explain(explain, json=json))
    found = installation.look()
    progress = Console(stderr=True)
    probe = None
    if found.vllm is not None:
        with progress.status("importing vLLM"):
            probe = probed()
    report = Report(
        installation=found,
        variables=environment.look(),
        probe=probe,
        model=None if model is None else models.look(model),
        server=None if url is None else look_at_server(url, api_key, progress),
    )
    with written():
        if json:
            typer.echo(json_text.dumps(report.as_json(), indent=2))
        else:
            show(report, console())
    raise typer.Exit(EXIT_STATUS[report.status])


def _explain(text: str, *, json: bool) -> int:
    errors = explained(text)
    advice = errors[0].remedy if errors else UNKNOWN
    with written():
        if json:
            found = {"errors": [asdict(error) for error in errors], "advice": advice}
            typer.echo(json_text.dumps(found, indent=2))
        else:
            for error in errors:
                show_error(error, console())
            if not errors:
                console().print(UNKNOWN, soft_wrap=True)
    return 0 if errors else EXIT_STATUS["could_not_look"]
