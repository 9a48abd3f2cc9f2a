"""Knows which tasks of owned runs have the slots of their limits, and which wait for them. No I/O."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import msgspec

from turnout.model.limits import LimitSize, LimitUse, resolved
from turnout.model.reasons import waits_for_limits
from turnout.model.rows import TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.slots import SlotRequest, begin_slack
from turnout.model.states import TASK_PENDING, TASK_READY, TASK_RUNNING
from turnout.model.transition import Transition
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns, OwnedSlots, StepSlot

BEGIN_SHARE = 0.8
"""The share of the slack of a rate within which an attempt may begin; the rest is for the body's first instructions."""


class StepSlots:
    """The slots of tasks, by the run that they belong to. A task requests them once its row is stored as ready."""

    def __init__(self, runs: ActiveRuns, configured: Mapping[str, LimitSize]) -> None:
        self._runs = runs
        self._configured = configured
        self._requests: dict[tuple[str, int], SlotRequest] = {}
        self._waiting: set[str] = set()
        """Runs with tasks that have requested slots."""

    def startable(self, owned: ActiveRun, transition: Transition, ready: Iterable[int]) -> list[int]:
        """Returns the ready tasks that need no slots or have them. The others request theirs and wait."""
        if owned.slots is None:
            owned.slots = OwnedSlots()
        found: list[int] = []
        for pos in ready:
            row = transition.task(pos)
            if not owned.machine.graph.tasks[row.task_pos].limits or owned.slots.stands(pos, row.attempt + 1):
                found.append(pos)
            else:
                self._wait(owned, owned.slots, transition, row)
        return found

    def _wait(self, owned: ActiveRun, slots: OwnedSlots, transition: Transition, row: TaskRow) -> None:
        pos, attempt, machine = row.pos, row.attempt + 1, owned.machine
        uses = self._uses(machine, row)
        transition.set_wait_reason(pos, waits_for_limits([use.name for use in uses]))
        # A row counts as it is stored: one that this transition makes ready comes here again after its commit.
        if pos in transition.rows or slots.requested.get(pos) == attempt:
            return
        late = slots.held.pop(pos, None)
        slots.requested[pos] = attempt
        self._waiting.add(owned.run_id)
        self._requests[owned.run_id, pos] = SlotRequest(
            owned.run_id,
            uses,
            pos=pos,
            attempt=attempt,
            priority=machine.new.priority + row.priority,
            renews=late is not None and late.attempt == attempt,
        )

    def _uses(self, machine: RunMachine, row: TaskRow) -> tuple[LimitUse, ...]:
        task = machine.graph.tasks[row.task_pos]
        return resolved(task.limits, msgspec.json.decode(machine.new.input), f"task {task.name!r}")

    def take_requests(self) -> list[SlotRequest]:
        """Returns requests that were not sent yet, of runs that are still owned."""
        requests, self._requests = self._requests, {}
        return [request for request in requests.values() if request.run_id in self._runs]

    def put_back(self, requests: Iterable[SlotRequest]) -> None:
        """Keeps requests that could not be sent."""
        self._requests = {**{(each.run_id, each.pos): each for each in requests}, **self._requests}

    @property
    def waiting(self) -> list[str]:
        """The owned runs with tasks that wait for slots."""
        for run_id in list(self._waiting):
            owned = self._runs.get(run_id)
            if owned is None or owned.slots is None or not owned.slots.requested:
                self._waiting.discard(run_id)
        return sorted(self._waiting)

    def granted(self, found: Mapping[tuple[str, int, int], float], asked_at: float) -> None:
        """Takes over slots that the store has given, with the seconds since then; ``asked_at`` is the ``boot_time``
        before the store was asked."""
        for (run_id, pos, attempt), age in found.items():
            owned = self._runs.get(run_id)
            if owned is None or owned.slots is None or owned.slots.requested.get(pos) != attempt:
                continue
            del owned.slots.requested[pos]
            begin_by = asked_at - age + self._begin_within(owned.machine, owned.machine.tasks[pos])
            owned.slots.held[pos] = StepSlot(attempt, begin_by)
            self._runs.enqueue(owned)

    def _begin_within(self, machine: RunMachine, row: TaskRow) -> float:
        """Returns the seconds after which a slot of a rate is too old to begin with."""
        sizes = [self._configured.get(use.declared) or use.size for use in self._uses(machine, row)]
        return min((BEGIN_SHARE * begin_slack(size.per) for size in sizes if size.rate is not None), default=math.inf)

    def freed(self, owned: ActiveRun, transition: Transition) -> set[str]:
        """Returns the names of limits whose slots the transition has freed: an attempt with slots has ended."""
        machine, names = owned.machine, set[str]()
        for pos, row in transition.rows.items():
            if (
                row.was is TASK_PENDING
                or row.state is TASK_RUNNING
                or (row.state is TASK_READY and row.was is TASK_READY)
            ):
                continue
            if machine.graph.tasks[row.task_pos].limits:
                names.update(use.name for use in self._uses(machine, row))
                if owned.slots is not None:
                    owned.slots.forget(pos)
        return names
