"""Runs attempts in processes of their own, which can be killed and whose death harms no other attempt."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import msgspec

from turnout.contracts.executor import Work
from turnout.errors import ExecutorUnavailable, InvalidSetting
from turnout.executors import child_main
from turnout.executors.subprocess_executor import RunningAttempt, SubprocessExecutor, until_done
from turnout.model.durations import Duration
from turnout.model.events import ExecutionResult, ExecutionStatus
from turnout.model.reasons import CODE_MISSING
from turnout.model.spec import TaskSpec
from turnout.model.values import MAX_BYTES
from turnout.runtime.child_process import ChildProcess, Crash, NotBegun
from turnout.runtime.importable import locate, unlocatable, unwrapped
from turnout.runtime.messages import Job, Where, frame
from turnout.runtime.process_info import format_size, parse_size, resident

CHILD_MODULE = child_main.__name__
"""The module whose ``main`` a child process calls."""
MAX_FALSE_STARTS = 3
"""Number of children that may die before they take a job; then the job counts as crashed."""
MEMORY_INTERVAL = 0.2
"""Seconds between two measurements of the memory of busy children."""


class ProcessExecutor(SubprocessExecutor):
    """Runs Python bodies in warm children, each of which does one attempt at a time.

    A child is kept for the next attempt until it has done ``recycle_after`` of them, or holds more than
    ``recycle_above`` of memory after one. An attempt whose child, with everything that it has started, holds more than
    ``memory_limit`` is killed, and counts as a crash.
    """

    kinds: frozenset[str] = frozenset({"python"})

    def __init__(
        self,
        processes: int | None = None,
        *,
        recycle_after: int | None = 1_000,
        recycle_above: int | str | None = None,
        memory_limit: int | str | None = None,
        grace: Duration = 5.0,
        name: str = "process",
        max_output_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(name, processes if processes is not None else os.cpu_count() or 1, grace, max_output_bytes)
        if recycle_after is not None and recycle_after < 1:
            raise InvalidSetting(f"recycle_after is {recycle_after}: write a number of tasks from 1, or None")
        self._recycle_after = recycle_after
        self._recycle_above = parse_size(recycle_above, "recycle_above")
        self._memory_limit = parse_size(memory_limit, "memory_limit")
        self._idle: list[ChildProcess] = []
        self._retiring: set[asyncio.Future[None]] = set()
        self._busy: dict[ChildProcess, RunningAttempt] = {}
        self._watching: asyncio.TimerHandle | None = None

    def refuses(self, task: TaskSpec) -> str | None:
        """Returns why this task can never run here, judged by its name; None if it may."""
        module, _, qualname = task.body.ref.partition(":")
        return unlocatable(module, qualname)

    async def _run(self, attempt: RunningAttempt, work: Work) -> ExecutionResult:
        attempt.committed = True
        last = ""
        for _ in range(MAX_FALSE_STARTS):
            job = self._job_of(work)  # each time: the time until which it may begin moves on
            if job is None:
                return ExecutionResult.returned(attempt.event, CODE_MISSING)
            try:
                return await self._in_child(self._next_child(), attempt, work, frame(job))
            except NotBegun as error:
                last = str(error)
        message = f"{MAX_FALSE_STARTS} processes died before they took it; one {last}"
        return ExecutionResult.crashed(attempt.event, message, unavailable=True)

    def _job_of(self, work: Work) -> Job | None:
        """Returns the attempt as its child gets it; None if the body is not here."""
        return None if work.body is None else job_of(work, work.begin_by())

    async def _in_child(self, child: ChildProcess, attempt: RunningAttempt, work: Work, job: bytes) -> ExecutionResult:
        self._busy[child] = attempt
        if self._memory_limit is not None and self._watching is None:
            self._watch()
        try:
            began = lambda at: attempt.began(at, work.timeout)  # noqa: E731
            result = await child.run(work, job, began, attempt.settled.set)
        except asyncio.CancelledError:
            child.stop(self.grace if attempt.kill_grace is None else attempt.kill_grace)
            await until_done(child.gone)
            self._began_meanwhile(child, attempt)
            raise
        except NotBegun:
            await until_done(child.gone)
            raise
        except Crash as error:
            await until_done(child.gone)
            return ExecutionResult.crashed(attempt.event, str(error))
        finally:
            del self._busy[child]
        self._keep(child)
        return result

    def _has_begun(self, attempt: RunningAttempt) -> bool:
        """True once its body is called: before that its child imports the body's module, which may take long."""
        return attempt.settled.is_set()

    def _began_meanwhile(self, child: ChildProcess, attempt: RunningAttempt) -> None:
        """Corrects the result of an attempt that was handed back as not begun. A child reports the call of the body
        before it calls it, and all its reports were read: if the body was called meanwhile, the attempt is lost."""
        returned = attempt.ends_as is not None and attempt.ends_as.status is ExecutionStatus.RETURNED
        if returned and not attempt.settled.is_set():
            attempt.started_at = None
        elif attempt.started_at is None and child.begun_at is not None:
            attempt.started_at = child.begun_at
        if returned and attempt.settled.is_set():
            attempt.ends_as = ExecutionResult.lost(attempt.event, f"executor {self.name!r} was stopped")

    # -- children ---------------------------------------------------------------------------------------------------
    def _next_child(self) -> ChildProcess:
        while self._idle:
            child = self._idle.pop()
            if child.alive:
                return child
        return self._new_child()

    def _new_child(self) -> ChildProcess:
        try:
            child = ChildProcess(CHILD_MODULE, grace=self.grace, output_limit=self._max_output_bytes)
        except OSError as error:
            raise ExecutorUnavailable(f"no process could be started: {error.strerror or error}") from error
        child.gone.add_done_callback(lambda _: self._forget(child))
        return child

    def _forget(self, child: ChildProcess) -> None:
        if child in self._idle:
            self._idle.remove(child)

    def _keep(self, child: ChildProcess) -> None:
        """Keeps the child for the next job, or retires it if it has run enough jobs or holds too much memory."""
        spent = self._recycle_after is not None and child.jobs >= self._recycle_after
        if not spent and self._recycle_above is not None and child.pid is not None:
            spent = resident([child.pid])[child.pid] > self._recycle_above
        if spent and child.alive:
            self._retire(child)
        elif child.alive:
            self._idle.append(child)

    def _retire(self, child: ChildProcess) -> None:
        child.stop(self.grace)
        self._retiring.add(child.gone)
        child.gone.add_done_callback(self._retiring.discard)

    async def _close(self) -> None:
        while self._idle:
            self._retire(self._idle.pop())
        if self._retiring:
            await asyncio.wait(self._retiring)
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None

    # -- memory -----------------------------------------------------------------------------------------------------
    def _watch(self) -> None:
        """Measures the memory of busy children, repeatedly while there are any."""
        self._watching = None
        limit, pids = self._memory_limit, {pid: each for child, each in self._busy.items() if (pid := child.pid)}
        if limit is None or not self._busy:
            return
        for pid, held in resident(pids).items():
            if held > limit:
                attempt = pids[pid]
                message = f"its memory of {format_size(held)} exceeded the limit of {format_size(limit)}"
                attempt.end(ExecutionResult.crashed(attempt.event, message), 0.0)
        self._watching = asyncio.get_running_loop().call_later(MEMORY_INTERVAL, self._watch)


