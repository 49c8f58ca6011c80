"""The doctor: what it finds on a real vLLM, and what it says of each thing that may be wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from bed.models import model_folder
from bed.pretender import Pretender, PretendVllm
from vllm_stable_ids import patches
from vllm_stable_ids.cli import app
from vllm_stable_ids.doctor import command, environment, installation, model, probing, server
from vllm_stable_ids.doctor.report import (
    NO_VLLM,
    NOTHING,
    NOTHING_THERE,
    RESTART_IT,
    Report,
    Server,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

CAPTURES = Path(__file__).parent / "captures"
COMMAND = str(Path(sys.executable).with_name("vllm-stable-ids"))
FINE: dict[str, Any] = {
    "enabled": True,
    "active": True,
    "reason": None,
    "patches": [
        {"name": "stream", "does": "", "needed_by": "", "upstream": [], "left_out": None},
        {"name": "vocabulary", "does": "", "needed_by": "", "upstream": [], "left_out": "not so"},
    ],
    "wrappers": [],
}
VLLM = installation.Vllm("0.32.0", "vllm", "wheel", "/somewhere/vllm")
HERE = installation.Installation("3.11.0", "0.1.0", True, [], VLLM)

# Another plugin of vLLM's: it wraps one of the methods as a decorator does, under its name.
OTHER = """
import functools

def register():
    from vllm.entrypoints.openai.responses.serving import OpenAIServingResponses as cls
    inner = cls.responses_stream_generator

    @functools.wraps(inner)
    async def wrapped(*args, **kwargs):
        async for event in inner(*args, **kwargs):
            yield event

    cls.responses_stream_generator = wrapped
"""


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No variable of vLLM's is set."""
    for name in [name for name in os.environ if name.startswith("VLLM_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, Any]]]:
    """What the command finds on this vLLM: beside another plugin, and where it is not loaded."""
    folder = tmp_path_factory.mktemp("other")
    (folder / "another_plugin.py").write_text(OTHER)
    info = folder / "another_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: another-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[vllm.general_plugins]\nanother = another_plugin:register\n"
    )
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    clean = {name: value for name, value in os.environ.items() if name[:5] != "VLLM_"}

    def run(env: dict[str, str]) -> dict[str, Any]:
        done = subprocess.run(
            [COMMAND, "doctor", "--json"],
            env=clean | env,
            capture_output=True,
            check=False,
            timeout=300,
        )
        assert b"Traceback" not in done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        assert report["exit_status"] == done.returncode
        return report

    with ThreadPoolExecutor(2) as pool:
        beside = pool.submit(run, {"PYTHONPATH": path})
        absent = pool.submit(run, {"VLLM_PLUGINS": "another", "VLLM_STABLE_IDS": "maybe"})
        yield {"beside": beside.result(), "absent": absent.result()}


def test_a_real_vllm_is_patched_as_its_log_will_say(found: dict[str, dict[str, Any]]) -> None:
    report = found["beside"]
    assert (report["status"], report["advice"]) == ("fine", NOTHING)
    probe = report["probe"]
    assert probe["active"]
    assert [patch["name"] for patch in probe["patches"]] == [p.name for p in patches.PATCHES]
    left_out = {patch["name"]: patch["left_out"] for patch in probe["patches"]}
    release = tuple(map(int, report["installation"]["vllm"]["version"].split(".")[:2]))
    has_own = "this vLLM has OpenAI's event names"
    assert left_out["vocabulary"] == (has_own if release >= (0, 32) else None)
    assert left_out["stream"] is left_out["terminal"] is None
    assert report["installation"]["registered"]


def test_another_plugin_around_the_same_method_is_named(found: dict[str, dict[str, Any]]) -> None:
    assert "another" in found["beside"]["installation"]["others"]
    assert found["beside"]["probe"]["wrappers"] == [
        {
            "method": "OpenAIServingResponses.responses_stream_generator",
            "by": "another_plugin",
        }
    ]


def test_a_plugin_that_is_not_let_in_is_told_what_it_would_do(
    found: dict[str, dict[str, Any]],
) -> None:
    report = found["absent"]
    assert report["status"] == "to_do"
    assert not report["probe"]["active"]
    assert report["probe"]["wrappers"] == []
    assert [patch["left_out"] for patch in report["probe"]["patches"]][:2] == [None, None]
    remedies = {variable["name"]: variable["remedy"] for variable in report["variables"]}
    assert remedies == {
        "VLLM_PLUGINS": "add stable_ids to VLLM_PLUGINS, without blanks, or unset it, "
        "then restart vLLM",
        "VLLM_STABLE_IDS": "correct VLLM_STABLE_IDS, or unset it, then restart vLLM",
    }
    assert report["advice"].startswith("Add stable_ids to VLLM_PLUGINS")


@pytest.mark.parametrize(
    ("noted", "how"),
    [
        (None, "wheel"),
        ('{"url": "file:///src", "dir_info": {"editable": true}}', "editable"),
        ('{"url": "file:///src", "dir_info": {}}', "built from a folder"),
        ('{"url": "https://h/v", "vcs_info": {"vcs": "git"}}', "built from a repository"),
        ('{"url": "https://h/v.whl", "archive_info": {}}', "wheel from an address"),
        ("[", "wheel"),
        ("", "source on Python's path"),
    ],
)
def test_how_vllm_came_is_read_from_its_metadata(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, noted: str | None, how: str
) -> None:
    folder = tmp_path / "vllm"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise SystemExit('nobody may import this')")
    (folder / "_version.py").write_text("version: str\n__version__ = version = '0.99.1'\n")
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    if noted != "":
        info = tmp_path / "vllm-0.99.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.99\n")
        if noted is not None:
            (info / "direct_url.json").write_text(noted)
    found = installation.look()
    distribution = "vllm" if noted != "" else None
    assert found.vllm == installation.Vllm("0.99.1", distribution, how, str(folder))
    assert not found.registered


