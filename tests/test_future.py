"""A vLLM that is incompatible: the wire rewriter takes over, and one warning says so.

The vLLM of tomorrow is the one of today with its sources edited while they are imported, by a
`sitecustomize` that every process of a server finds first.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from bed import client
from bed.cases import case, cases_of
from bed.judge import judge
from bed.server import VllmServer
from vllm_stable_ids import patches, plugin
from vllm_stable_ids.asgi import StableIdsMiddleware
from vllm_stable_ids.fallback import NO_SERVING_MODULE, OWN_IDS, WIRE, Fallback
from vllm_stable_ids.vllm_names import SERVING_CLASS, SERVING_MODULE

if TYPE_CHECKING:
    from collections.abc import Callable

SITECUSTOMIZE = """
import importlib.machinery, importlib.util, json, re
from pathlib import Path

EDITS, RENAMED, ADDED = json.loads(Path(__file__).with_name("future.json").read_text())

class Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, name):
        source = self.get_source(name)
        for pattern, replacement in EDITS:
            source = re.sub(pattern, replacement, source)
        return compile(source + ADDED.get(name, ""), self.path, "exec", dont_inherit=True)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if not name.startswith("vllm.entrypoints."):
            return None
        if name in RENAMED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        known = {new: old for old, new in RENAMED.items()}.get(name, name)
        spec = importlib.machinery.PathFinder.find_spec(known, path)
        if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return spec
        return importlib.util.spec_from_file_location(
            name,
            spec.origin,
            loader=Loader(name, spec.origin),
            submodule_search_locations=spec.submodule_search_locations,
        )

import sys
sys.meta_path.insert(0, Finder())
"""


@dataclass(frozen=True)
class Future:
    """A vLLM to make up.

    Attributes:
        edits: Patterns in the sources of `vllm.entrypoints`, and what stands there instead.
        reason: What the warning says is incompatible.
        renamed: Modules that have another name.
        added: Source at the end of modules.
    """

    edits: dict[str, str]
    reason: str
    renamed: dict[str, str] = field(default_factory=dict)
    added: dict[str, str] = field(default_factory=dict)

    def environment(self, folder: Path) -> dict[str, str]:
        """The variables that make every Python process find this vLLM."""
        (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
        content = json.dumps([list(self.edits.items()), self.renamed, self.added])
        (folder / "future.json").write_text(content)
        search = [str(folder), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
        return {"PYTHONPATH": os.pathsep.join(filter(None, search))}


METHOD_RENAMED = Future(
    {r"\bresponses_stream_generator\b": "responses_event_generator"},
    reason=f"{SERVING_CLASS}.responses_stream_generator",
)
SIGNATURE_CHANGED = Future(
    {
        r"(async def responses_full_generator\([^)]*)\bcontext: ([^)]*\)[^:]*:\n)": (
            r"\1turn: \2        context = turn\n"
        )
    },
    reason=f"{SERVING_CLASS}.responses_full_generator has no parameter 'context'",
)
CLASS_RENAMED = Future({rf"\b{SERVING_CLASS}\b": "ResponsesServer"}, reason=SERVING_CLASS)
MODULE_RENAMED = Future(
    {r"\bresponses\.serving\b": "responses.engine"},
    reason=NO_SERVING_MODULE,
    renamed={SERVING_MODULE: "vllm.entrypoints.openai.responses.engine"},
)
STRINGS = Future(
    {
        r"async def responses_stream_generator": "async def _response_events",
        r"( +)async for event in generator:\n": (
            r"\1async for event in generator:\n\1    yield event\n\1    continue\n"
        ),
    },
    reason="",
    added={
        SERVING_MODULE: textwrap.dedent(f"""
            async def responses_stream_generator(
                self, request, sampling_params, result_generator, context, *rest, **others
            ):
                async for event in self._response_events(
                    request, sampling_params, result_generator, context, *rest, **others
                ):
                    yield f"event: {{event.type}}\\ndata: {{event.model_dump_json()}}\\n\\n"

            {SERVING_CLASS}.responses_stream_generator = responses_stream_generator
        """)
    },
)
NO_BUILD_APP = {r"\bbuild_app\b": "make_app"}

FUTURES = {
    "method renamed": METHOD_RENAMED,
    "signature changed": SIGNATURE_CHANGED,
    "class renamed": CLASS_RENAMED,
    "module renamed": MODULE_RENAMED,
}

# Builds the application as `vllm serve` does up to where it would load a model.
BUILD = """
import importlib, json, sys
import vllm.entrypoints.cli.serve as command
import vllm.logger
from vllm.utils.argparse_utils import FlexibleArgumentParser

