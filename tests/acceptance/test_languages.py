"""The example in four languages does what its README says, on this machine, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(280)

ROOT = Path(__file__).parents[2]
PATIENCE = 240
LEFT_OUT = shutil.ignore_patterns("node_modules", ".turnout", "labels", "__pycache__")
STOOD_IN = re.compile(r"^worker +(\w+) .*a stand-in in Python: (.*)$", re.MULTILINE)
ALL_PYTHON = ("--without", "ruby", "--without", "go", "--without", "node")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example beside a copy of the SDKs: what it builds and installs stays there."""
    home = tmp_path_factory.mktemp("languages")
    for part in ("examples/languages", "sdk"):
        shutil.copytree(ROOT / part, home / part, ignore=LEFT_OUT)
    return home / "examples/languages"


@pytest.fixture
def endless(folder: Path, tmp_path: Path) -> Path:
    """A copy whose runs never end: no worker has what their labels ask for."""
    copy = tmp_path / "examples/languages"
    shutil.copytree(folder, copy, ignore=LEFT_OUT)
    orders = copy / "orders.py"
    orders.write_text(orders.read_text().replace('worker_selector={"gpu": "true"}', 'worker_selector={"gpu": "two"}'))
    return copy


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TURNOUT_", "NODE_", "RUBY"))}
    own = {"PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8", "LANG": "C.UTF-8", "GOPROXY": "off"}
    return {"HOME": "/tmp", **kept, **own, **more}


def run(*words: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=cwd, env=environment(**more), capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def left_in(folder: Path) -> list[str]:
    """Processes that were started in the folder and are still there."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").resolve().is_relative_to(folder):
                found.append((entry / "cmdline").read_text())
        except OSError:
            continue
    return found


def attempts(printed: str, order: int) -> dict[str, list[tuple[str, str]]]:
    """Worker and outcome of each attempt of each task of an order."""
    block = printed.split(f"\norder {order} of ")[1].split("\n\n", maxsplit=1)[0]
    found: dict[str, list[tuple[str, str]]] = {}
    for task, worker, outcome in re.findall(r"^  (\w+) +attempt \d+ +(\w+) +(\w+)", block, re.MULTILINE):
        found.setdefault(task, []).append((worker, outcome))
    return found


def outcomes(printed: str, order: int, task: str) -> list[str]:
    return [outcome for _, outcome in attempts(printed, order).get(task, [])]


@pytest.fixture(scope="module")
def printed(folder: Path) -> str:
    done = run(sys.executable, "run.py", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


def check_endings(printed: str) -> None:
    states = dict(re.findall(r"^order (\d+) of \w+: (\w+), run ", printed, re.MULTILINE))
    assert states == {
        "1001": "completed",
        "1002": "completed",
        "1003": "failed",
        "1004": "completed",
        "1005": "completed",
    }
    assert len(attempts(printed, 1001)) == 6
    assert outcomes(printed, 1002, "process_payment") == ["retry", "completed"], "no answer at first"
    assert outcomes(printed, 1003, "process_payment") == ["failed"], "a declined card is not tried again"
    assert "card …0002 was declined" in printed
    assert outcomes(printed, 1003, "ship_order") == [], "what is not paid is not shipped"
    assert outcomes(printed, 1004, "ship_order") == ["retry", "completed"], "the van was full"
    assert outcomes(printed, 1005, "send_notification") == ["retry", "completed"], "the mail server said later"


def test_every_order_ends_as_it_should(printed: str) -> None:
    check_endings(printed)


@pytest.mark.parametrize(
    ("language", "task"),
    [("python", "validate_order"), ("ruby", "process_payment"), ("go", "draw_label"), ("node", "send_notification")],
)
def test_each_task_ran_in_its_language(printed: str, language: str, task: str) -> None:
    if reason := dict(STOOD_IN.findall(printed)).get(language):
        pytest.skip(reason)
    assert attempts(printed, 1001)[task] == [(language, "completed")]
    assert attempts(printed, 1001)["close_order"] == [("here", "completed")]
    assert attempts(printed, 1001)["ship_order"][0][0] in ("python", "ruby", "go", "node")


def test_the_labels_are_pictures(printed: str, folder: Path) -> None:
    if reason := dict(STOOD_IN.findall(printed)).get("go"):
        pytest.skip(reason)
    assert (folder / ".turnout/TN00001001.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("language", ["python", "ruby", "go", "node"])
def test_every_worker_says_that_its_hub_is_there(printed: str, folder: Path, language: str) -> None:
    hub = re.search(r"^hub +(\S+)$", printed, re.MULTILINE)
    said = (folder / f".turnout/worker-{language}.log").read_text()
    assert hub and re.search(rf"hub .*{re.escape(hub[1])} is there", said), said


def test_nothing_is_left_running(printed: str, folder: Path) -> None:
    assert printed and left_in(folder) == []


def test_afterwards_the_command_line_finds_the_runs(printed: str, folder: Path) -> None:
    shown = run(sys.executable, "-m", "turnout", "runs", "show", "last", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "send_notification" in shown.stdout


TESTS = {
    "python": (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_ship_order.py"),
    "ruby": ("ruby", "-I", "../../../sdk/ruby/lib", "ship_order_test.rb"),
    "go": ("go", "test", "-count=1", "-v"),
    "node": ("node", "--test"),
}
"""How the handlers are tested without a hub, language by language."""


@pytest.mark.parametrize("language", TESTS)
def test_the_handlers_keep_their_own_tests(printed: str, folder: Path, language: str) -> None:
    if reason := dict(STOOD_IN.findall(printed)).get(language):
        pytest.skip(reason)
    if language == "ruby" and run("ruby", "-e", 'require "minitest"', cwd=folder).returncode != 0:
        pytest.skip("ruby lacks minitest (Debian: ruby-minitest)")
    done = run(*TESTS[language], cwd=folder / language)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b3 passed|\b3 runs|(--- PASS.*){3}|pass 3\b", done.stdout, re.DOTALL), done.stdout


def test_python_stands_in_for_what_a_machine_lacks(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "examples/languages"
    shutil.copytree(folder, copy, ignore=LEFT_OUT)
    (tmp_path / "bin").mkdir()
    done = run(sys.executable, "run.py", cwd=copy, PATH=str(tmp_path / "bin"))
    assert done.returncode == 0, done.stdout + done.stderr
    reasons = dict(STOOD_IN.findall(done.stdout))
    assert set(reasons) == {"ruby", "go", "node"}
    assert reasons["ruby"] == "there is no ruby on this machine (Debian: ruby ruby-ffi-rzmq)"
    check_endings(done.stdout)
    assert left_in(tmp_path) == []


@contextmanager
def started(folder: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, int]]]:
    """The command with all its workers, whose names and process ids it has said."""
    process = subprocess.Popen(
        [sys.executable, "run.py", *ALL_PYTHON],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        workers: dict[str, int] = {}
        for line in process.stdout:
            if said := re.match(r"worker +(\w+) +pid (\d+)", line):
                workers[said[1]] = int(said[2])
            if len(workers) == 4:
                break
        yield process, workers
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_it_with_all_its_workers(endless: Path, number: signal.Signals) -> None:
    with started(endless) as (process, _):
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "stopped; runs that had not ended go on when it is started again\n" in said
    assert left_in(endless) == []


def test_a_worker_that_dies_ends_it_with_the_others(endless: Path) -> None:
    with started(endless) as (process, workers):
        os.kill(workers["node"], signal.SIGKILL)
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert "the worker node ended, exit code -9:" in said
    assert left_in(endless) == []
