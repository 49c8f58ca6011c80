"""The checker on what nobody expects: any bytes, any JSON, and very much of it."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from vllm_stable_ids.check import judge
from vllm_stable_ids.check.junit import as_junit
from vllm_stable_ids.check.report_json import as_json
from vllm_stable_ids.check.table import show

CAPTURES = Path(__file__).parent / "captures"
COMMAND = str(Path(sys.executable).with_name("vllm-stable-ids"))
KEPT = (CAPTURES / "kept.sse").read_bytes()
BROKEN = (CAPTURES / "simple-0.29.sse").read_bytes()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(raw=st.binary(max_size=300), at=st.integers(0, len(BROKEN)), junk=st.booleans())
def test_no_bytes_are_a_traceback(raw: bytes, at: int, *, junk: bool) -> None:
    came = raw if junk else BROKEN[:at] + raw + BROKEN[at:]
    verdict = judge([came[:at], came[at:]], "s.sse")
    show(verdict, Console(file=io.StringIO()))
    json.loads(as_json(verdict))
    fromstring(as_junit(verdict))  # noqa: S314 - it was written just now
    assert verdict.exit_status in {0, 1, 2}
    assert judge([came], "s.sse") == verdict


LINES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["type", "object", "error", "detail", "message", "item", "response", "id"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(values=st.lists(LINES, max_size=4), prefix=st.sampled_from(["", "data: "]))
def test_no_json_is_a_traceback(values: list[Any], prefix: str) -> None:
    raw = "".join(f"{prefix}{json.dumps(value)}\n" for value in values).encode()
    verdict = judge([raw], "s.sse")
    show(verdict, Console(file=io.StringIO()))
    assert verdict.exit_status in {1, 2}


def big(size: int) -> bytes:
    """A stream of so many bytes, by far most of them deltas."""
    delta = (
        b'event: response.reasoning_text.delta\ndata: {"content_index":0,"delta":" word",'
        b'"item_id":"rs_89d3c2a7e9e2f1cd","output_index":0,"type":"response.reasoning_text.delta"}\n\n'
    )
    start = KEPT.index(b"event: response.reasoning_text.delta")
    return KEPT[:start] + delta * (size // len(delta)) + KEPT[start:]


# Not ru_maxrss: a process inherits that of the one that started it.
PEAK = """
import sys
from pathlib import Path
from rich.console import Console
from vllm_stable_ids.check import judge
from vllm_stable_ids.check.reading import chunks

def judged(file):
    verdict = judge(chunks(Path(file), Console(stderr=True)), "")
    status = Path("/proc/self/status").read_text()
    return verdict, int(status.partition("VmHWM:")[2].split()[0])

_, before = judged(sys.argv[1])
verdict, after = judged(sys.argv[2])
print(verdict.exit_status, verdict.stream.events, after - before)
"""


@pytest.mark.parametrize("wrong", [False, True])
def test_a_capture_of_50_mb_is_judged_in_bounded_memory(tmp_path: Path, *, wrong: bool) -> None:
    small, large = tmp_path / "small.sse", tmp_path / "large.sse"
    small.write_bytes(KEPT)
    raw = big(50_000_000)
    large.write_bytes(raw.replace(b'"item_id":"rs_', b'"item_id":"') if wrong else raw)
    done = subprocess.run(
        [sys.executable, "-c", PEAK, small, large], capture_output=True, text=True, check=True
    )
    status, events, growth = map(int, done.stdout.split())
    assert status == int(wrong)
    assert events > 200_000
    assert growth < 16 * 1024


def test_much_to_read_has_a_progress_bar_on_a_terminal(tmp_path: Path) -> None:
    file = tmp_path / "large.sse"
    file.write_bytes(big(20_000_000))
    ours, theirs = pty.openpty()
    command = [COMMAND, "check", str(file)]
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=env) as process:
        os.close(theirs)
        out, _ = process.communicate()
    shown = os.read(ours, 1 << 16)
    os.close(ours)
    assert process.returncode == 0
    assert b"reading" in shown
    assert b"MB" in shown
    assert b"reading" not in out
    done = subprocess.run(command, capture_output=True, check=True)
    assert done.stderr == b""