tasks, arguments, before = json.loads(sys.argv[1])
parser = FlexibleArgumentParser()
subparsers = parser.add_subparsers(dest="subparser")
for each in command.cmd_init():
    each.subparser_init(subparsers)
args = parser.parse_args(["serve", "m", *arguments])
if set_up_loggers := getattr(vllm.logger, "configure_logging_from_args", None):
    set_up_loggers(args)  # vLLM 0.32 and later
for name in before:
    importlib.import_module(name)
caller = sys.modules[command.run_server.__module__]
build_app = getattr(caller, "build_app", None) or caller.make_app
app = build_app(args, tuple(tasks), None)
names = [entry.cls.__name__ for entry in app.user_middleware]
names.append(type(app.middleware_stack).__name__)
print("middleware:", names.count("StableIdsMiddleware"))
"""


def build(
    env: dict[str, str],
    *,
    tasks: tuple[str, ...] = ("generate",),
    arguments: tuple[str, ...] = (),
    before: tuple[str, ...] = (),
) -> tuple[int, list[str], str]:
    """Build the application; returns how often it got ours, our warnings, and what was printed."""
    kept = {name: value for name, value in os.environ.items() if name[:5] != "VLLM_"}
    done = subprocess.run(
        [sys.executable, "-c", BUILD, json.dumps([tasks, arguments, before])],
        env={**kept, "HF_HUB_OFFLINE": "1", **env},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed[-3000:]
    found = re.search(r"^middleware: (\d+)$", printed, re.M)
    assert found is not None
    return int(found[1]), warnings(printed), printed


def warnings(log: str) -> list[str]:
    """The plugin's warnings in a log, also where vLLM has not set up its loggers yet."""
    return re.findall(r"^(?!.*INFO ).*?(stable_ids: .*)$", log, re.M)


def vllm_version() -> str:
    """What the warning must call the vLLM."""
    import vllm

    version: str = vllm.__version__
    return version


def check(found: list[str], reason: str, in_force: str) -> None:
    """There is one warning, and it says what a user needs."""
    assert len(found) == 1, found
    for part in (f"vLLM {vllm_version()} ", reason, in_force, "look for a newer vllm-stable-ids"):
        assert part in found[0]


@pytest.mark.parametrize("name", FUTURES)
def test_an_application_of_an_unknown_vllm_gets_the_wire_rewriter(
    tmp_path: Path, name: str
) -> None:
    future = FUTURES[name]
    count, found, printed = build(future.environment(tmp_path))
    assert count == 1
    check(found, future.reason, WIRE)
    assert " patched: " not in printed


def test_an_application_of_a_known_vllm_gets_nothing() -> None:
    count, found, printed = build({})
    assert (count, found) == (0, [])
    assert printed.count(" patched: ") == 1


def test_one_that_has_the_middleware_already_gets_no_second(tmp_path: Path) -> None:
    middleware = f"{StableIdsMiddleware.__module__}.{StableIdsMiddleware.__name__}"
    count, found, _ = build(
        METHOD_RENAMED.environment(tmp_path), arguments=("--middleware", middleware)
    )
    assert count == 1
    check(found, METHOD_RENAMED.reason, WIRE)


def test_one_without_a_responses_api_gets_nothing(tmp_path: Path) -> None:
    assert build(MODULE_RENAMED.environment(tmp_path), tasks=("embed",))[:2] == (0, [])


