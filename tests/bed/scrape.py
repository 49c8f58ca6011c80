"""What a `/metrics` page says, as numbers."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import time
from typing import TYPE_CHECKING, NamedTuple

import httpx
from prometheus_client.parser import text_string_to_metric_families

from bed.proxied import COMMAND, START_LIMIT_S, STOP_LIMIT_S

if TYPE_CHECKING:
    from collections.abc import Iterator

PLUGIN = "vllm_stable_ids_"
PROXY = "stable_ids_"


class Series(NamedTuple):
    """One series of a metric."""

    name: str
    labels: frozenset[tuple[str, str]]


Scrape = dict[Series, float]


def series(name: str, **labels: str) -> Series:
    """A series of the plugin's."""
    return Series(PLUGIN + name, frozenset(labels.items()))


def read(text: str, prefix: str) -> Scrape:
    """The series of a page whose names begin with `prefix`."""
    return {
        Series(sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith(prefix)
    }


def page(url: str) -> str:
    """A page as Prometheus asks for it."""
    answer = httpx.get(f"{url}/metrics", timeout=60, trust_env=False)
    answer.raise_for_status()
    return answer.text


def scrape(url: str) -> Scrape:
    """The plugin's series of a vLLM."""
    return read(page(url), PLUGIN)


def since(before: Scrape, after: Scrape) -> Scrape:
    """What has changed."""
    return {
        one: value - before.get(one, 0)
        for one, value in after.items()
        if value != before.get(one, 0)
    }


def only(text: str, prefix: str) -> str:
    """The lines of a page that are about metrics whose names begin with `prefix`."""
    about = re.compile(rf"(?:# (?:HELP|TYPE) )?{prefix}")
    return "".join(line for line in text.splitlines(keepends=True) if about.match(line))


@contextlib.contextmanager
def proxy_page() -> Iterator[str]:
    """What the installed proxy says of itself before it has served anything."""
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        listen, admin = (f"127.0.0.1:{it.getsockname()[1]}" for it in (one, two))
    command = [str(COMMAND), "proxy", "--upstream", "http://127.0.0.1:9", "--listen", listen]
    process = subprocess.Popen([*command, "--admin", admin], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            with contextlib.suppress(httpx.TransportError):
                yield page(f"http://{admin}")
                return
            assert process.poll() is None
            assert time.monotonic() < deadline, "the proxy does not listen"
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait(STOP_LIMIT_S)
