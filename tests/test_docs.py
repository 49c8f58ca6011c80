"""The documents: links lead somewhere, what they name exists, and their code works.

A code block is one of these, or the test fails:

- `python`, or lines with `>>>`: run, a page's blocks one after the other. A server that is started
  there is a server of the session.
- `yaml`: parsed.
- lines of a shell: each program is one of `PROGRAMS`, which says how it is checked.
- what a program shows: one of `SHOWN`.
"""

from __future__ import annotations

import functools
import importlib
import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import typer
import yaml
from typer.testing import CliRunner

import bed.server
from bed import compatibility_page, settings_page, stream_picture
from bed.cases import case
from bed.documents import BLOCKS, DOCUMENTS, ROOT, Block, Document
from vllm_stable_ids._core import run_proxy
from vllm_stable_ids.asgi import StableIdsMiddleware
from vllm_stable_ids.cli import app
from vllm_stable_ids.patches import PATCHES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Servers

CAPTURES = ROOT / "tests" / "captures"
CAPTURE = CAPTURES / "simple-0.29.sse"
COMMANDS: dict[str, Any] = getattr(typer.main.get_command(app), "commands")  # noqa: B009
FOLDERS = ("benches/", "deploy/", "docs/", "python/", "rust/", "scripts/", "tests/")
FILE = re.compile(r"[\w./-]+\.(md|mjs|py|rs|sse|toml|yaml|yml)")
NOT_HERE = {"background.rejoined.sse", "patches/your_patch.py", "stream.redacted.sse", "text.sse"}
"""Files that a command, or a reader, writes."""

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda one: one.path.name)


@functools.cache
def targets() -> set[str]:
    """What can be made."""
    text = (ROOT / "Makefile").read_text()
    return set(re.findall(r"^([a-z-]+):", text, re.M))


