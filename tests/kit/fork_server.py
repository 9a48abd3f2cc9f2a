"""Forks Python programs off a process that has imported the engine: the imports cost more than most of the tests do.

Started as a program it takes requests from a socket, forks for each, and reports the exit codes.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import runpy
import select
import socket
import sys
import threading
from typing import Any, NamedTuple

IMPORTED = (
    "turnout.cli.app",
    "turnout.cli.doctor",
    "turnout.cli.foreground",
    "turnout.cli.orchestrate",
    "turnout.cli.run_report",
    "turnout.cli.server",
    "turnout.cli.worker",
    "turnout.executors.workers.executor",
    "turnout.runner.core",
    "turnout.server.app",
    "turnout.server.service",
    "turnout.store.postgres",
    "turnout.store.sqlite",
    "turnout.worker.conformance",
    "zmq",
)
MAX_REQUEST = 1 << 20
STREAMS = 3


class Request(NamedTuple):
    """A program to run: what is on the command line behind ``python``, and around it."""

    arguments: list[str]
    folder: str
    environment: dict[str, str]
    new_session: bool


class Forks:
    """The processes that were forked and have not ended, by the file descriptor that tells of their end."""

    def __init__(self) -> None:
        self._running: dict[int, tuple[int, int]] = {}

    def add(self, process: int, report: int) -> None:
        self._running[os.pidfd_open(process)] = process, report

    def files(self) -> list[int]:
        return list(self._running)

    def reap(self, file: int) -> None:
        """Writes the exit code of one that has ended to its report."""
        process, report = self._running.pop(file)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        with contextlib.suppress(BrokenPipeError):
            os.write(report, str(code).encode())
        os.close(report)
        os.close(file)

    def forget(self) -> None:
        """In a process that was forked: the others are none of its business."""
        for file, (_, report) in self._running.items():
            os.close(file)
            os.close(report)


def serve(control: socket.socket) -> Request | None:
    """Forks for every request. Returns the request in the process that is to run it, None when no more can come."""
    forks = Forks()
    while True:
        poll = select.poll()
        for file in (control.fileno(), *forks.files()):
            poll.register(file, select.POLLIN)
        for file, _ in poll.poll():
            if file != control.fileno():
                forks.reap(file)
                continue
            text, files, _, _ = socket.recv_fds(control, MAX_REQUEST, STREAMS + 1)
            if not text:
                return None
            *streams, report = files
            if (process := os.fork()) == 0:
                forks.forget()
                os.close(report)
                return forked(control, Request(*json.loads(text)), streams)
            forks.add(process, report)
            for stream in streams:
                os.close(stream)


def forked(control: socket.socket, request: Request, streams: list[int]) -> Request:
    """Tells the id of this process as soon as signals to it, and to its group, are its own."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    if request.new_session:
        os.setsid()
    with control:
        control.send(str(os.getpid()).encode())
    return request


def become(request: Request, path: list[str]) -> None:
    """Is ``python`` with these arguments in that folder; ``path`` is where modules come from without PYTHONPATH."""
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False))
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    given = request.environment.get("PYTHONPATH", "").split(os.pathsep)
    match request.arguments:
        case ["-m", module, *rest]:
            sys.path[:] = [request.folder, *filter(None, given), *path]
            sys.argv = [module, *rest]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case [program, *rest]:
            sys.path[:] = [os.path.dirname(os.path.abspath(program)), *filter(None, given), *path]
            sys.argv = [program, *rest]
            runpy.run_path(program, run_name="__main__")
        case _:
            raise ValueError(f"no program: {request.arguments}")


def prepare() -> None:
    """Imports what programs need, the modules of all commands, and what Typer loads when it first reads an option."""
    for name in IMPORTED:
        __import__(name)
    from turnout.cli import main
    from turnout.cli.app import application

    application()  # imports the modules of all commands
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main(["--version"])
    assert threading.active_count() == 1, "a process with threads cannot be forked safely"
    gc.freeze()  # what is there already need not be looked at, and copied, in every child


def own_path() -> list[Any]:
    """The path of modules without the folder of this program and without PYTHONPATH."""
    given = {os.path.abspath(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each}
    return [each for each in sys.path[1:] if os.path.abspath(each) not in given]


if __name__ == "__main__":
    _path = own_path()
    prepare()
    if (_request := serve(socket.socket(fileno=int(sys.argv[1])))) is not None:
        become(_request, _path)
