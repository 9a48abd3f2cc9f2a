"""``turnout`` in a new process for each command, forked off one that has imported everything already.

Started as a program it takes commands, one line of JSON each, and answers with the exit code and what was written.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

IMPORTED = (
    "turnout.cli.app",
    "turnout.cli.foreground",
    "turnout.cli.run_report",
    "turnout.cli.doctor",
    "turnout.store.sqlite",
    "turnout.store.postgres",
)
AT_START = ("PYTHON", "LANG", "LC_", "TERM", "FORCE_COLOR", "GITHUB_ACTIONS")
"""How names of the environment begin that are read once, when a program starts or a module is imported."""


class ForkServer:
    """One such process; it does one command at a time."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(
        self, arguments: list[str], folder: Path, environment: dict[str, str], stdin: str, patience: float
    ) -> tuple[int, str, str]:
        assert self._process.stdin is not None and self._process.stdout is not None
        # Its end closes the pipe that is read below.
        too_long = threading.Timer(patience, self._process.kill)
        too_long.start()
        try:
            self._process.stdin.write(json.dumps([arguments, str(folder), environment, stdin]) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        finally:
            too_long.cancel()
        assert answer, f"turnout {' '.join(arguments)} has not ended after {patience:g} s"
        code, out, err = json.loads(answer)
        return code, out, err


_idle: list[ForkServer] = []
"""They end with this process, which holds their standard input."""


def run_forked(
    arguments: list[str], folder: Path, environment: dict[str, str], stdin: str, patience: float
) -> tuple[int, str, str]:
    """Run a command in a process of its own; several may be under way at once."""
    try:
        server = _idle.pop()
    except IndexError:
        server = ForkServer(environment)
    answer = server.run(arguments, folder, environment, stdin, patience)
    _idle.append(server)
    return answer


def serve() -> None:
    # What Typer loads when it first reads an option is loaded once, here.
    for name in IMPORTED:
        __import__(name)
    from turnout.cli import main

    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(["--version"])
    gc.freeze()  # what is there already need not be looked at, and copied, in every child
    for line in sys.stdin:
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            arguments, folder, environment, stdin = json.loads(line)
            given.write(stdin.encode())
            given.seek(0)
            child = os.fork()
            if child == 0:
                for number, file in enumerate((given, out, err)):
                    os.dup2(file.fileno(), number)
                become(arguments, folder, environment)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            out.seek(0)
            err.seek(0)
            print(json.dumps([code, out.read().decode(), err.read().decode()]), flush=True)


def become(arguments: list[str], folder: str, environment: dict[str, Any]) -> None:
    """Be ``python -m turnout`` in this folder."""
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[0] = folder
    sys.argv = ["turnout", *arguments]
    runpy.run_module("turnout", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    serve()
