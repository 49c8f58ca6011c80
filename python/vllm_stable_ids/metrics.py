"""What the plugin tells vLLM's `/metrics`; `docs/metrics.md` has the names and their meaning.

prometheus_client is imported when there is something to tell, which is in the API server only.
Its values are then of the kind that vLLM's are in this process: in memory, or in files where
`PROMETHEUS_MULTIPROC_DIR` was set before. Nothing here raises: a server that cannot count works
on, with one warning.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any, Literal

from vllm_stable_ids import log

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from prometheus_client.metrics import MetricWrapperBase
    from prometheus_client.metrics_core import Metric

    from vllm_stable_ids.tally import Tally

StreamPath = Literal["simple", "harmony", "wire"]
Mode = Literal["patched", "wire", "off", "not_patched"]

_Ended = tuple[
    StreamPath, str, tuple[tuple[tuple[str, str, str], int], ...], tuple[tuple[str, int], ...]
]
"""A stream that ended: its path and outcome, what was repaired, what was inserted."""

PREFIX = "vllm_stable_ids"
OTHER = "other"

OUTCOMES = ("unchanged", "repaired", "failed_open", "generation_failed", "cancelled")

PATHS: Mapping[Mode, tuple[StreamPath, ...]] = {
    "patched": ("simple", "harmony"),
    "wire": ("wire",),
    "off": (),
    "not_patched": (),
}
"""Which streams there can be in each mode."""

ITEM_TYPES = (
    "message",
    "reasoning",
    "function_call",
    "custom_tool_call",
    "mcp_call",
    "code_interpreter_call",
    "web_search_call",
)
"""The item types that vLLM streams; any other is `other`: a stream may have any text there."""

TOLD = ("added", "done", "terminal")
"""Where a whole item is told of."""

FIELDS: Mapping[str, tuple[str, ...]] = {
    "id": (*ITEM_TYPES, OTHER),
    "call_id": ("function_call", "custom_tool_call", OTHER),
    "name": ("function_call", "custom_tool_call", "mcp_call", OTHER),
    "namespace": ("function_call", OTHER),
    "server_label": ("mcp_call", OTHER),
}
"""The fields of an identity, each with the item types that have it."""

_TEXTS = (
    "response.output_text",
    "response.reasoning_text",
    "response.function_call_arguments",
    "response.custom_tool_call_input",
    "response.mcp_call_arguments",
    "response.code_interpreter_call_code",
)

INSERTED = (
    "response.output_item.added",
    "response.output_item.done",
    "response.content_part.added",
    "response.content_part.done",
    "response.reasoning_part.added",
    "response.reasoning_part.done",
    *(f"{text}.{verb}" for text in _TEXTS for verb in ("delta", "done")),
    "error",
    "response.failed",
    OTHER,
)
"""The events that are inserted; those of items that vLLM does not stream are `other`."""

REASONS = (
    "AttributeError",
    "ImportError",
    "IndexError",
    "KeyError",
    "RuntimeError",
    "TypeError",
    "ValidationError",
    "ValueError",
    "too_many_items",
    "identity_too_long",
    "frame_too_long",
    "too_much_held",
    OTHER,
)
"""The kinds of exception that are told apart, and the limits of the wire rewriter."""

MOST_WAITING = 64
"""How many kinds of ended streams wait to be counted. Mostly there are one or two."""


class _Shown:
    """Metrics as the registry asks for them.

    It has no `_name`: vLLM unregisters the collectors whose name is like its own whenever it
    makes its statistics logger, which is after the plugin was loaded.
    """

    def __init__(
        self, *metrics: MetricWrapperBase, before: Callable[[], None] = lambda: None
    ) -> None:
        """Take the metrics.

        Args:
            metrics: What there is to show.
            before: Called before it is shown, to bring it up to date.
        """
        self._metrics = metrics
        self._before = before

    def collect(self) -> Iterator[Metric]:
        """The samples, without a second series for the time at which each began."""
        self._before()
        for metric in self._metrics:
            for family in metric.collect():
                family.samples = [
                    one for one in family.samples if not one.name.endswith("_created")
                ]
                yield family


class _Info:
    """Which plugin acts on which vLLM, and how."""

    def __init__(self) -> None:
        from prometheus_client import REGISTRY, Gauge  # noqa: PLC0415 - the API server only

        # One server is several processes, which have the same to say. What a dead one has said
        # must not outlive it.
        self._gauge = Gauge(
            f"{PREFIX}_info",
            "The plugin, the vLLM it runs in, and how it acts there; 1 where this holds.",
            ("version", "vllm", "mode"),
            registry=None,
            multiprocess_mode="livemax",
        )
        self._told: Any = None
        REGISTRY.register(_Shown(self._gauge))

    def tell(self, version: str, vllm: str, mode: Mode) -> None:
        if self._told is not None:
            self._told.set(0)  # what a process has said in a file cannot be removed
        self._told = self._gauge.labels(version, vllm, mode)
        self._told.set(1)


class _Counters:
    """What became of the streams. Series are there from the start where they can be foreseen."""

    def __init__(self) -> None:
        from prometheus_client import REGISTRY, Counter, values  # noqa: PLC0415 - API server only

        self.streams = Counter(
            f"{PREFIX}_streams",
            "Streams of the Responses API that ended, by generator path and outcome.",
            ("path", "outcome"),
            registry=None,
        )
        self.repaired = Counter(
            f"{PREFIX}_identities_repaired",
            "Fields of items that were announced, closed or ended otherwise than the client was "
            "told, by the event that had them.",
            ("field", "event", "type"),
            registry=None,
        )
        self.inserted = Counter(
            f"{PREFIX}_events_inserted",
            "Events that vLLM did not make, by event type.",
            ("type",),
            registry=None,
        )
        self.failed_open = Counter(
            f"{PREFIX}_failed_open",
            "Faults of the plugin's own after which vLLM's behaviour was in force, by kind.",
            ("reason",),
            registry=None,
        )
        for field, types in FIELDS.items():
            _foresee(self.repaired, ((field, told, kind) for told in TOLD for kind in types))
        _foresee(self.inserted, ((kind,) for kind in INSERTED))
        _foresee(self.failed_open, ((reason,) for reason in REASONS))
        self._at_once = values.ValueClass is not values.MutexValue
        self._waiting: dict[_Ended, int] = {}
        # A generator can be closed, and so a stream end, wherever objects are made.
        self._lock = threading.RLock()
        every = (self.streams, self.repaired, self.inserted, self.failed_open)
        REGISTRY.register(_Shown(*every, before=_harmless(self.settle)))

    def foresee_streams(self, paths: Iterable[StreamPath]) -> None:
        _foresee(self.streams, ((path, outcome) for path in paths for outcome in OUTCOMES))

    def add_stream(self, path: StreamPath, tally: Tally) -> None:
        """Have a stream counted when next somebody asks, at once where that is another process."""
        repaired, inserted = tuple(tally.repaired.items()), tuple(tally.inserted.items())
        ended = (path, tally.outcome, repaired, inserted)
        with self._lock:
            self._waiting[ended] = self._waiting.get(ended, 0) + 1
        if self._at_once or len(self._waiting) >= MOST_WAITING:
            self.settle()

    def settle(self) -> None:
        """Count the streams that wait for it."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for (path, outcome, repaired, inserted), times in waiting.items():
            self.streams.labels(path, outcome).inc(times)
            for (field, told, kind), count in repaired:
                self.repaired.labels(field, told, label(kind, ITEM_TYPES)).inc(count * times)
            for kind, count in inserted:
                self.inserted.labels(label(kind, INSERTED)).inc(count * times)


