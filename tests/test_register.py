"""Registration: one hook, never an exception, nothing in processes that do not serve HTTP."""

from __future__ import annotations

import importlib
import logging
import re
from typing import TYPE_CHECKING, Any

import pytest
import wrapt

from bed import fresh
from vllm_stable_ids import patches, plugin, settings
from vllm_stable_ids.fallback import Fallback
from vllm_stable_ids.log import logger
from vllm_stable_ids.patches import hook, installer, vocabulary
from vllm_stable_ids.vllm_names import SERVING_MODULE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

METHODS = ("responses_stream_generator", "responses_full_generator")

# Loads plugins as every vLLM process does, then imports the serving module as the API server
# does, and says which methods are wrapped.
LOAD = f"""
import sys
from vllm.plugins import load_general_plugins
load_general_plugins()
print("imported:", sorted(m for m in sys.modules if m in ("pydantic_settings", "openai")
      or m.startswith("vllm.entrypoints")
      or m in ("vllm_stable_ids.fallback", "vllm_stable_ids.overlay")))
from vllm.entrypoints.openai.responses.serving import OpenAIServingResponses as cls
print("wrapped:", [n for n in {METHODS!r} if hasattr(vars(cls)[n], "__wrapped__")])
"""


def run_python(code: str, **env: str) -> str:
    """Run code in a fresh interpreter; returns what it printed, logs included."""
    done = fresh.run_python(code, **env)
    return done.stdout + done.stderr


@pytest.fixture
def serving_module(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """vLLM's serving module, its class unpatched before and after the test."""
    serving = importlib.import_module(SERVING_MODULE)
    for name in METHODS:
        assert not isinstance(vars(serving.OpenAIServingResponses)[name], wrapt.FunctionWrapper)
    monkeypatch.setattr("vllm_stable_ids.fallback.FALLBACK", Fallback())
    monkeypatch.setattr(patches, "INSTALLER", installer.Installer(patches.PATCHES))
    yield serving
    patches.INSTALLER.uninstall("the test has ended")


def wrapped(module: ModuleType) -> list[str]:
    """The required methods that are wrapped."""
    cls = vars(module.OpenAIServingResponses)
    return [name for name in METHODS if isinstance(cls[name], wrapt.FunctionWrapper)]


def test_registering_imports_neither_torch_nor_vllm() -> None:
    code = (
        "import sys; from vllm_stable_ids.plugin import register; register(); register();"
        "print([m for m in sys.modules if m.split('.')[0] in ('torch', 'vllm', 'pydantic')])"
    )
    assert run_python(code).strip() == "[]"


def test_a_process_that_does_not_serve_gets_hooks_and_nothing_else() -> None:
    printed = run_python(LOAD)
    assert "imported: []" in printed
    assert f"wrapped: {list(METHODS)}" in printed
    assert len(re.findall(r"stable_ids \S+: vLLM \S+ patched: stream, terminal", printed)) == 1


@pytest.mark.parametrize("value", ["0", "false", "off", "no", "FALSE", " 0\n"])
def test_opting_out_patches_nothing_and_says_so(
    serving_module: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    value: str,
) -> None:
    monkeypatch.setenv("VLLM_STABLE_IDS", value)
    with caplog.at_level(logging.INFO, "vllm.plugins.stable_ids"):
        patches.INSTALLER.install(serving_module)
    assert wrapped(serving_module) == []
    assert "not patched (VLLM_STABLE_IDS is off)" in caplog.text


def test_vllm_plugins_without_our_name_loads_nothing_of_ours() -> None:
    code = (
        "import sys; from vllm.plugins import load_general_plugins; load_general_plugins();"
        "print('loaded:', [m for m in sys.modules if m.startswith('vllm_stable_ids')])"
    )
    assert "loaded: []" in run_python(code, VLLM_PLUGINS="another_plugin")


def test_patching_twice_is_once(serving_module: ModuleType) -> None:
    patches.INSTALLER.install(serving_module)
    first = vars(serving_module.OpenAIServingResponses)[METHODS[0]]
    patches.INSTALLER.install(serving_module)
    assert vars(serving_module.OpenAIServingResponses)[METHODS[0]] is first


def fail(*_args: Any, **_kwargs: Any) -> Any:
    """Stand in for a step that goes wrong."""
    raise RuntimeError("a secret of the user's")


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (settings, "load"),
        (installer, "vllm_version"),
        (installer, "EventClasses"),
        (vocabulary, "has_openai_names"),
        (installer, "Hook"),
        (hook.Hook, "install"),
        (logger, "info"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_step_that_fails_leaves_vllm_as_it_was(
    serving_module: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    owner: Any,
    name: str,
) -> None:
    monkeypatch.setattr(owner, name, fail)
    plugin._install(serving_module)
    assert wrapped(serving_module) == []
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert "not patched" in caplog.text
    assert "secret" not in caplog.text


def test_the_second_hook_failing_uninstalls_the_first(
    serving_module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    install = hook.Hook.install

    def install_unless_terminal(self: hook.Hook) -> None:
        if self._name == METHODS[1]:
            raise RuntimeError
        install(self)

    monkeypatch.setattr(hook.Hook, "install", install_unless_terminal)
    plugin._install(serving_module)
    assert wrapped(serving_module) == []


@pytest.mark.parametrize(
    "breakage",
    [
        "sys.modules['wrapt'] = None",
        "import wrapt; del wrapt.register_post_import_hook",
        "sys.modules['wrapt'] = sys.modules['vllm_stable_ids.log'] = None",
    ],
)
def test_an_import_that_fails_does_not_stop_vllm(breakage: str) -> None:
    code = f"import sys; {breakage}\nfrom vllm_stable_ids.plugin import register\nregister()"
    printed = run_python(code)
    assert ("not patched" in printed) == ("log" not in breakage)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_that_is_not_there_means_nothing_is_patched(
    serving_module: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    method: str,
) -> None:
    monkeypatch.setattr(serving_module.OpenAIServingResponses, method, lambda _self: None)
    plugin._install(serving_module)
    assert wrapped(serving_module) == []
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == 1
    assert f"OpenAIServingResponses.{method} has an unexpected signature" in caplog.text
    assert "vLLM's own ids are in force; look for a newer vllm-stable-ids" in caplog.text


def test_a_misspelt_switch_is_named_and_keeps_its_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VLLM_STABLE_IDS", "0")
    monkeypatch.setenv("VLLM_STABLE_IDS_VOCABULARY", "maybe")
    switches, problems = settings.load()
    assert (switches.enabled, switches.vocabulary) == (False, True)
    assert problems == [
        "VLLM_STABLE_IDS_VOCABULARY='maybe' is neither on (1, true, on, yes) nor off "
        "(0, false, off, no); using the default, on"
    ]


def test_every_misspelt_switch_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_STABLE_IDS", "never")
    monkeypatch.setenv("VLLM_STABLE_IDS_VOCABULARY", "0")
    switches, problems = settings.load()
    assert (switches.enabled, switches.vocabulary) == (True, False)
    assert len(problems) == 1
    assert problems[0].startswith("VLLM_STABLE_IDS='never' is neither on")


def test_no_other_variable_switches_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_STABLE_IDS_ENABLED", "0")
    assert settings.load() == (settings.Settings(), [])
    assert settings.Settings().enabled


def test_an_empty_switch_is_an_absent_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_STABLE_IDS", "")
    switches, problems = settings.load()
    assert switches.enabled
    assert problems == []
