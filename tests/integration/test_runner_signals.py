"""A program that waits for a run hands over at SIGTERM, whichever of its threads the signal comes to."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, signal, sys, threading, time
from turnout import Runner, task, workflow
from turnout.runner import EngineSettings

@task
def wait() -> None:
    # The main thread sleeps by now, and nothing wakes it: the signal comes to this thread.
    time.sleep(0.2)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    time.sleep(600)

@workflow
def waiting() -> None:
    wait()

with Runner(sys.argv[1], settings=EngineSettings(stop_grace=0.1)) as runner:
    runner.run(waiting)
"""


def test_sigterm_is_heard_while_the_main_thread_waits_for_a_run(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), f"sqlite:///{tmp_path}/runs.db"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == -signal.SIGTERM, ended.stderr
