"""The command `vllm-stable-ids check`."""

from __future__ import annotations

import io
import math
import re
import sys
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from rich.console import Console

from vllm_stable_ids.check.capture import judge, refused
from vllm_stable_ids.check.junit import as_junit
from vllm_stable_ids.check.keeping import NotKept, Redacted
from vllm_stable_ids.check.live.asking import MAX_BYTES, MAX_TIME_S, Asking
from vllm_stable_ids.check.page import Timeline, as_html
from vllm_stable_ids.check.reading import chunks
from vllm_stable_ids.check.recognise import RECORD
from vllm_stable_ids.check.report_json import as_json
from vllm_stable_ids.check.table import show
from vllm_stable_ids.check.verdict import EXIT_STATUS, Reason
from vllm_stable_ids.output import console, written

if TYPE_CHECKING:
    from vllm_stable_ids.check.live.outcome import LiveVerdict
    from vllm_stable_ids.check.verdict import Verdict

INTERRUPTED = 130
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
NO_SCHEME = re.compile(r"[\w.-]+:\d+(?:/.*)?")
OF_A_SERVER = "A running server"
TIMEOUT_S = 120.0
MOST_SECONDS = 1e6


def check(  # noqa: PLR0913, PLR0917 - an option each
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|URL",
            help="A recorded event stream; standard input where left out, or -. "
            "Or the address of a running server, such as http://localhost:8000.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Write the verdict as JSON (docs/check.md).")
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(help="Write the verdict to this file, too, as JUnit XML.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with a timeline of the stream to this file.")
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep the streams of a server in this folder; those of a file with --redact.",
        ),
    ] = None,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact",
            help="Replace texts, arguments, names and ids in what is saved and reported, so that "
            "it can be shown.",
        ),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option(
            help="Which model to ask; may be left out where there is one.",
            rich_help_panel=OF_A_SERVER,
        ),
    ] = None,
    api_key: Annotated[
        str | None,
        typer.Option(
            help="The key that the server wants.",
            envvar="OPENAI_API_KEY",
            rich_help_panel=OF_A_SERVER,
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            metavar="'NAME: VALUE'",
            help="A header to send; may be repeated.",
            rich_help_panel=OF_A_SERVER,
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            min=0.1,
            max=MOST_SECONDS,
            help="How long the server may send nothing, in seconds.",
            rich_help_panel=OF_A_SERVER,
        ),
    ] = TIMEOUT_S,
    max_time: Annotated[
        float,
        typer.Option(
            min=0.1,
            max=MOST_SECONDS,
            help="How long all of it may take, in seconds.",
            rich_help_panel=OF_A_SERVER,
        ),
    ] = MAX_TIME_S,
    max_bytes: Annotated[
        int,
        typer.Option(
            min=1,
            help="How many bytes an answer of the server may have.",
            rich_help_panel=OF_A_SERVER,
        ),
    ] = MAX_BYTES,
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Take any TLS certificate.", rich_help_panel=OF_A_SERVER),
    ] = False,
) -> None:
    """Say whether event streams keep the identity of each output item.

    A FILE holds server-sent events, or JSON lines with an event each. A URL is sent a few small
    requests. Exit status 0: they do, 1: they do not, 2: it could not be judged.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A stream may have characters that a terminal's encoding has not.
        sys.stdout.reconfigure(errors="backslashreplace")
    is_server = target is not None and URL.match(target) is not None
    _refuse_what_does_not_fit(
        is_server=is_server,
        only_server={
            "--model": model is not None,
            "--header": bool(header),
            "--insecure": insecure,
            "--save without --redact": save is not None and not redact,
        },
        only_file={"--html": html is not None},
    )
    if math.isnan(timeout) or math.isnan(max_time):
        _stop("--timeout and --max-time are numbers of seconds")
    if redact and save is None:
        _stop("--redact needs --save DIR, where the redacted copy goes")
    try:
        verdict: Verdict | LiveVerdict
        if is_server:
            asking = Asking(
                url=str(target),
                model=model,
                key=api_key,
                headers=header or [],
                timeout=timeout,
                insecure=insecure,
                save=save,
                redact=redact,
                max_bytes=max_bytes,
                max_time=max_time,
            )
            verdict = _of_server(asking, json=json, junit=junit)
        else:
            file = None if target in {None, "-"} else Path(str(target))
            _refuse_one_file_twice({"the recording": file, "--html": html, "--junit": junit})
            verdict = _of_file(file, save, json=json, junit=junit, html=html)
    except NotKept as error:
        _stop(str(error))
    except KeyboardInterrupt:
        typer.echo("vllm-stable-ids: stopped", err=True)
        raise typer.Exit(INTERRUPTED) from None
    raise typer.Exit(verdict.exit_status)


def _of_file(
    file: Path | None,
    save: Path | None,
    *,
    json: bool,
    junit: Path | None,
    html: Path | None,
) -> Verdict:
    """Judge a recording, and report."""
    source = "-" if file is None else str(file)
    timeline = Timeline()
    redacted = None if save is None else Redacted(save, file)

    def look_on(framed: bytes) -> None:
        shown = framed if redacted is None else redacted.feed(framed)
        if html is not None:
            # Only a page shows the events themselves.
            timeline.feed(shown)

    try:
        verdict = judge(chunks(file, Console(stderr=True)), source, look_on)
    except OSError as error:
        advice = f"A server is named as http://{source}." if _is_address(source) else RECORD
        reason = Reason("unreadable", f"It cannot be read: {error.strerror or error}.", advice)
        verdict = refused(source, reason)
    if redacted is not None:
        timeline.feed(redacted.finish())
        verdict, remark = redacted.judged(verdict)
    with written():
        if json:
            typer.echo(as_json(verdict))
        else:
            show(verdict, console())
    if junit is not None:
        _write(junit, as_junit(verdict))
    if html is not None:
        timeline.finish()
        _write(html, as_html(verdict, timeline))
    if redacted is not None:
        typer.echo(f"vllm-stable-ids: {remark}", err=True)
    return verdict


def _of_server(asking: Asking, *, json: bool, junit: Path | None) -> LiveVerdict:
    """Ask a server, and report."""
    # Only this needs a client: it is not to cost whoever reads a file.
    from vllm_stable_ids.check.live.command import ask  # noqa: PLC0415
    from vllm_stable_ids.check.live.report import live_json, live_junit  # noqa: PLC0415
    from vllm_stable_ids.check.live.show import show_live  # noqa: PLC0415

    verdict = ask(asking, Console(stderr=True))
    with written():
        if json:
            typer.echo(live_json(verdict))
        else:
            show_live(verdict, console())
    if junit is not None:
        _write(junit, live_junit(verdict))
    return verdict


def _is_address(source: str) -> bool:
    """Whether a file that is not there may be meant as a server."""
    return NO_SCHEME.fullmatch(source) is not None


def _refuse_what_does_not_fit(
    *, is_server: bool, only_server: dict[str, bool], only_file: dict[str, bool]
) -> None:
    given = only_file if is_server else only_server
    for option, is_given in given.items():
        if is_given:
            _stop(f"{option} goes with {'a FILE' if is_server else 'the URL of a server'}")


def _refuse_one_file_twice(files: dict[str, Path | None]) -> None:
    named = [(name, file) for name, file in files.items() if file is not None]
    for (one, file), (other, again) in combinations(named, 2):
        if _is_same(file, again):
            _stop(f"{one} and {other} are the same file, {file}")


def _is_same(file: Path, other: Path) -> bool:
    try:
        return file.samefile(other)
    except OSError:
        return file.resolve() == other.resolve()


def _write(file: Path, report: bytes) -> None:
    try:
        file.write_bytes(report)
    except OSError as error:
        _stop(f"cannot write {file}: {error.strerror}")


def _stop(message: str) -> NoReturn:
    typer.echo(f"vllm-stable-ids: {message}", err=True)
    raise typer.Exit(EXIT_STATUS["not_judged"]) from None
