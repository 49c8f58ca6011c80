"""Brings together what was found, and says what to do about it."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from vllm_stable_ids.doctor.environment import RUST_FRONTEND

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vllm_stable_ids.doctor.environment import Variable
    from vllm_stable_ids.doctor.installation import Installation
    from vllm_stable_ids.doctor.model import Model

Status = Literal["fine", "to_do", "could_not_look"]
EXIT_STATUS: dict[Status, int] = {"fine": 0, "to_do": 1, "could_not_look": 2}
SCHEMA = 1

NOTHING = "There is nothing to do; vLLM's log names these patches when it starts."
NOTHING_THERE = "There is nothing to do: the server keeps every identity."
RESTART_IT = (
    "Restart the server if it is of this environment: what is started here is patched. If that "
    "does not help, vllm-stable-ids check with its URL shows what is wrong."
)
NO_VLLM = (
    "There is no vLLM in this environment: run pip install vllm-stable-ids, and this, with the "
    "Python of vllm serve."
)


@dataclass(frozen=True, slots=True)
class Fix:
    """What a release of vLLM has of its own."""

    since: tuple[int, int]
    what: str
    upstream: tuple[str, ...]


UPSTREAM = (
    Fix((0, 25), "text and events of a busy server belong to the right item", ()),
    Fix(
        (0, 32),
        "the simple path keeps nearly all identities, gpt-oss many; reasoning has the API's events",
        ("#59307", "#59859"),
    ),
)


@dataclass(frozen=True, slots=True)
class Server:
    """What was found of a running server."""

    url: str
    status: str
    message: str | None
    advice: str


@dataclass(frozen=True, slots=True)
class Report:
    """What was found.

    Attributes:
        installation: What is installed here.
        variables: What the environment says.
        probe: What a vLLM that is started here would do, as `probe.py` says; `None` where there
            is no vLLM.
        model: What `--model` asked for.
        server: What `--url` asked for.
    """

    installation: Installation
    variables: list[Variable]
    probe: dict[str, Any] | None
    model: Model | None
    server: Server | None

    @property
    def status(self) -> Status:
        """Whether there is something to do."""
        if next(self._to_do(), None) is not None:
            return "to_do"
        return "fine" if next(self._in_the_way(), None) is None else "could_not_look"

    @property
    def advice(self) -> str:
        """What to do first, in one line."""
        for sentence in (*self._to_do(), *self._in_the_way()):
            return f"{sentence[0].upper()}{sentence[1:]}"
        return NOTHING if self.installation.vllm is not None else NOTHING_THERE

    def as_json(self) -> dict[str, Any]:
        """The report, as `--json` writes it."""
        return {
            "schema": SCHEMA,
            "status": self.status,
            "exit_status": EXIT_STATUS[self.status],
            **asdict(self),
            "upstream": [
                {"since": _release(fix.since), "what": fix.what, "pull_requests": fix.upstream}
                for fix in self.has_upstream
            ],
            "advice": self.advice,
        }

    @property
    def acts(self) -> bool:
        """Whether a vLLM that is started here serves with what is patched."""
        is_rust = any(
            variable.name == RUST_FRONTEND and variable.remedy is not None
            for variable in self.variables
        )
        return bool(self.probe and self.probe.get("active")) and not is_rust

    @property
    def has_upstream(self) -> list[Fix]:
        """What this vLLM has of its own."""
        vllm = self.installation.vllm
        found = re.match(r"(\d+)\.(\d+)", (vllm and vllm.version) or "")
        release = (int(found[1]), int(found[2])) if found else (0, 0)
        return [fix for fix in UPSTREAM if fix.since <= release]

    def _to_do(self) -> Iterator[str]:
        """What is wrong and can be mended, the most important first."""
        here = self.installation
        if here.vllm is None and self.server is None:
            yield NO_VLLM
        if here.vllm is not None and not here.registered:
            yield "install the plugin in this environment: pip install vllm-stable-ids."
        if here.vllm is not None:
            yield from (
                f"{variable.remedy}." for variable in self.variables if variable.remedy is not None
            )
            yield from self._incompatible()
        if self.server is not None and self.server.status == "broken":
            if self.acts:
                yield RESTART_IT
            yield self.server.advice

    def _incompatible(self) -> Iterator[str]:
        probe = self.probe or {}
        if probe.get("reason"):
            yield (
                f"look for a newer vllm-stable-ids: {probe['reason']}; until then the wire "
                "rewriter is in force where vLLM's log says so."
            )
        elif probe.get("enabled") and not probe.get("active"):
            yield "start vLLM and look for stable_ids in its log: it was not patched here."

    def _in_the_way(self) -> Iterator[str]:
        """What kept this from seeing all."""
        if self.probe is not None and "error" in self.probe:
            yield f"mend this vLLM first, it cannot be imported: {self.probe['error']}"
        if self.model is not None and self.model.path is None:
            yield f"name the model's folder: {self.model.because}."
        if self.server is not None and self.server.status == "not_judged":
            yield self.server.advice


def _release(release: tuple[int, int]) -> str:
    return ".".join(map(str, release))