VARIABLES = [
    ("VLLM_STABLE_IDS", "off", "nothing is patched", True),
    ("VLLM_STABLE_IDS", " 1\n", "on, as by default", False),
    ("VLLM_STABLE_IDS", "maybe", "neither on", True),
    ("VLLM_STABLE_IDS_VOCABULARY", "0", "response.reasoning_part.*", False),
    ("VLLM_STABLE_IDS_ITEM_REFERENCE", "no", "answers with an error", False),
    ("VLLM_STABLE_IDS_VOCABULARY", "2", "neither on", True),
    ("VLLM_PLUGINS", "", "not among them", True),
    ("VLLM_PLUGINS", "a, stable_ids", "not among them", True),
    ("VLLM_PLUGINS", "a,stable_ids", "loads this plugin", False),
    ("VLLM_USE_RUST_FRONTEND", "1", "no plugin reaches it", True),
    ("VLLM_USE_RUST_FRONTEND", "0", "off", False),
    ("VLLM_USE_RUST_FRONTEND", "yes", "a whole number only", True),
    ("VLLM_ENABLE_RESPONSES_API_STORE", "1", "stores responses", False),
]


@pytest.mark.parametrize(("name", "value", "says", "is_wrong"), VARIABLES)
def test_a_variable_is_told_with_what_it_means(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str, *, is_wrong: bool
) -> None:
    monkeypatch.setenv(name, value)
    (variable,) = environment.look()
    assert variable.name == name
    assert says in variable.says
    assert (variable.remedy is not None) == is_wrong
    report = Report(HERE, [variable], FINE, None, None)
    assert report.status == ("to_do" if is_wrong else "fine")
    assert report.acts == (name != "VLLM_USE_RUST_FRONTEND" or not is_wrong)


CASES: list[tuple[dict[str, Any], str, str]] = [
    ({}, "fine", NOTHING),
    ({"installation": installation.Installation("3", "1", False, [], None)}, "to_do", NO_VLLM),
    (
        {"installation": installation.Installation("3", None, False, [], VLLM)},
        "to_do",
        "Install the plugin in this environment",
    ),
    (
        {"probe": FINE | {"active": False, "reason": "it has no method x"}},
        "to_do",
        "Look for a newer vllm-stable-ids: it has no method x",
    ),
    ({"probe": FINE | {"active": False}}, "to_do", "Start vLLM and look for stable_ids"),
    ({"probe": {"error": "ImportError: x"}}, "could_not_look", "Mend this vLLM first"),
    ({"model": model.Model("m", None, "it is not there")}, "could_not_look", "Name the model's"),
    ({"server": Server("u", "broken", None, "Mend it.")}, "to_do", RESTART_IT),
    (
        {"server": Server("u", "broken", None, "Mend it."), "probe": {"error": "x"}},
        "to_do",
        "Mend it.",
    ),
    (
        {
            "server": Server("u", "kept", None, "No."),
            "installation": installation.Installation("3", "1", False, [], None),
        },
        "fine",
        NOTHING_THERE,
    ),
    ({"server": Server("u", "not_judged", "x", "Try again.")}, "could_not_look", "Try again."),
    ({"server": Server("u", "kept", None, "No.")}, "fine", NOTHING),
]


