"""Runs attempts on a node of a cluster: asks the supervisor before a body begins, and runs it in a child process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

import msgspec

from turnout.contracts.clock import boot_time
from turnout.contracts.executor import Work
from turnout.executors.cluster.job_step import decode_job, task_of
from turnout.executors.process import ProcessExecutor
from turnout.model.events import TaskReadyEvent
from turnout.runtime.attempt import Key, key_of
from turnout.runtime.log_buffer import LogSettings
from turnout.runtime.messages import Job
from turnout.runtime.step_output import StepOutput

log = logging.getLogger("turnout.cluster")

MAX_AT_ONCE = 10_000
"""Attempts of one process: how many run at once, the cluster decides."""
OUTPUT_INTERVAL = 0.2
"""Seconds between two messages with what a body has written."""
WATCH_WAIT = 20.0
"""Seconds that the supervisor holds a question whether an attempt is to end, at most."""
PATIENCE = 60.0
"""Seconds for which a supervisor may be unreachable before the body is ended: its attempt counts as lost by then."""
FIRST_BACKOFF, MAX_BACKOFF = 0.1, 2.0


class SupervisorLink(Protocol):
    """The supervisor, as a node reaches it. Every call raises if it is not reached."""

    async def begin(self, token: str) -> float | None: ...

    async def watch(self, token: str, wait: float) -> bool: ...

    async def output(self, token: str, first: int, entries: Sequence[tuple[str, str]]) -> None: ...

    async def finish(self, token: str, result: bytes) -> None: ...


class JobLoader:
    """The loader of jobs: every job is put in before its attempt is executed."""

    def __init__(self) -> None:
        self._jobs: dict[Key, tuple[Job, Work]] = {}

    def put(self, job: Job, work: Work) -> None:
        self._jobs[key_of(job.event)] = (job, work)

    def drop(self, event: TaskReadyEvent) -> None:
        self._jobs.pop(key_of(event), None)

    def job(self, event: TaskReadyEvent) -> Job:
        return self._jobs[key_of(event)][0]

    async def load(self, event: TaskReadyEvent) -> Work:
        return self.load_now(event)

    def load_now(self, event: TaskReadyEvent) -> Work:
        return self._jobs[key_of(event)][1]

    def load_blocking(self, event: TaskReadyEvent) -> Work:
        return self.load_now(event)


class JobExecutor(ProcessExecutor):
    """Runs jobs that came as JSON: their functions are looked up in the child process only."""

    def __init__(self, loader: JobLoader, *, grace: float, max_output_bytes: int) -> None:
        super().__init__(MAX_AT_ONCE, grace=grace, name="node", max_output_bytes=max_output_bytes)
        self._job_loader = loader
        self.bind(loader)

    def _job_of(self, work: Work) -> Job:
        return msgspec.structs.replace(self._job_loader.job(work.event), begin_by=work.begin_by())


class NodeRunner:
    """One per process of a node. Children are kept for the attempts that follow."""

    def __init__(self, *, grace: float) -> None:
        self._loader = JobLoader()
        self._grace = grace
        self._executors: dict[int, JobExecutor] = {}
        """By the bytes of an output, at most, which a child is told when it starts."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="turnout-node", daemon=True)
        self._thread.start()

    def run(self, step: bytes, link: SupervisorLink) -> None:
        """Runs one attempt, and returns when its supervisor has its result."""
        asyncio.run_coroutine_threadsafe(self._run(step, link), self._loop).result()

    async def _run(self, data: bytes, link: SupervisorLink) -> None:
        given = decode_job(data)
        token, job = given.token, given.job
        until = await _until(token, link)
        if until is None:
            return
        output, ended = StepOutput(LogSettings(echo=False)), asyncio.Event()
        work = Work(
            event=job.event, task=task_of(job), body=None, timeout=job.timeout, output=output, fence=lambda: until
        )
        self._loader.put(job, work)
        executor = self._executor(given.max_output_bytes)
        watching = asyncio.ensure_future(_watch(executor, token, job.event, link))
        sending = asyncio.ensure_future(_send_output(token, key_of(job.event), output, link, ended))
        try:
            result = await executor.execute(job.event)
        finally:
            watching.cancel()
            ended.set()
            self._loader.drop(job.event)
        try:
            await sending
        except Exception:
            # Its lines may be missing; its result is not.
            log.exception("the output of attempt %s could not be sent", token)
        await _persist(partial(link.finish, token, msgspec.json.encode(result)))

    def _executor(self, max_output_bytes: int) -> JobExecutor:
        known = self._executors.get(max_output_bytes)
        if known is None:
            known = JobExecutor(self._loader, grace=self._grace, max_output_bytes=max_output_bytes)
            self._executors[max_output_bytes] = known
        return known


async def _watch(executor: JobExecutor, token: str, event: TaskReadyEvent, link: SupervisorLink) -> None:
    """Ends the attempt when it is cancelled, and when its supervisor was out of reach for too long."""
    reached = boot_time()
    while True:
        try:
            if await link.watch(token, WATCH_WAIT):
                return executor.cancel(event)
            reached = boot_time()
        except Exception as error:
            if boot_time() - reached > PATIENCE:
                log.warning("attempt %s is ended: its supervisor cannot be reached: %s", token, error)
                return executor.cancel(event)
            await asyncio.sleep(MAX_BACKOFF)


async def _until(token: str, link: SupervisorLink) -> float | None:
    """Returns until when the body may begin, by this machine's clock; None if it is not to begin here."""
    while True:
        asked = boot_time()
        left = await link.begin(token)
        if left is None:
            return None
        if left > 0:
            # The supervisor answered after it was asked, so its own time is over later than this one.
            return asked + left


async def _send_output(token: str, key: Key, output: StepOutput, link: SupervisorLink, ended: asyncio.Event) -> None:
    """Sends what the body writes in the order in which it was written, until all is sent."""
    unsent: list[tuple[str, str]] = []
    first = 0

    def add(_: Key, stream: str, text: str) -> None:
        unsent.append((stream, text))

    while not ended.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(OUTPUT_INTERVAL):
                await ended.wait()
        if ended.is_set():
            output.take_last(key, add)
        elif not output.silent:
            output.take(add)
        if unsent:
            await _persist(partial(link.output, token, first, tuple(unsent)))
            first += len(unsent)
            unsent.clear()


async def _persist(call: Callable[[], Awaitable[None]]) -> None:
    """Repeats a call that fails until its supervisor was out of reach for too long; what it says is dropped then."""
    backoff, ends = FIRST_BACKOFF, boot_time() + PATIENCE
    while True:
        try:
            return await call()
        except Exception as error:
            if boot_time() > ends:
                log.warning("a supervisor cannot be reached: %s", error)
                return
        await asyncio.sleep(backoff)
        backoff = min(2 * backoff, MAX_BACKOFF)
