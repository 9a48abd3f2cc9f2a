"""Samples this process with py-spy: which functions are on a core, and which hold the interpreter's lock (GIL)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from profiler.process import kind_of

RATE = 200
MISSING = "py-spy is not installed, so there are no samples: pip install py-spy"
WAITS = ("EpollSelector.select ", "Condition.wait ", "_worker (concurrent", "ThreadPool._work ", "Ledger.yielding ")
"""Functions in which threads wait. One that was woken there and has no core yet would count as on a core."""
_STACK = re.compile(r"thread \([^)]*\): ([^;]*);((?:[^;]+ \([^;]+:\d+\);?)+) (\d+)")
_ERRORS = re.compile(r"Samples: \d+ Errors: (\d+)")


class Samples(NamedTuple):
    """Samples of all threads that were on a core, or of the one that held the GIL."""

    ticks: int
    """How often the process was looked at."""
    own: dict[str, Counter[str]]
    """By kind of thread and innermost Python function: in how many of the ticks it was there."""
    inclusive: dict[str, Counter[str]]
    """The same for functions of the engine with all that they call."""

    def share(self, kind: str) -> float:
        """Returns the samples of threads of this kind, per tick, in percent."""
        return 100 * self.own[kind].total() / max(1, self.ticks)


class SamplerFailed(Exception):
    """Raised when py-spy is not installed or cannot read this process."""


def sampled(work: Callable[[], object], seconds: int, *, gil: bool) -> Samples:
    """Repeats the work while py-spy samples this process."""
    program = _program()
    with tempfile.TemporaryDirectory(prefix="turnout-profile-") as folder:
        output = Path(folder) / "stacks"
        command = [program, "record", "--pid", str(os.getpid()), "--format", "raw", "--function", "--threads"]
        command += ["--rate", str(RATE), "--duration", str(seconds), "--output", str(output)]
        # A process that is stopped for each sample wakes its waiting threads: they count as on a core, and take
        # the GIL. In one that is not stopped, about a tenth of the samples of the GIL is lost.
        command += ["--nonblocking", *(["--gil"] if gil else [])]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as recorder:
            while recorder.poll() is None:
                work()
            said = recorder.stdout.read() if recorder.stdout else ""
        errors = _ERRORS.search(said)
        if recorder.returncode or errors is None:
            raise SamplerFailed(f"py-spy failed: {' '.join(said.split())[-300:]}")
        stacks = output.read_text(errors="replace").splitlines()
        return _counted(stacks, RATE * seconds - int(errors[1]), left_out=() if gil else WAITS)


def _program() -> str:
    beside = Path(sys.executable).parent / "py-spy"
    found = str(beside) if beside.exists() else shutil.which("py-spy")
    if found is None:
        raise SamplerFailed(MISSING)
    return found


def _counted(stacks: Sequence[str], ticks: int, left_out: tuple[str, ...]) -> Samples:
    """Returns the samples from lines of ``thread (id): name;function (file:line);… count``.

    Memory that changed while it was read makes lines of another form."""
    own: dict[str, Counter[str]] = defaultdict(Counter)
    inclusive: dict[str, Counter[str]] = defaultdict(Counter)
    for line in stacks:
        stack = _STACK.fullmatch(line)
        if stack is None:
            continue
        kind, frames, count = kind_of(stack[1]), stack[2].split(";"), int(stack[3])
        if not frames[-1].startswith(left_out):
            own[kind][frames[-1]] += count
            for frame in {frame for frame in frames if "(turnout/" in frame}:
                inclusive[kind][frame] += count
    return Samples(ticks, own, inclusive)
