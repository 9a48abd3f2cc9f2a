"""Starts, signals and kills the worker program with its process group, in an environment of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

MAX_OUTPUT_LENGTH = 4_000
"""Characters of what the program wrote that are shown when a session fails."""


class Program:
    """One process with its children."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], output: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TURNOUT_CURVE_",))}
        self._command = command
        self._environment = {**kept, **environment}
        self._output = output
        self._process = self._started()

    def start(self) -> None:
        """Kills the process group and starts the program again."""
        self.end()
        self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        with self._output.open("ab") as file:
            return subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def code(self) -> int | None:
        """The exit code, None while it runs."""
        return self._process.poll()

    def signal(self, name: str) -> None:
        if self.code is None:
            self._process.send_signal(signal.Signals[f"SIG{name}"])

    def end(self) -> None:
        """Kills the process group."""
        # The group outlives its first process as long as a process is in it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def output(self) -> str:
        return self._output.read_text(errors="replace")[-MAX_OUTPUT_LENGTH:]