def test_switched_off_nothing_takes_over(tmp_path: Path) -> None:
    env = MODULE_RENAMED.environment(tmp_path) | {"VLLM_STABLE_IDS": "0"}
    assert build(env)[:2] == (0, [])


@pytest.mark.parametrize("future", [METHOD_RENAMED, MODULE_RENAMED], ids=["method", "module"])
def test_where_nothing_can_take_over_the_warning_says_so(tmp_path: Path, future: Future) -> None:
    unknown = Future(future.edits | NO_BUILD_APP, future.reason, future.renamed)
    count, found, _ = build(unknown.environment(tmp_path))
    assert count == 0
    check(found, future.reason, OWN_IDS)


def test_what_is_imported_early_is_warned_of_early_and_once(tmp_path: Path) -> None:
    env = METHOD_RENAMED.environment(tmp_path)
    count, found, printed = build(env, before=(SERVING_MODULE,))
    assert count == 1
    check(found, METHOD_RENAMED.reason, OWN_IDS)
    said = printed.index(OWN_IDS), printed.index(f"stable_ids: {WIRE}")
    assert said[0] < said[1]


@pytest.fixture
def fallback() -> Fallback:
    """That of a process which has imported nothing of vLLM's API server yet."""
    importlib.import_module("vllm")  # which sets up its loggers
    return Fallback()


@pytest.mark.parametrize("made", [object(), None])
def test_an_application_of_another_kind_is_left_alone(
    fallback: Fallback, caplog: pytest.LogCaptureFixture, made: object
) -> None:
    module = SimpleNamespace(build_app=lambda: made)
    fallback.wrap_build_app(module)
    assert module.build_app() is made
    check([record.getMessage() for record in caplog.records], NO_SERVING_MODULE, OWN_IDS)


@pytest.mark.parametrize("breaks", ["routes", "add_middleware"])
def test_a_fault_while_taking_over_leaves_the_application(
    fallback: Fallback, caplog: pytest.LogCaptureFixture, breaks: str
) -> None:
    def fail(*_args: Any) -> Any:
        raise RuntimeError("a secret of the user's")

    route = SimpleNamespace(
        matches=fail if breaks == "routes" else lambda _: [SimpleNamespace(value=2)]
    )
    app = SimpleNamespace(routes=[route], add_middleware=fail)
    module = SimpleNamespace(build_app=lambda: app)
    fallback.wrap_build_app(module)
    assert module.build_app() is app
    assert len(caplog.records) == 1
    assert "the wire rewriter is not in place, vLLM's own ids are in force" in caplog.text
    assert "secret" not in caplog.text


def test_an_exception_of_vllms_own_passes(
    fallback: Fallback, caplog: pytest.LogCaptureFixture
) -> None:
    def build_app() -> None:
        raise ValueError

    module = SimpleNamespace(build_app=build_app)
    fallback.wrap_build_app(module)
    with pytest.raises(ValueError):  # noqa: PT011 - it is the one above
        module.build_app()
    assert caplog.records == []
    fallback.record("it is another")
    assert len(caplog.records) == 1


