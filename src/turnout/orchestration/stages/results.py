"""Delivers results to their runs, checks which of them count, and compares those of shadow attempts."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict, deque
from collections.abc import Sequence

import msgspec

from turnout.authoring.registry import Registry
from turnout.contracts.dispatcher import Delivery
from turnout.model.events import ExecutionResult, ExecutionStatus, TaskReadyEvent
from turnout.model.names import position_in
from turnout.model.verdict import checked_condition
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns, PendingResult
from turnout.orchestration.stages.exclusive_tasks import ExclusiveTasks

log = logging.getLogger("turnout.scheduler")
shadow_log = logging.getLogger("turnout.shadow")

MAX_REMEMBERED = 10_000
"""Attempts whose other result is awaited. Above it the oldest are forgotten and counted."""
MAX_KEPT_DIFFERENCES = 100
"""Differences of shadow attempts that are kept; older ones are dropped."""
MAX_KEPT_OUTPUT = 1_000
"""Characters that are kept of each answer."""
NO_ANSWER = frozenset({ExecutionStatus.RETURNED, ExecutionStatus.LOST, ExecutionStatus.CANCELLED})
"""How attempts end whose answer stays unknown."""


class ShadowMetrics(msgspec.Struct):
    same: int = 0
    different: int = 0
    unanswered: int = 0
    """One of the two ended without an answer."""
    without_room: int = 0
    """Attempts that got no shadow for want of a slot."""
    forgotten: int = 0


class ShadowAnswer(msgspec.Struct, frozen=True):
    """The answer of one of two attempts that are compared."""

    status: str
    output: str | None
    """The first characters of its output, as JSON text."""
    error: str | None = None


class ShadowComparison(msgspec.Struct, frozen=True, kw_only=True):
    """A shadow attempt that answered something else than the real one."""

    at: float
    run_id: str
    task_id: str
    task: str
    """The full name."""
    executor: str
    """The executor of the shadow attempt."""
    attempt: int
    real: ShadowAnswer
    shadow: ShadowAnswer


class ExpectedPair(msgspec.Struct):
    """A real attempt and its shadow, of which at most one has answered."""

    task: str
    executor: str
    first: ExecutionResult | None = None
    """The result that arrived first."""


class Shadows:
    """Compares results of shadow attempts with the real ones, logs differences, and keeps the latest. Changes no
    run."""

    def __init__(self) -> None:
        self.differences: deque[ShadowComparison] = deque(maxlen=MAX_KEPT_DIFFERENCES)
        self.expected: OrderedDict[tuple[str, int], ExpectedPair] = OrderedDict()
        """By task and attempt."""
        self.metrics = ShadowMetrics()

    def expect(self, event: TaskReadyEvent, executor: str) -> None:
        """Keeps that this attempt has a shadow, in the executor with this key."""
        self.expected[event.task_id, event.attempt] = ExpectedPair(event.task_name, executor)
        while len(self.expected) > MAX_REMEMBERED:
            self.expected.popitem(last=False)
            self.metrics.forgotten += 1

    def compare(self, result: ExecutionResult) -> None:
        key = (result.task_id, result.attempt)
        pair = self.expected.get(key)
        if pair is None:
            return
        other = pair.first
        if other is None or other.shadow is result.shadow:
            pair.first = result
            return
        del self.expected[key]
        self._record(pair, *((other, result) if result.shadow else (result, other)))

    def _record(self, pair: ExpectedPair, real: ExecutionResult, shadow: ExecutionResult) -> None:
        if NO_ANSWER & {real.status, shadow.status}:
            self.metrics.unanswered += 1
            return
        if (real.status, real.output) == (shadow.status, shadow.output):
            self.metrics.same += 1
            return
        self.metrics.different += 1
        self.differences.append(
            ShadowComparison(
                at=time.time(),
                run_id=real.run_id,
                task_id=real.task_id,
                task=pair.task,
                executor=pair.executor,
                attempt=real.attempt,
                real=_answer(real),
                shadow=_answer(shadow),
            )
        )
        shadow_log.warning(
            "shadow of %s attempt %d differs: %s %s, shadow %s %s",
            real.task_id,
            real.attempt,
            real.status,
            (real.output or "")[:200],
            shadow.status,
            (shadow.output or "")[:200],
        )


def _answer(result: ExecutionResult) -> ShadowAnswer:
    output = None if result.output is None else result.output[:MAX_KEPT_OUTPUT]
    error = None if result.error is None else f"{result.error.type}: {result.error.message[:MAX_KEPT_OUTPUT]}"
    return ShadowAnswer(str(result.status), output, error)


class ResultIntake:
    """Delivers results to their runs. Those of runs that are not owned here go back to their executors."""

    def __init__(self, runs: ActiveRuns, delivery: Delivery, shadows: Shadows) -> None:
        self._runs = runs
        self._delivery = delivery
        self._shadows = shadows
        self.late_results = 0

    def deliver(self, results: Sequence[ExecutionResult]) -> None:
        runs, shadows, acknowledges = self._runs, self._shadows, self._delivery.acknowledges
        for result in results:
            if result.shadow or shadows.expected:
                shadows.compare(result)
            owned = runs.get(result.run_id)
            if result.shadow:
                if acknowledges:
                    self._delivery.acknowledge([result])
            elif owned is None:
                self.late_results += 1
                if acknowledges:
                    self._delivery.reassign([result])
            else:
                owned.results.append(PendingResult(position_in(result.run_id, result.task_id), result))
                if not owned.queued:
                    runs.enqueue(owned)


class ResultCheck:
    """Refuses deferrals until a condition that the task's code does not declare."""

    def __init__(self, registry: Registry, exclusive_tasks: ExclusiveTasks) -> None:
        self._registry = registry
        self._exclusive_tasks = exclusive_tasks

    def checked(self, owned: ActiveRun, pending: PendingResult) -> ExecutionResult:
        """Returns the result as it counts, wherever it comes from: executors, workers, or pollers through the inbox."""
        result, machine = pending.result, owned.machine
        if owned.has_lost_attempts:
            result = self._exclusive_tasks.accepted(owned, pending)
        if result.deferral is None or result.deferral.condition is None:
            return result
        task = machine.spec_of(pending.pos)
        declared = self._registry.conditions_of(machine.new, task)
        counts = checked_condition(result, task.full_name, declared)
        if counts is not result and counts.error is not None:
            holder = machine.tasks[pending.pos].holder
            log.warning("run %s: the result of %s is refused: %s", owned.run_id, holder, counts.error.message)
        return counts