@functools.cache
def files() -> list[str]:
    """The files of the project, each with a slash before its path."""
    told = subprocess.run(
        ("git", "ls-files", "--cached", "--others", "--exclude-standard"),
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return [f"/{name}" for name in told.stdout.splitlines()]


@pytest.mark.parametrize(
    ("page", "made"),
    [
        (compatibility_page.PAGE, compatibility_page.render),
        (settings_page.PAGE, settings_page.render),
        (stream_picture.PICTURE, stream_picture.render),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_a_page_that_is_made_is_up_to_date(page: Path, made: Callable[[], str]) -> None:
    assert page.read_text() == made()


@each_document
def test_links_lead_somewhere(document: Document) -> None:
    anchors = {one.path: one.anchors for one in DOCUMENTS}
    lost = []
    for link in document.links:
        name, _, anchor = link.partition("#")
        path = ROOT / name
        if not path.exists() or (anchor and anchor not in anchors[path]):
            lost.append(link)
    assert lost == []


@each_document
def test_files_that_are_named_exist(document: Document) -> None:
    lost = []
    for span in document.spans:
        if span.startswith(FOLDERS) and re.fullmatch(r"[\w./-]+", span):
            exists = (ROOT / span).exists()
        elif FILE.fullmatch(span) and not span.startswith(("/", ".")):
            exists = span in NOT_HERE or any(name.endswith(f"/{span}") for name in files())
        else:
            continue
        if not exists:
            lost.append(span)
    assert lost == []


@each_document
def test_commands_in_the_text_are_understood(
    document: Document, capfd: pytest.CaptureFixture[str]
) -> None:
    for span in document.spans:
        (words, *_) = Block("", 0, "", span).commands() if _is_command(span) else [[]]
        if words and words[0] == "vllm-stable-ids":
            _parse(words[1:])
        elif words:
            PROGRAMS[words[0]](words)
    capfd.readouterr()


def _is_command(span: str) -> bool:
    return span.startswith(("make ", "python ", "vllm-stable-ids "))


def _parse(arguments: list[str]) -> None:
    """Have the arguments of `vllm-stable-ids` parsed, and nothing done."""
    name, *rest = arguments or ["--help"]
    if name == "proxy":
        assert run_proxy(["vllm-stable-ids proxy", *rest, "--help"]) == 0
    elif not name.startswith("--"):
        COMMANDS[name].make_context(name, rest)


def _ours(words: list[str]) -> None:
    """Run it, if it needs nothing but recordings; there are some in the folder."""
    name, *rest = words[1:]
    _parse(words[1:])
    if name == "proxy" or any("://" in word for word in rest) or words[1:] == ["doctor"]:
        return
    # Typer's stand-in for standard input has no descriptor to read from.
    if name == "rewrite" and not rest:
        return
    stopped = CliRunner().invoke(app, [name, *rest], input=CAPTURE.read_bytes())
    assert stopped.exit_code in {0, 1}, stopped.output
    assert not isinstance(stopped.exception, Exception), stopped.exception


def _make(words: list[str]) -> None:
    named = [word for word in words[1:] if "=" not in word]
    assert [name for name in named if name not in targets() and "…" not in name] == []


def _python(words: list[str]) -> None:
    """Look whether the script, or the module, is there and knows the options."""
    name, *rest = words[2:] if words[1] == "-m" else words[1:]
    path = ROOT / (name.replace(".", "/") if words[1] == "-m" else name)
    script = path / "__main__.py" if path.is_dir() else path
    text = script.read_text()
    flags = [word for word in rest if word.startswith("--") and word != "--help"]
    assert [flag for flag in flags if f'"{flag}"' not in text] == []


def _pip(words: list[str]) -> None:
    assert words[1:] in (["install", "vllm-stable-ids"], ["uninstall", "vllm-stable-ids"])


def _vllm(words: list[str]) -> None:
    assert words[1] == "serve"
    for flag, dotted in zip(words[2::2], words[3::2], strict=True):
        assert flag == "--middleware"
        module, _, name = dotted.rpartition(".")
        assert getattr(importlib.import_module(module), name) is StableIdsMiddleware


def _curl(words: list[str]) -> None:
    if "-d" in words:
        assert json.loads(words[words.index("-d") + 1])["stream"] is True


def _docker(words: list[str]) -> None:
    if words[1] == "run":  # behind the image come the proxy's arguments
        image = next(at for at, word in enumerate(words) if word.startswith("vllm-stable-ids-pro"))
        _parse(["proxy", *words[image + 1 :]])


def _pytest(words: list[str]) -> None:
    assert words[1:4] == ["-m", "pytest", "-k"]
    assert case(words[4])


def _unchecked(_words: list[str]) -> None:
    """What it names is looked at all the same; what it does takes another machine."""


PROGRAMS: dict[str, Callable[[list[str]], None]] = {
    ".build/vllm-0.29.0/bin/python": _pytest,
    "cd": _unchecked,
    "cp": _unchecked,
    "curl": _curl,
    "docker": _docker,
    "git": _unchecked,
    "make": _make,
    "node": _unchecked,
    "npm": _unchecked,
    "pip": _pip,
    "python": _python,
    "systemctl": _unchecked,
    "vllm": _vllm,
    "vllm-stable-ids": _ours,
}


def _report(block: Block) -> None:
    """Compare it with what the checker says of the recording that the page is about."""
    says = CliRunner().invoke(app, ["check", "tests/captures/simple-0.29.sse"]).output
    flat = " ".join(says.split())
    for line in block.text.splitlines():
        assert " ".join(line.split()).removesuffix(" …") in flat


def _start_up_line(block: Block) -> None:
    (_, names) = block.text.split(" patched: ")
    assert names.split(", ") == [patch.name for patch in PATCHES]


def _drop_in(block: Block) -> None:
    """Have the proxy parse the command of a drop-in of systemd."""
    for command in re.findall(r"^ExecStart=.*-proxy (.*)$", block.text, re.M):
        filled = command.replace("${UPSTREAM}", "http://vllm:8000")
        _parse(["proxy", *re.sub(r"\$\{\w+\}", "127.0.0.1:8001", filled).split()])


def _elsewhere(_block: Block) -> None:
    """Another test compares it, or the page is made of the code."""


SHOWN: dict[tuple[str, str], Callable[[Block], None]] = {
    ("README.md", "stable_ids 0.1.0: "): _start_up_line,
    ("docs/check.md", "tests/captures/simple-0.29.sse: "): _report,
    ("docs/check.md", "C1 "): _report,
    ("docs/check.md", "BROKEN: "): _report,
    ("docs/check.md", "http://localhost:8000, model m"): _elsewhere,  # test_check_live.py
    ("docs/deployment.md", "[Service]"): _drop_in,
    ("docs/doctor.md", "Python "): _elsewhere,  # test_doctor.py
    ("docs/index.md", "stable_ids 0.1.0: "): _start_up_line,
    ("docs/settings.md", ""): _elsewhere,  # made
    ("docs/troubleshooting.md", ""): _elsewhere,  # made
}


@pytest.fixture
def recordings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the recordings that the documents speak of."""
    for name in ("recorded.sse", "stream.sse"):
        shutil.copy(CAPTURE, tmp_path / name)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)


def _is_python(block: Block) -> bool:
    return block.language == "python" or bool(re.search(r"^(>>>|from) ", block.text, re.M))


@pytest.mark.parametrize(
    "block",
    [block for block in BLOCKS if not _is_python(block)],
    ids=lambda block: f"{block.page}:{block.line}",
)
@pytest.mark.usefixtures("recordings")
def test_a_block_does_what_it_says(block: Block, capfd: pytest.CaptureFixture[str]) -> None:
    if block.language == "yaml":
        assert yaml.safe_load(block.text)
        return
    if block.language == "text":  # a picture, made of letters
        return
    assert block.language == ""
    for (page, begin), check in SHOWN.items():
        if block.page == page and block.text.startswith(begin) and not _is_command(block.text):
            check(block)
            return
    for words in block.commands():
        PROGRAMS[words[0]](words)
        named = [word for word in words if word.startswith(FOLDERS)]
        assert [name for name in named if not (ROOT / name).exists()] == []
    capfd.readouterr()


def _python_of(page: str) -> str:
    """The Python of a page: its blocks, or of a session with an interpreter what is typed."""
    blocks = [block.text for block in BLOCKS if block.page == page and _is_python(block)]
    assert blocks
    typed = [
        "\n".join(re.findall(r"^>>> (.*)$", block, re.M)) if ">>> " in block else block
        for block in blocks
    ]
    return "\n".join(typed)


def test_every_page_with_python_is_run_below() -> None:
    pages = {block.page for block in BLOCKS if _is_python(block)}
    assert pages == {"CONTRIBUTING.md", "docs/middleware.md"}


class Lent:
    """A server of the session, for code that believes it started it.

    To close it does nothing, so that a block after the one that does can use it as well.
    """

    def __init__(self, servers: Servers, closed: list[str]) -> None:
        """Keep the servers, and a list of what was closed."""
        self._servers = servers
        self._closed = closed

    def __call__(self, path: Any, *, env: dict[str, str]) -> Any:
        """Be made, in the place of `VllmServer`."""
        assert env == {"VLLM_STABLE_IDS": "0"}
        self._server = self._servers.get(path, fixed=False)
        return self

    def __getattr__(self, name: str) -> Any:
        """Be the server in everything else."""
        return getattr(self._server, name)

    def close(self) -> None:
        """Take note that it was to be closed."""
        self._closed.append(self._server.url)


def test_the_session_of_contributing_works(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []
    monkeypatch.setattr(bed.server, "VllmServer", Lent(servers, closed))
    space: dict[str, Any] = {}
    exec(_python_of("CONTRIBUTING.md"), space)  # noqa: S102 - these are our own documents
    assert closed == [servers.get("simple", fixed=False).url]


async def test_the_middleware_works_as_the_page_adds_it() -> None:
    space: dict[str, Any] = {}
    exec(_python_of("docs/middleware.md"), space)  # noqa: S102 - these are our own documents
    from starlette.responses import Response
    from starlette.routing import Route

    async def answer(_request: Any) -> Any:
        return Response(CAPTURE.read_bytes(), media_type="text/event-stream")

    space["app"].router.routes.append(Route("/v1/responses", answer, methods=["POST"]))
    transport = httpx.ASGITransport(space["app"])
    async with httpx.AsyncClient(transport=transport, base_url="http://stub") as client:
        sent = (await client.post("/v1/responses")).content
    assert b"chatcmpl-tool-878dd447ef4d81ef" not in sent
    assert b"call_951f53b107639ed7" in sent
