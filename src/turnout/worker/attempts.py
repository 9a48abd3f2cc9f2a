"""Runs the steps of a worker in threads or child processes, and collects their results."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from turnout.contracts.executor import BatchReport
from turnout.executors.process import ProcessExecutor
from turnout.executors.shell import ShellExecutor
from turnout.executors.thread import ThreadExecutor
from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.info import Output
from turnout.runtime.attempt import Key, key_of
from turnout.wire.documents import Step, StepResult
from turnout.wire.result_codec import answer_of
from turnout.wire.step_codec import event_of
from turnout.worker.handlers import Handlers
from turnout.worker.step_loader import Fence, StepLoader, refused


class _Reports(BatchReport):
    """The results that executors have reported, from any thread."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.results: deque[ExecutionResult] = deque()
        self._wake = wake

    def all(self, results: Sequence[ExecutionResult]) -> None:
        self.results.extend(results)
        self._wake()


class Attempts:
    """Everything here belongs to the thread that has the sockets."""

    def __init__(
        self,
        handlers: Handlers,
        concurrency: int,
        *,
        processes: bool,
        grace: float,
        output: Output | None,
        wake: Callable[[], None],
    ) -> None:
        self._handlers = handlers
        self._loader = StepLoader(handlers, output)
        self._concurrency = concurrency
        self._python: ThreadExecutor | ProcessExecutor = (
            ProcessExecutor(concurrency, grace=grace, name="worker")
            if processes
            else ThreadExecutor(concurrency, concurrency, "worker", max_backlog=0)
        )
        self._commands = ShellExecutor(concurrency, grace=grace, name="worker-shell", in_worker=True)
        self._python.bind(self._loader)
        self._commands.bind(self._loader)
        if isinstance(self._python, ThreadExecutor):
            self._python.on_capacity(wake)
        self._reports = _Reports(wake)
        self._running: dict[Key, tuple[Step, TaskReadyEvent]] = {}
        self._step_ids: dict[str, int] = {}
        """How many attempts of each step run."""
        self._keys: dict[str, Key] = {}

    def __len__(self) -> int:
        return len(self._running)

    @property
    def stuck(self) -> int:
        """The number of threads whose bodies were ended and have not returned."""
        return self._python.stuck if isinstance(self._python, ThreadExecutor) else 0

    @property
    def free(self) -> int:
        """The number of free slots."""
        return self._concurrency - len(self._running) - self.stuck

    def busy_with(self, step: Step) -> bool:
        """True if another attempt of the same number runs here: two attempts of one key cannot be distinguished."""
        return step.step_id in self._step_ids and key_of(event_of(step)) in self._running

    def token_of(self, key: Key) -> str | None:
        """Returns the token of the running step with this key."""
        found = self._running.get(key)
        return None if found is None else found[0].token

    def begin(self, steps: Sequence[tuple[Step, Fence]]) -> list[StepResult]:
        """Starts steps, each within its fence or not at all. Returns the results of those that cannot start."""
        python: list[TaskReadyEvent] = []
        commands: list[TaskReadyEvent] = []
        refusals: list[StepResult] = []
        put, running, keys, step_ids = self._loader.put, self._running, self._keys, self._step_ids
        for step, fence in steps:
            try:
                work = put(step, fence)
            except Exception as error:
                refusals.append(refused(step, error))
                continue
            event, step_id = work.event, step.step_id
            key = (event.task_id, event.attempt, event.shadow)
            running[key] = (step, event)
            step_ids[step_id] = step_ids.get(step_id, 0) + 1
            keys[step.metadata.token] = key
            (python if work.body is not None else commands).append(event)
        if python:
            self._python.execute_many(python, self._reports)
        if commands:
            self._commands.execute_many(commands, self._reports)
        return refusals

    def cancel(self, token: str) -> None:
        """Cancels a step; its result follows."""
        key = self._keys.get(token)
        if key is not None:
            event = self._running[key][1]
            self._python.cancel(event)
            self._commands.cancel(event)

    def ended(self) -> list[tuple[Key, StepResult]]:
        """Returns the results since the last call, in order; the caller releases each with ``let_go``."""
        results: list[tuple[Key, StepResult]] = []
        reported, running, find = self._reports.results, self._running, self._handlers.find
        while reported:
            result = reported.popleft()
            key = (result.task_id, result.attempt, result.shadow)
            step = running[key][0]
            handler = find(step.handler_class)
            results.append((key, answer_of(step, result, "" if handler is None else handler.version)))
        return results

    def let_go(self, key: Key) -> None:
        step, _ = self._running.pop(key)
        step_id, step_ids = step.step_id, self._step_ids
        if (others := step_ids[step_id] - 1) > 0:
            step_ids[step_id] = others
        else:
            del step_ids[step_id]
        del self._keys[step.metadata.token]
        self._loader.drop(key)

    def stop(self, grace: float) -> None:
        """Ends everything that runs; child processes are gone when this returns."""

        async def both() -> None:
            await asyncio.gather(self._python.stop(grace), self._commands.stop(grace))

        asyncio.run(both())
