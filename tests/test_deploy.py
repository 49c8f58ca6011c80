"""The files in `deploy/` say what the proxy understands, and agree with each other."""

from __future__ import annotations

import itertools
import re
import shlex
import signal
import socket
import subprocess
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from bed.proxied import COMMAND, START_LIMIT_S, STOP_LIMIT_S

DEPLOY = Path(__file__).parents[1] / "deploy"
UNIT = DEPLOY / "systemd" / "vllm-stable-ids-proxy.service"
DOCKER = DEPLOY / "docker"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))


def manifest(path: Path, kind: str) -> dict[str, Any]:
    """The one object of a kind that a file has."""
    (found,) = (one for one in yaml.safe_load_all(path.read_text()) if one["kind"] == kind)
    content: dict[str, Any] = found
    return content


def pod(path: Path) -> dict[str, Any]:
    """What the pods of a file's Deployment are."""
    spec: dict[str, Any] = manifest(path, "Deployment")["spec"]["template"]["spec"]
    return spec


def containers(path: Path) -> dict[str, dict[str, Any]]:
    """The containers of these pods, by name."""
    return {one["name"]: one for one in pod(path)["containers"]}


def unit() -> dict[str, list[str]]:
    """The settings of the unit, by name."""
    settings: dict[str, list[str]] = {}
    for line in UNIT.read_text().splitlines():
        name, separator, value = line.partition("=")
        if separator and not line.startswith("#"):
            settings.setdefault(name, []).append(value)
    return settings


def options(arguments: list[str]) -> dict[str, list[str]]:
    """What a command line sets, by flag; `--flag=value` and `--flag value` alike.

    What comes before the first flag is the model that vLLM is to serve.
    """
    found: dict[str, list[str]] = {}
    flags = itertools.dropwhile(lambda argument: not argument.startswith("--"), arguments)
    words = [word for argument in flags for word in argument.split("=", 1)]
    for flag, value in zip(words[::2], words[1::2], strict=True):
        found.setdefault(flag, []).append(value)
    return found


def of_unit() -> dict[str, list[str]]:
    """What the unit starts the proxy with."""
    variables = dict(setting.split("=", 1) for setting in unit()["Environment"])
    (command,) = unit()["ExecStart"]
    words = re.sub(r"\$\{(\w+)\}", lambda name: variables[name[1]], command)
    return options(shlex.split(words)[1:])


def of_image() -> dict[str, list[str]]:
    """What the example in the image's file starts the proxy with."""
    (example,) = re.findall(r"docker run.*?(--upstream.*)", image("proxy.Dockerfile"))
    return options(shlex.split(example))


def image(name: str) -> str:
    """A file that makes an image."""
    return (DOCKER / name).read_text()


STARTS = {
    "unit": of_unit(),
    "image": of_image(),
    **{path.name: options(containers(path)["proxy"]["args"]) for path in MANIFESTS},
}


def port(address: str) -> int:
    """The port of an address."""
    return int(address.rpartition(":")[2])


