"""How is the worker program started, told, and surely ended? With its process group, in an environment of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

LONGEST_OUTPUT = 4_000
"""Characters of what the program wrote that are shown when a session fails."""


class Program:
    """One process, and whatever it starts."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], output: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TURNOUT_CURVE_",))}
        self._output = output
        with output.open("wb") as file:
            self._process = subprocess.Popen(
                command,
                env={**kept, **environment},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def code(self) -> int | None:
        """Its exit code, once it has one."""
        return self._process.poll()

    def signal(self, name: str) -> None:
        if self.code is None:
            self._process.send_signal(signal.Signals[f"SIG{name}"])

    def end(self) -> None:
        """Nothing of it is left afterwards."""
        # The group outlives its first process as long as anybody is in it.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def output(self) -> str:
        return self._output.read_text(errors="replace")[-LONGEST_OUTPUT:]
