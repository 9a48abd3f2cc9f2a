"""Signals that ask a process to stop are heard whatever its main thread does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from turnout.runtime.signals import StopSignals

PROGRAM = """
import os, signal, sys, threading
from turnout.runtime.signals import StopSignals

told = threading.Event()
heard = []

def hear(number):
    heard.append(number)
    if len(heard) == 2:
        told.set()

def send():
    # A thread that gets a signal does not wake the main thread.
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGINT)

with StopSignals(hear):
    threading.Thread(target=send).start()
    told.wait()
print(sorted(heard) == sorted([signal.SIGTERM, signal.SIGINT]), signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
os.kill(os.getpid(), signal.SIGTERM)
"""


def test_every_stop_signal_is_heard_and_afterwards_all_is_as_before() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.stdout, ended.stderr) == ("True True\n", "")
    assert ended.returncode == -signal.SIGTERM


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are counted in /proc")
def test_it_leaves_no_file_open_and_another_thread_changes_nothing() -> None:
    def use() -> None:
        before = signal.getsignal(signal.SIGTERM), len(os.listdir("/proc/self/fd"))
        with StopSignals(lambda _: None):
            within.append(signal.getsignal(signal.SIGTERM) is before[0])
        assert (signal.getsignal(signal.SIGTERM), len(os.listdir("/proc/self/fd"))) == before

    within: list[bool] = []
    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    use()
    assert within[0], "in another thread the handlers stay as they are"
