"""Results from the dispatcher, brought to the runs that they belong to."""

from __future__ import annotations

from collections.abc import Sequence

from turnout.contracts.dispatcher import Delivery
from turnout.model.events import ExecutionResult
from turnout.model.names import split_task_id
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.stages.shadows import Shadows


class ResultIntake:
    """Delivers results. Those of runs that are driven elsewhere go back to the executors that keep them."""

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
                # It was compared, and that was all.
                if acknowledges:
                    self._delivery.acknowledge([result])
            elif owned is None:
                self.late_results += 1
                if acknowledges:
                    self._delivery.reassign([result])
            else:
                runs.deliver(owned, split_task_id(result.task_id)[1], result)