def job_of(work: Work, begin_by: float | None = None) -> Job:
    """Returns the attempt as another process gets it, with names for functions. Raises NotImportable."""
    assert work.body is not None
    body = locate(work.body)
    predicate, own = _predicate(work, body)
    job = Job(
        event=work.event,
        workflow=work.workflow,
        name=work.task.name,
        body=body,
        args=list(work.args),
        kwargs=dict(work.kwargs),
        context=work.context,
        index=work.index,
        labels=work.labels,
        timeout=work.timeout,
        begin_by=begin_by,
        idempotency_key=work.idempotency_key,
        token=work.token,
        saved=work.saved,
        condition=work.condition,
        predicate=None if work.predicate is None else locate(work.predicate),
        retry_if=predicate,
        own_retry_if=own,
    )
    return job if not work.traceparent else msgspec.structs.replace(job, traceparent=work.traceparent)


def _predicate(work: Work, body: Where) -> tuple[Where | None, bool]:
    """Returns where the child finds the task's ``retry_if``: on the task itself, so that it may be a lambda, or by its
    name."""
    if work.retry_predicate is None:
        return None, False
    target: Any = sys.modules.get(body.module)
    for name in body.qualname.split("."):
        target = getattr(target, name, None)
    if unwrapped(target) is not target and getattr(target, "retry_if", None) is work.retry_predicate:
        return None, True
    return locate(work.retry_predicate), False
