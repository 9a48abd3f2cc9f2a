"""Runs in a child of the process executor: takes one job after the other and calls each body in the main thread."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import msgspec

from turnout.authoring.invocation import caller
from turnout.contracts.executor import Work
from turnout.errors import NotImportable
from turnout.model.events import ErrorInfo, ExecutionResult, TaskReadyEvent
from turnout.model.info import TaskInfo
from turnout.model.logs import Stream, storable
from turnout.model.spec import Body, TaskSpec
from turnout.runtime.capture import capture
from turnout.runtime.conditions import once_met
from turnout.runtime.execution import info_for, is_async, run_body
from turnout.runtime.importable import MAIN, MAIN_ELSEWHERE, found, unwrapped
from turnout.runtime.messages import (
    LENGTH,
    Began,
    BodyOutput,
    Done,
    Entered,
    FromChild,
    Job,
    Setting,
    Where,
    decode_to_child,
    frame,
)
from turnout.runtime.trace_context import traced


def main(data: int) -> None:
    """Called by the supervisor with the file descriptor of the socket that jobs come from."""
    ChildMain(data).serve()


MAX_PIECE = 65_536
"""Characters of one message."""


class ChildOutput:
    """The ``Output`` of bodies in a child. Printed text is buffered until its line ends."""

    echo = False
    """The parent shows the output, if it is to be shown."""

    def __init__(self, send: Callable[[BodyOutput], None]) -> None:
        self._send = send
        self._begun = {Stream.STDOUT.value: "", Stream.STDERR.value: ""}
        self._lock = threading.Lock()

    def __call__(self, source: TaskReadyEvent | TaskInfo, stream: str, text: str) -> None:
        stream, text = str(stream), storable(text)
        if stream not in self._begun:
            self._send(BodyOutput(stream, text))
            return
        with self._lock:
            lines, end, begun = (self._begun[stream] + text).rpartition("\n")
            if len(begun) > MAX_PIECE:
                lines, end, begun = lines + end + begun, "", ""
            self._begun[stream] = begun
        self._pieces(stream, lines + end)

    def flush(self) -> None:
        """Sends the lines that were begun."""
        with self._lock:
            begun, self._begun = self._begun, dict.fromkeys(self._begun, "")
        for stream, text in begun.items():
            self._pieces(stream, text)

    def _pieces(self, stream: str, text: str) -> None:
        for start in range(0, len(text), MAX_PIECE):
            self._send(BodyOutput(stream, text[start : start + MAX_PIECE]))


class Terminated(SystemExit):
    """Raised in the body by SIGTERM, so that its ``finally`` blocks run."""


class ChildMain:
    """Reads jobs from a socket until it is closed, or until SIGTERM."""

    def __init__(self, data: int) -> None:
        self._socket = socket.socket(fileno=data)
        self._socket.set_inheritable(False)
        self._pid = os.getpid()
        self._sending = threading.Lock()
        self._output = ChildOutput(self._send)
        self._info: TaskInfo | None = None
        self._terminated = False

    def serve(self) -> None:
        signal.signal(signal.SIGTERM, self._terminate)
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(line_buffering=True, errors="backslashreplace")  # pyright: ignore[reportAttributeAccessIssue]
        setting = self._receive()
        if not isinstance(setting, Setting):
            return
        sys.path[:] = setting.path
        sys.argv[:] = setting.argv
        logging.getLogger().setLevel(setting.log_level)
        capture()
        while not self._terminated and isinstance(job := self._receive(), Job):
            self._send(Began(time.time()))
            result = self._run(job, setting)
            if os.getpid() != self._pid:
                os._exit(0)
            self._info = None
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            self._output.flush()
            if not self._terminated:
                self._send(Done(result))
            os.chdir(setting.cwd)  # a body that went elsewhere does not take the next one along

    def _send(self, message: FromChild) -> None:
        data = frame(message)
        with self._sending:  # a body may have threads that print
            self._socket.sendall(data)

    def _terminate(self, _number: int, _frame: FrameType | None) -> None:
        if os.getpid() != self._pid:
            # This is a child that a body has forked: it ends as a process without Turnout would.
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
            return
        self._terminated = True
        if self._info is not None:
            # Not by the property, which sets an event: the thread that this interrupts may hold its lock.
            msgspec.structs.force_setattr(self._info, "_cancelled", True)
        raise Terminated(128 + signal.SIGTERM)

    def _receive(self) -> Setting | Job | None:
        head = self._exactly(LENGTH.size)
        body = self._exactly(LENGTH.unpack(head)[0]) if head else b""
        return decode_to_child(body) if body else None

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            more = self._socket.recv(min(size - len(data), 1 << 20))
            if not more:
                return b""
            data += more
        return bytes(data)

    def _run(self, job: Job, setting: Setting) -> ExecutionResult:
        began = time.time()
        try:
            work = self._work(job, setting)
        except NotImportable as error:
            return _with_parents_names(ExecutionResult.failed(job.event, error, retryable=False))
        self._info = info = info_for(work, began)
        self._send(Entered())
        return _with_parents_names(run_body(work, info, setting.output_limit))

    def _work(self, job: Job, setting: Setting) -> Work:
        target = _imported(job.body, setting)
        body = unwrapped(target)
        if not callable(body):
            raise NotImportable(f"{job.body.module}:{job.body.qualname} is not a function in another process")
        predicate = getattr(target, "retry_if", None) if job.own_retry_if else None
        if job.retry_if is not None:
            predicate = unwrapped(_imported(job.retry_if, setting))
        args = tuple(job.args)
        work = Work(
            event=job.event,
            task=TaskSpec(name=job.name, body=Body("python", job.body.qualname)),
            body=body,
            workflow=job.workflow,
            args=args,
            kwargs=job.kwargs,
            context=job.context,
            index=job.index,
            labels=job.labels,
            timeout=job.timeout,
            idempotency_key=job.idempotency_key,
            token=job.token,
            saved=job.saved,
            output=self._output,
            retry_predicate=predicate,
            bind_body=caller(body, args, job.kwargs, job.context),
            fence=None if (until := job.begin_by) is None else lambda: until,
        )
        if job.condition is not None:
            asked = None if job.predicate is None else unwrapped(_imported(job.predicate, setting))
            call_body = once_met(job.condition, asked, work.invoke, is_async=is_async(work))
            work = msgspec.structs.replace(work, call=call_body)
        return traced(work, job.traceparent) if job.traceparent else work


def _imported(where: Where, setting: Setting) -> Any:
    try:
        return found(where, setting)
    except NotImportable:
        raise
    except Terminated:
        raise
    except BaseException as error:
        source = setting.main_name or setting.main_file if where.module == MAIN else where.module
        message = getattr(error, "message", None) or str(error)
        raise NotImportable(
            f"importing {source} in another process raised {type(error).__qualname__}: {message}",
            code=getattr(error, "code", None) if hasattr(error, "fields") else None,
            function=f"{where.module}:{where.qualname}",
        ) from error


def _with_parents_names(result: ExecutionResult) -> ExecutionResult:
    """Returns the result with the parent's name of the main module, which has another name here: retry rules compare
    names."""
    error, deferral = result.error, result.deferral
    if deferral is not None and deferral.condition is not None:
        ref = deferral.condition.ref.replace(f"{MAIN_ELSEWHERE}:", f"{MAIN}:", 1)
        condition = msgspec.structs.replace(deferral.condition, ref=ref)
        deferral = msgspec.structs.replace(deferral, condition=condition)
        return msgspec.structs.replace(result, deferral=deferral)
    if error is None or not any(name.startswith(MAIN_ELSEWHERE) for name in error.mro):
        return result
    mro = tuple(name.replace(f"{MAIN_ELSEWHERE}.", f"{MAIN}.", 1) for name in error.mro)
    renamed = ErrorInfo(error.type, error.message, error.traceback, mro, error.code)
    return msgspec.structs.replace(result, error=renamed)