@pytest.mark.parametrize(("changed", "status", "advice"), CASES)
def test_each_thing_that_is_wrong_has_one_line_of_advice(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], status: str, advice: str
) -> None:
    parts: dict[str, Any] = {"installation": HERE, "probe": FINE, "model": None, "server": None}
    parts |= changed
    if parts["installation"].vllm is None:
        parts["probe"] = None
    monkeypatch.setattr(installation, "look", lambda: parts["installation"])
    monkeypatch.setattr(command, "probed", lambda: parts["probe"])
    monkeypatch.setattr(model, "look", lambda _: parts["model"])
    monkeypatch.setattr(command, "look_at_server", lambda *_: parts["server"])
    asked = ["doctor"]
    asked += ["--model", "m"] if parts["model"] else []
    asked += ["--url", "u"] if parts["server"] else []
    done = CliRunner().invoke(app, asked)
    wanted = {"fine": 0, "to_do": 1, "could_not_look": 2}[status]
    assert done.exit_code == wanted, done.output
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"{status.upper().replace('_', ' ')}: {advice}")
    read = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)
    assert (read["status"], read["exit_status"]) == (status, wanted)
    documented = (Path(__file__).parents[1] / "docs" / "doctor.md").read_text()
    for member in read:
        assert f"`{member}`" in documented, member


@pytest.mark.parametrize(("path", "kind"), [("simple", "qwen3"), ("harmony", "gpt_oss")])
def test_a_model_is_told_its_path(path: Any, kind: str) -> None:
    folder = model_folder(path)
    for name in (folder, folder / "config.json"):
        looked = model.look(str(name))
        assert (looked.path, looked.because) == (path, f"its model_type is {kind}")


def test_a_model_that_is_not_there_is_said_to_be_so(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[" * 100_000)
    for name in ("nobody/nothing", "", "x" * 5000, "a\x00b", "~nobody/x", str(tmp_path)):
        looked = model.look(name)
        assert looked.path is None
        assert "config.json" in looked.because


def test_a_vllm_that_takes_too_long_is_given_up() -> None:
    assert probing.probed(0.01) == {"error": "importing vLLM took more than 0.01 seconds"}


def test_a_vllm_that_cannot_be_imported_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "vllm"
    broken.mkdir()
    (tmp_path / "here" / "vllm").mkdir(parents=True)
    (tmp_path / "here" / "vllm" / "__init__.py").write_text("raise ValueError('current folder')")
    monkeypatch.chdir(tmp_path / "here")
    here = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(tmp_path), here])))
    for code, said in (
        ("raise ValueError('no CUDA')", "ValueError: no CUDA"),
        ("import os; os._exit(3)", "Python ended with status 3"),
        ("", "No module named 'vllm.plugins'"),
    ):
        (broken / "__init__.py").write_text(code)
        assert said in probing.probed()["error"]


def test_a_server_is_asked_as_the_checker_asks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = Console(quiet=True)
    for name, status in (("kept.sse", "kept"), ("simple-0.29.sse", "broken")):
        with Pretender(PretendVllm((CAPTURES / name).read_bytes())) as pretended:
            looked = server.look(pretended.url, None, quiet)
        assert (looked.status, looked.message) == (status, None)
        assert looked.advice
    looked = server.look("http://127.0.0.1:9", None, quiet)
    assert looked.status == "not_judged"
    assert "127.0.0.1:9" in (looked.message or "")
    # What it asks with is no dependency of a bare installation.
    monkeypatch.setitem(sys.modules, "vllm_stable_ids.check.live.command", None)
    assert server.look("http://h", None, quiet).status == "not_judged"