def _foresee(metric: Any, series: Iterable[tuple[str, ...]]) -> None:
    for labels in series:
        metric.labels(*labels)


class _State:
    """What this process has of them; each is made when it is first told something."""

    broken = False

    @functools.cached_property
    def info(self) -> _Info:
        return _Info()

    @functools.cached_property
    def counters(self) -> _Counters:
        return _Counters()


_state = _State()


def _harmless(tell: Callable[..., None]) -> Callable[..., None]:
    """A function that does nothing more once anything here has failed."""

    @functools.wraps(tell)
    def told(*args: Any) -> None:
        if _state.broken:
            return
        try:
            tell(*args)
        except Exception as error:  # noqa: BLE001 - the stream must go on
            _state.broken = True
            log.fail_open("stable_ids: nothing more is counted in /metrics", error)

    return told


@_harmless
def show_mode(version: str, vllm: str, mode: Mode) -> None:
    """Say how the plugin acts in this process from now on."""
    _state.info.tell(version, vllm, mode)
    if paths := PATHS[mode]:
        _state.counters.foresee_streams(paths)


@_harmless
def stream_ended(path: StreamPath, tally: Tally) -> None:
    """Count a stream, and what was done to it."""
    _state.counters.add_stream(path, tally)


@_harmless
def _failed_open(reason: str) -> None:
    _state.counters.failed_open.labels(label(reason, REASONS)).inc()


def label(value: str, known: tuple[str, ...]) -> str:
    """The value, if it is one of those foreseen; no stream can make up labels."""
    return value if value in known else OTHER


log.tell_failures_to(_failed_open)
