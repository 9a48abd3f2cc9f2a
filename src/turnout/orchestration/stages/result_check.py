"""Results as they may count, wherever they come from: executors, workers, or pollers by way of the inbox."""

from __future__ import annotations

import logging

from turnout.authoring.registry import Registry
from turnout.model.events import ExecutionResult
from turnout.model.verdict import checked_condition
from turnout.orchestration.active_run import ActiveRun, PendingResult
from turnout.orchestration.stages.exclusive_tasks import ExclusiveTasks

log = logging.getLogger("turnout.turns")


class ResultCheck:
    """Refuses deferrals until a condition that the task's code does not declare."""

    def __init__(self, registry: Registry, suspects: ExclusiveTasks) -> None:
        self._registry = registry
        self._suspects = suspects

    def checked(self, owned: ActiveRun, answer: PendingResult) -> ExecutionResult:
        result, machine = answer.result, owned.machine
        if owned.has_lost_attempts:
            result = self._suspects.taken(owned, answer)
        if result.deferral is None or result.deferral.condition is None:
            return result
        task = machine.spec_of(answer.pos)
        declared = self._registry.conditions_of(machine.new, task)
        counts = checked_condition(result, task.full_name, declared)
        if counts is not result and counts.error is not None:
            holder = machine.tasks[answer.pos].holder
            log.warning("run %s: the answer of %s is refused: %s", owned.run_id, holder, counts.error.message)
        return counts