def free_address() -> str:
    """An address of the loopback that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


@pytest.mark.parametrize("where", STARTS)
def test_the_proxy_starts_as_it_is_started_there(where: str) -> None:
    at = free_address()
    used = STARTS[where] | {"--listen": [free_address()], "--admin": [at]}
    command = [str(COMMAND), "proxy"]
    command += [word for flag, values in used.items() for value in values for word in (flag, value)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + START_LIMIT_S
            while True:
                assert process.poll() is None, process.communicate()[1]
                assert time.monotonic() < deadline
                try:
                    health = httpx.get(f"http://{at}/health", trust_env=False)
                    break
                except httpx.TransportError:
                    time.sleep(0.05)
            assert health.status_code == 200
            ready = httpx.get(f"http://{at}/ready", trust_env=False)
            assert ready.status_code in {200, 503}  # whether an upstream is up
            process.send_signal(signal.SIGTERM)
            assert process.wait(STOP_LIMIT_S) == 0
        finally:
            process.kill()


def test_the_unit_waits_longer_than_the_proxy() -> None:
    (drain,) = of_unit()["--drain"]
    (limit,) = unit()["TimeoutStopSec"]
    assert int(limit) > int(drain)


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_pod_lives_longer_than_its_streams(path: Path) -> None:
    proxy = containers(path)["proxy"]
    (drain,) = options(proxy["args"])["--drain"]
    before = proxy["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod(path)["terminationGracePeriodSeconds"] > before + int(drain)


def test_vllm_beside_the_proxy_waits_longer_than_the_proxy() -> None:
    both = containers(DEPLOY / "kubernetes" / "sidecar.yaml")
    (drain,) = options(both["proxy"]["args"])["--drain"]
    (limit,) = options(both["vllm"]["args"])["--shutdown-timeout"]
    assert int(limit) > int(drain)
    assert both["vllm"]["lifecycle"] == both["proxy"]["lifecycle"]
    (upstream,) = options(both["proxy"]["args"])["--upstream"]
    assert options(both["vllm"]["args"])["--port"] == [str(port(upstream))]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_the_ports_are_those_that_are_listened_at(path: Path) -> None:
    for name, container in containers(path).items():
        ports = {one["name"]: one["containerPort"] for one in container["ports"]}
        used = options(container["args"])
        listened = [*map(port, [*used.get("--listen", []), *used.get("--admin", [])])]
        assert [*ports.values()] == (listened or [*map(int, used["--port"])]), name
        for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
            if kind in container:
                assert container[kind]["httpGet"]["port"] in ports, name
    proxy = containers(path)["proxy"]
    assert [proxy[f"{kind}Probe"]["httpGet"] for kind in ("readiness", "liveness")] == [
        {"path": "/ready", "port": "admin"},
        {"path": "/health", "port": "admin"},
    ]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_service_leads_to_the_clients_port_of_the_pods(path: Path) -> None:
    labels = manifest(path, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert manifest(path, "Deployment")["spec"]["selector"]["matchLabels"] == labels
    service = manifest(path, "Service")["spec"]
    assert service["selector"] == labels
    assert [one["targetPort"] for one in service["ports"]] == ["http"]


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_the_proxy_may_do_nothing_else(path: Path) -> None:
    granted = pod(path).get("securityContext", {}) | containers(path)["proxy"]["securityContext"]
    assert granted["runAsNonRoot"] is True
    assert granted["runAsUser"] > 0
    assert granted["allowPrivilegeEscalation"] is False
    assert granted["readOnlyRootFilesystem"] is True
    assert granted["capabilities"] == {"drop": ["ALL"]}
    assert granted["seccompProfile"] == {"type": "RuntimeDefault"}
    assert "requests" in containers(path)["proxy"]["resources"]


def test_a_drained_node_leaves_a_gateway() -> None:
    path = DEPLOY / "kubernetes" / "gateway.yaml"
    budget = manifest(path, "PodDisruptionBudget")["spec"]
    deployment = manifest(path, "Deployment")["spec"]
    assert budget["selector"] == deployment["selector"]
    assert budget["maxUnavailable"] < deployment["replicas"]


def test_the_release_is_this_one() -> None:
    ours = version("vllm-stable-ids")
    assert f'"vllm-stable-ids=={ours}"' in image("Dockerfile")
    tag = f"vllm-stable-ids-proxy:{ours}"
    assert set(re.findall(r"vllm-stable-ids-proxy:\S+", image("proxy.Dockerfile"))) == {tag}
    assert {containers(path)["proxy"]["image"] for path in MANIFESTS} == {tag}


def test_the_image_is_built_of_what_there_is() -> None:
    text = image("proxy.Dockerfile")
    root = DEPLOY.parent
    for sources in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.M):
        assert [name for name in sources.split() if not (root / name).exists()] == []
    assert "--package vllm-stable-ids-proxy" in text
    rust = re.search(r'^rust-version = "(.*)"$', (root / "Cargo.toml").read_text(), re.M)
    assert rust is not None
    assert f"FROM rust:{rust[1]}-" in text
    assert re.findall(r"^EXPOSE (.*)$", text, re.M) == ["8001 9001"]