def test_after_a_fault_of_ours_nothing_takes_over(
    fallback: Fallback, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_module: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("vllm_stable_ids.fallback.FALLBACK", fallback)
    monkeypatch.setattr(patches, "INSTALLER", SimpleNamespace(install=fail))
    app = SimpleNamespace(add_middleware=fail)

    def build_app() -> object:
        plugin._install(app)
        return app

    module = SimpleNamespace(build_app=build_app)
    fallback.wrap_build_app(module)
    assert module.build_app() is app
    assert len(caplog.records) == 1
    assert "not patched, vLLM's own ids are in force (RuntimeError in fail" in caplog.text


def test_an_application_without_a_middleware_stack_yet_is_given_the_middleware(
    fallback: Fallback,
    caplog: pytest.LogCaptureFixture,
) -> None:
    added: list[type] = []
    app = SimpleNamespace(add_middleware=added.append)

    def build_app() -> object:
        fallback.record("it is another")
        return app

    module = SimpleNamespace(build_app=build_app)
    fallback.wrap_build_app(module)
    assert module.build_app() is app
    assert added == [StableIdsMiddleware]
    check([record.getMessage() for record in caplog.records], "it is another", WIRE)


@pytest.mark.parametrize("switch", ["1", "0"])
def test_the_rust_frontend_is_warned_of_when_it_is_started(
    fallback: Fallback,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    switch: str,
) -> None:
    monkeypatch.setenv("VLLM_STABLE_IDS", switch)
    module = SimpleNamespace(RustFrontendProcessManager=lambda *, sock: sock)
    fallback.check_command(module)
    assert caplog.records == []
    assert module.RustFrontendProcessManager(sock=7) == 7
    assert len(caplog.records) == int(switch)


def test_wrapping_twice_is_once(fallback: Fallback) -> None:
    module = SimpleNamespace(build_app=object)
    fallback.wrap_build_app(module)
    first = module.build_app
    fallback.wrap_build_app(module)
    assert module.build_app is first


def check_rewritten(server: VllmServer, future: Future) -> None:
    """Every scripted output is a stream that keeps its identities, made without a patch."""
    for scripted in cases_of(server.path):
        stream = client.stream(server, scripted)
        assert judge(stream.events) == [], scripted.name
    assert client.probe(server)["patched"] == []
    check(warnings(server.log_text()), future.reason, WIRE)


def test_a_server_whose_method_has_another_name(tmp_path: Path) -> None:
    with VllmServer("harmony", env=METHOD_RENAMED.environment(tmp_path)) as server:
        check_rewritten(server, METHOD_RENAMED)
        # What is stored is vLLM's own, as the warning says.
        stream = client.stream(server, case("h-call"), store=True)
        stored = client.retrieve(server, stream.terminal["id"])
        assert stored["output"] != stream.terminal["output"]


def test_a_server_whose_module_has_another_name(tmp_path: Path) -> None:
    with VllmServer("simple", env=MODULE_RENAMED.environment(tmp_path)) as server:
        check_rewritten(server, MODULE_RENAMED)


def test_a_server_that_streams_something_else(tmp_path: Path) -> None:
    with VllmServer("simple", env=STRINGS.environment(tmp_path)) as server:
        assert "responses_stream_generator" in client.probe(server)["patched"]
        for _ in range(2):
            stream = client.stream(server, case("q-two-calls"))
            assert stream.events[0]["type"] == "response.created"
            assert stream.terminal["status"] == "completed"
            numbers = [event["sequence_number"] for event in stream.events]
            assert numbers == list(range(len(numbers)))
            assert stream.events[2]["item"]["id"].isalnum()
        assert client.probe(server)["patched"] == []
        check(warnings(server.log_text()), STRINGS.reason, "its own ids are in force")


RUST_FRONTEND = """#!{python}
import socket, sys

listener = socket.socket(fileno=int(sys.argv[sys.argv.index("--listen-fd") + 1]))
listener.setblocking(True)
listener.listen()
while True:
    connection, _ = listener.accept()
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\\r\\ncontent-length: 0\\r\\nconnection: close\\r\\n\\r\\n")
    connection.close()
"""


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.25)


def test_before_a_rust_frontend_the_warning_names_the_proxy(tmp_path: Path) -> None:
    frontend = tmp_path / "vllm-rs"
    frontend.write_text(RUST_FRONTEND.format(python=sys.executable))
    frontend.chmod(0o755)
    env = {"VLLM_USE_RUST_FRONTEND": "1", "VLLM_RUST_FRONTEND_PATH": str(frontend)}
    with VllmServer("simple", env=env) as server:
        # By then the engine and its worker have loaded the plugin, too.
        wait_for(lambda: "Starting to load model" in server.log_text())
        found = warnings(server.log_text())
    assert len(found) == 1, found
    assert f"vLLM {vllm_version()} serves HTTP by its Rust frontend" in found[0]
    assert "put `vllm-stable-ids proxy` in front of it" in found[0]
