"""What the command line does where its output, or its input, cannot be used."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

CAPTURES = Path(__file__).parent / "captures"
COMMAND = str(Path(sys.executable).with_name("vllm-stable-ids"))
KEPT, BROKEN = str(CAPTURES / "kept.sse"), str(CAPTURES / "simple-0.29.sse")

WRITING = [
    ["check", KEPT],
    ["check", "--json", KEPT],
    ["rewrite", BROKEN],
    ["doctor", "--explain", "x"],
    ["--help"],
]


@pytest.mark.parametrize("arguments", WRITING, ids=" ".join)
def test_output_that_cannot_be_written_is_said(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == ("vllm-stable-ids: cannot write the output: No space left on device\n")


@pytest.mark.parametrize(("file", "status"), [(KEPT, 0), (BROKEN, 1)])
@pytest.mark.parametrize("option", [[], ["--json"]])
def test_a_reader_that_leaves_does_not_change_the_verdict(
    file: str, status: int, option: list[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [COMMAND, "check", file, *option], stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (status, b"")


@pytest.mark.parametrize(("closed", "named"), [("<&-", "input"), (">&-", "output")])
def test_rewriting_needs_both_ends(closed: str, named: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f'"$0" rewrite {closed}', COMMAND],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == f"vllm-stable-ids: standard {named} is closed\n"


def test_a_dash_is_standard_input() -> None:
    given = Path(BROKEN).read_bytes()
    sent = [
        subprocess.run([COMMAND, "rewrite", *name], input=given, capture_output=True, check=True)
        for name in ([], ["-"])
    ]
    assert sent[0].stdout == sent[1].stdout != given


def test_a_terminal_that_says_it_has_no_width_is_written_to() -> None:
    leader, follower = pty.openpty()
    done = subprocess.run(
        [COMMAND, "check", KEPT], stdout=follower, env=os.environ | {"COLUMNS": "0"}, check=True
    )
    os.close(follower)
    assert b"KEPT" in os.read(leader, 1 << 16)
    os.close(leader)
    assert done.returncode == 0


@pytest.mark.parametrize("option", ["--html", "--junit"])
def test_a_recording_is_not_overwritten_by_its_report(tmp_path: Path, option: str) -> None:
    recording = tmp_path / "stream.sse"
    recording.write_bytes(Path(BROKEN).read_bytes())
    (tmp_path / "link").symlink_to(recording)
    done = subprocess.run(
        [COMMAND, "check", str(recording), option, str(tmp_path / "link")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"the recording and {option} are the same file" in done.stderr
    assert recording.read_bytes() == Path(BROKEN).read_bytes()


def test_two_reports_need_two_files(tmp_path: Path) -> None:
    report = str(tmp_path / "report")
    done = subprocess.run(
        [COMMAND, "check", KEPT, "--html", report, "--junit", report],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "--html and --junit are the same file" in done.stderr


def test_the_page_does_not_depend_on_the_locale(tmp_path: Path) -> None:
    pages = []
    for number, utf8 in enumerate("01"):
        page = tmp_path / f"{number}.html"
        ascii_only = {"LC_ALL": "C", "PYTHONUTF8": utf8, "PYTHONCOERCECLOCALE": "0"}
        subprocess.run(
            [COMMAND, "check", KEPT, "--html", str(page)],
            env=os.environ | ascii_only,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        pages.append(page.read_bytes())
    assert pages[0] == pages[1]


def test_ctrl_c_while_modules_are_imported_is_no_traceback() -> None:
    code = (
        "import importlib.abc, os, signal, sys\n"
        "class Interrupts(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'vllm_stable_ids.cli':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        # What is started in the background by a shell ignores it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from vllm_stable_ids.entry import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")
